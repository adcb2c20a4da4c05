import { expect, test } from "vitest";
import { evalConfig, isEvalStep } from "./config.ts";

test("defaults: greedy and sampled, step 0 on, EM@50 and EM@100", () => {
  const config = evalConfig.parse({ benchmarks: [{ name: "test", source: { kind: "world" } }] });
  expect(config).toMatchObject({
    modes: ["greedy", "sampled"],
    evalSteps: [50, 100],
    emAt: [50, 100],
    samples: 1,
  });
});

test("steps evaluated: the first, the last, every n, and those named", () => {
  const steps = (every: number, evalSteps: number[]) =>
    Array.from({ length: 13 }, (_, step) => step).filter((step) =>
      isEvalStep({ every, evalSteps }, step, 12),
    );
  expect(steps(5, [7])).toEqual([0, 5, 7, 10, 12]);
  expect(steps(0, [])).toEqual([0, 12]);
});

test("mistakes are refused", () => {
  const source = { kind: "world" };
  for (const bad of [
    { benchmark: [] },
    { benchmarks: [{ name: "a/b", source }] },
    { benchmarks: [{ name: "..", source }] },
    {
      benchmarks: [
        { name: "a", source },
        { name: "a", source },
      ],
    },
    { benchmarks: [{ name: "a", source, limit: 0 }] },
    { modes: [] },
    { modes: ["greedy", "greedy"] },
    { samples: 0 },
    { temperature: 0 },
    { evalSteps: [-1] },
  ])
    expect(evalConfig.safeParse(bad).success).toBe(false);
});
