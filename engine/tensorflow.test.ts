import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import type { Engine } from "./engine.ts";
import { openEngine } from "./open.ts";
import { entropyOf, gatherRows, targetLogprobs } from "./ops.ts";
import { findTensorflow, openTensorflow } from "./tensorflow.ts";
import { arr, errorOf, gradientsOf, outputsOf } from "./testing.ts";

type T = tf.Tensor;

test("without the package: a clear error with the command that installs it", () => {
  const empty = mkdtempSync(join(tmpdir(), "forager-tensorflow-"));
  try {
    expect(findTensorflow([empty])).toBeUndefined();
    expect(() => openTensorflow([empty])).toThrow(ConfigError);
    expect(() => openTensorflow([empty])).toThrow(
      /engine\.backend: TensorFlow is not installed.*npm run install:tensorflow -- cpu/,
    );
  } finally {
    rmSync(empty, { recursive: true });
  }
});

const skipped = process.env.FORAGER_TENSORFLOW !== "1";
describe.skipIf(skipped)(
  "on TensorFlow (opt-in: FORAGER_TENSORFLOW=1 after npm run install:tensorflow -- cpu)",
  () => {
    let engines: [Engine, Engine];
    beforeAll(async () => {
      engines = [await openEngine({ threads: 2 }), await openEngine({ backend: "tensorflow" })];
    });
    afterAll(async () => {
      for (const engine of engines) await engine.dispose();
    });

    const table = arr([40, 12], (i) => Math.sin(i * 1.7));
    const weight = arr([12, 12], (i) => Math.cos(i * 0.9) / 3);
    const ids = arr([2, 8], (i) => (i * 7) % 13, "int32");
    const targets = arr([16], (i) => (i * 5) % 40, "int32");
    const attention = (t: T, w: T, i: T, at: T) => {
      const x = gatherRows(t, i);
      const [q, k] = tf.split(tf.reshape(tf.matMul(tf.reshape(x, [16, 12]), w), [2, 8, 12]), 2, -1) as [T, T];
      const mixed = tf.matMul(tf.softmax(tf.mul(tf.matMul(q, k, false, true), 0.4)), x);
      const scaled = tf.mul(mixed, tf.rsqrt(tf.add(tf.mean(tf.square(mixed), -1, true), 1e-5)));
      const z = tf.matMul(tf.reshape(scaled, [16, 12]), t, false, true);
      const { logprobs } = targetLogprobs(z, at);
      const ratio = tf.exp(tf.sub(logprobs, -3));
      return [
        tf.minimum(tf.mul(ratio, 0.5), tf.clipByValue(ratio, 0.8, 1.28)),
        entropyOf(z),
        tf.where(tf.greater(ratio, 1), ratio, logprobs),
      ];
    };

    test("outputs and gradients, by tfjs' own rules, equal ours", async () => {
      const inputs = [table, weight, ids, targets];
      expect(errorOf(await outputsOf(engines, "attention", attention, inputs))).toBeLessThan(2e-5);
      expect(errorOf(await gradientsOf(engines, "attention", attention, inputs))).toBeLessThan(1e-4);
    });

    test("nothing stays behind", async () => {
      const f = engines[1].jit("kept", (x: T) => tf.keep(tf.mul(x, 2)));
      const before = tf.memory().numTensors;
      for (let i = 0; i < 5; i++) expect((await f(arr([1], () => i))).data[0]).toBe(2 * i);
      expect(tf.memory().numTensors).toBe(before);
    });
  },
);
