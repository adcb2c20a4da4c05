import { registerGradient } from "@tensorflow/tfjs-core";
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
