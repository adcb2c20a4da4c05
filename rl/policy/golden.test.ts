import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Tensor } from "@tensorflow/tfjs-core";
import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Arr } from "../../engine/array.ts";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import { targetLogprobs } from "../../engine/ops.ts";
import { openSafetensors } from "../../engine/safetensors.ts";
import { loadPolicy } from "./checkpoint.ts";
import { hiddenStates, logitsOf } from "./forward.ts";
import { readJson } from "./hf-config.ts";
import type { Policy } from "./policy.ts";

// Models, adapters, logprobs and LoRA gradients from transformers and PEFT in float64 (bench/golden/make_golden.py).
const ours = join(import.meta.dirname, "golden");
const shared = process.env.FORAGER_SHARED;

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine({ threads: 1 });
});
afterAll(() => engine.dispose());

const numbers = z.array(z.number());
const expectedFile = z
  .object({
    ids: numbers.optional(),
    input_ids: numbers.optional(),
    targets: numbers.optional(),
    coef: numbers,
    temperature: z.number(),
    loss: z.number(),
    logprobs: numbers,
  })
  .transform(({ ids, input_ids, targets, ...rest }) => ({
    ...rest,
    inputs: input_ids ?? ids?.slice(0, -1) ?? [],
    targets: targets ?? ids?.slice(1) ?? [],
  }));

interface Errors {
  /** Largest |Δ logprob|. */
  readonly logprob: number;
  readonly loss: number;
  /** Largest ‖Δ gradient‖ / ‖gradient‖ over the LoRA matrices. */
  readonly gradient: number;
  readonly matrices: number;
}

/** Runs a golden folder through our loader, forward and autodiff: loss = Σ coef · logprob at the temperature. */
async function compare(folder: string): Promise<Errors> {
  const want = expectedFile.parse(readJson(join(folder, "expected.json")));
  const adapter = join(folder, "adapter");
  const policy = loadPolicy(folder, { training: "lora", adapter, seed: 0 });
  const n = want.inputs.length;
  const ids: Arr = { shape: [1, n], dtype: "int32", data: Int32Array.from(want.inputs) };
  const targets: Arr = { shape: [n], dtype: "int32", data: Int32Array.from(want.targets) };
  const coef: Arr = { shape: [n], dtype: "float32", data: Float32Array.from(want.coef) };
  const got = await step(policy, want.temperature)(policy.trainable, policy.frozen, ids, targets, coef);

  const reference = openSafetensors(join(folder, "lora_grads.safetensors"));
  const names = Object.keys(policy.trainable);
  expect(new Set(reference.names)).toEqual(new Set(names));
  const gradient = Math.max(...names.map((name) => relative(got.grads[name] as Arr, reference.read(name))));
  reference.close();
  return {
    logprob: Math.max(...want.logprobs.map((x, i) => Math.abs(x - (got.logprobs.data[i] as number)))),
    loss: Math.abs(want.loss - (got.loss.data[0] as number)),
    gradient,
    matrices: names.length,
  };
}

function step({ config, lora }: Policy, temperature: number) {
  return engine.jit(
    "golden",
    (
      trainable: Record<string, Tensor>,
      frozen: Record<string, Tensor>,
      ids: Tensor,
      targets: Tensor,
      coef: Tensor,
    ) => {
      const names = Object.keys(trainable);
      let logprobs = coef;
      const { value, grads } = tf.valueAndGrads((...learned: Tensor[]) => {
        const weights = { ...frozen, ...Object.fromEntries(names.map((name, i) => [name, learned[i]!])) };
        const logits = logitsOf(config, weights, hiddenStates(config, weights, ids, { lora }));
        logprobs = tf.keep(targetLogprobs(tf.div(logits, temperature), targets).logprobs);
        return tf.sum(tf.mul(logprobs, coef)) as tf.Scalar;
      })(Object.values(trainable));
      return {
        loss: value as Tensor,
        logprobs,
        grads: Object.fromEntries(names.map((name, i) => [name, grads[i]!])),
      };
    },
  );
}

function relative(got: Arr, want: Arr): number {
  expect(got.shape).toEqual(want.shape);
  const off = Array.from(got.data, (x, i) => x - (want.data[i] as number));
  return Math.hypot(...off) / Math.hypot(...want.data);
}

describe("our golden models equal transformers and PEFT", () => {
  test.each(["llama", "qwen2", "qwen3"])("%s", async (name) => {
    const errors = await compare(join(ours, name));
    expect(errors.logprob).toBeLessThan(2e-5);
    expect(errors.gradient).toBeLessThan(2e-5);
    expect(errors.loss).toBeLessThan(1e-4);
  });
});

// Opt in: FORAGER_SHARED names the folder of shared test data.
describe.skipIf(!shared)("the shared golden models (set FORAGER_SHARED to the shared data folder)", () => {
  const folder = join(shared ?? "", "golden");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  test("are there", () => expect(names.length).toBeGreaterThan(0));
  test.each(names)("%s", async (name) => {
    const errors = await compare(join(folder, name));
    console.log(name, JSON.stringify(errors));
    expect(errors.logprob).toBeLessThan(1e-4);
    expect(errors.gradient).toBeLessThan(1e-3);
  });
});
