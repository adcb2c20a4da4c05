import { type GradConfig, getGradient, registerGradient } from "@tensorflow/tfjs-core";
import { elementwiseGradients } from "./elementwise.ts";
import { matMulGradients } from "./matmul.ts";
import { reduceGradients } from "./reduce.ts";
import { shapeGradients } from "./shape.ts";

/** The gradient rules of every kernel that has one. tfjs-core by itself brings the tape but no rules. */
export const gradients = {
  ...elementwiseGradients,
  ...reduceGradients,
  ...shapeGradients,
  ...matMulGradients,
};

let done = false;

/** Gives tfjs our gradient rules, once; they serve every backend. */
export function registerGradients(): void {
  if (done) return;
  done = true;
  for (const [kernelName, row] of Object.entries(gradients)) registerGradient({ kernelName, ...row });
}

/** The rules registered now for every kernel that we have a rule for, e.g. those that a package brought along. */
export function currentRules(): GradConfig[] {
  return Object.entries(gradients).map(
    ([kernelName, row]) => getGradient(kernelName) ?? { kernelName, ...row },
  );
}

/** Runs `body` under other rules, then puts the present ones back. */
export function withRules<T>(rules: readonly GradConfig[], body: () => T): T {
  const before = currentRules();
  for (const rule of rules) registerGradient(rule);
  try {
    return body();
  } finally {
    for (const rule of before) registerGradient(rule);
  }
}
