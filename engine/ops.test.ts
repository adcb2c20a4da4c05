import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Engine } from "./engine.ts";
import { openEngine } from "./open.ts";
import { entropyOf, mulAdd, targetLogprobs } from "./ops.ts";
import { arr } from "./testing.ts";

type T = tf.Tensor;

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine({});
});
afterAll(() => engine.dispose());

/** One row's softmax in float64. */
function exact(row: Float32Array, target: number) {
  const most = row.reduce((a, b) => Math.max(a, b));
  const logsumexp = most + Math.log(row.reduce((sum, x) => sum + Math.exp(x - most), 0));
  const mean = row.reduce((sum, x) => sum + Math.exp(x - logsumexp) * x, 0);
  return { logprob: (row[target] as number) - logsumexp, logsumexp, entropy: logsumexp - mean };
}

test.each([
  ["a short row", 1000],
  ["two stages and a rest", 5003],
  ["SmolLM2's vocabulary", 49_152],
  ["Qwen's", 151_936],
])("log-probability, log-sum-exp and entropy are right to 3e-6: %s", async (_name, width) => {
  const rows = 4;
  const logits = arr([rows, width], (i) => 9 * Math.sin(i * 1.7) * Math.cos(i * i * 0.3));
  const ids = arr([rows], (n) => (n * 977) % width, "int32");
  const forward = engine.jit("forward", (z: T, i: T) => ({
    ...targetLogprobs(z, i),
    entropies: entropyOf(z),
  }));
  const backward = engine.jit("backward", (z: T, i: T) => ({
    logprob: tf.grad((x) => tf.sum(targetLogprobs(x, i).logprobs))(z),
    entropy: tf.grad((x) => tf.sum(entropyOf(x)))(z),
  }));
  const [out, slopes] = [await forward(logits, ids), await backward(logits, ids)];
  const worst = { logprob: 0, logsumexp: 0, entropy: 0, slope: 0 };
  const far = (key: keyof typeof worst, got: number | undefined, want: number) => {
    worst[key] = Math.max(worst[key], Math.abs((got as number) - want));
  };
  for (let n = 0; n < rows; n++) {
    const row = logits.data.slice(n * width, (n + 1) * width) as Float32Array;
    const target = ids.data[n] as number;
    const want = exact(row, target);
    far("logprob", out.logprobs.data[n], want.logprob);
    far("logsumexp", out.logsumexp.data[n], want.logsumexp);
    far("entropy", out.entropies.data[n], want.entropy);
    row.forEach((x, v) => {
      const p = Math.exp(x - want.logsumexp);
      far("slope", slopes.logprob.data[n * width + v], Number(v === target) - p);
      far("slope", slopes.entropy.data[n * width + v], -p * (x - want.logsumexp + want.entropy));
    });
  }
  expect(Math.max(worst.logprob, worst.logsumexp, worst.entropy)).toBeLessThan(3e-6);
  expect(worst.slope).toBeLessThan(1e-7);
});

test("mulAdd rounds c + a·b once", async () => {
  const fused = engine.jit("fused", (a: T, b: T, c: T) => mulAdd(a, b, c));
  const a = arr([3, 1], (i) => 1 + 2 ** -12 * (i + 1));
  const b = arr([1, 40], (i) => Math.sin(i) + 2 ** -20);
  const c = arr([3, 40], (i) => -Math.sin(i % 40));
  const { data } = await fused(a, b, c);
  const want = Array.from(c.data, (x, i) => Math.fround(x + a.data[Math.floor(i / 40)]! * b.data[i % 40]!));
  expect([...data]).toEqual(want);
});
