import type { Tensor } from "@tensorflow/tfjs-core";
import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rng } from "../../core/rng.ts";
import type { Arr, Params } from "../../engine/array.ts";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import { targetLogprobs } from "../../engine/ops.ts";
import { MASKED } from "./attention.ts";
import { extend, hiddenStates, type LayerCache, logitsOf } from "./forward.ts";
import { initPolicy } from "./init.ts";
import { initLora, type LoraConfig } from "./lora.ts";
import { mergeLora } from "./merge-lora.ts";
import { type ModelConfig, PROJECTION_NAMES } from "./model-config.ts";
import { rotaryRows } from "./rotary.ts";
import { toyConfig } from "./testing.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine({ threads: 1 });
});
afterAll(() => engine.dispose());

const everything = toyConfig({
  qkNorm: true,
  attentionBias: true,
  outputBias: true,
  mlpBias: true,
  tieEmbeddings: false,
});
const plain = toyConfig({});
const lora: LoraConfig = { rank: 2, alpha: 3, rsLora: true, targetModules: PROJECTION_NAMES };

const floats = (shape: readonly number[], at: (i: number) => number): Arr => ({
  shape,
  dtype: "float32",
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => at(i)),
});
const ints = (shape: readonly number[], values: readonly number[]): Arr => ({
  shape,
  dtype: "int32",
  data: Int32Array.from(values),
});
/** Weights with nothing at its initial 0 or 1, so that no term can hide. */
const shaken = (params: Params, seed: number): Params =>
  Object.fromEntries(
    Object.entries(params).map(([name, arr]) => {
      const draw = rng(seed, name);
      return [name, floats(arr.shape, (i) => arr.data[i]! + 0.4 * (draw() - 0.5))];
    }),
  );
const weightsOf = (config: ModelConfig) => shaken(initPolicy(config, 1).trainable, 2);
const adapterOf = (config: ModelConfig) => shaken(initLora(config, lora, 3), 4);

const logitsFn = (config: ModelConfig, o: { lora?: LoraConfig } = {}) =>
  engine.jit("logits", (params: Record<string, Tensor>, ids: Tensor) =>
    logitsOf(config, params, hiddenStates(config, params, ids, o)),
  );
const largest = (a: Arr, b: Arr) =>
  Array.from(a.data).reduce((most, x, i) => Math.max(most, Math.abs(x - b.data[i]!)), 0);

describe("hidden states", () => {
  test("padding on the right changes no earlier position, and rows do not see each other", async () => {
    const logits = logitsFn(everything);
    const params = weightsOf(everything);
    const both = await logits(params, ints([2, 5], [3, 1, 4, 1, 5, 9, 2, 6, 0, 0]));
    const one = await logits(params, ints([1, 5], [9, 2, 6, 7, 8]));
    const short = await logits(params, ints([1, 3], [9, 2, 6]));
    const v = everything.vocabSize;
    const row = (a: Arr, from: number, to: number): Arr => ({ ...a, data: a.data.slice(from * v, to * v) });
    expect(largest(row(both, 5, 8), row(one, 0, 3))).toBeLessThan(1e-5);
    expect(largest(row(both, 5, 8), short)).toBeLessThan(1e-5);
    expect(largest(row(both, 8, 10), row(one, 3, 5))).toBeGreaterThan(1e-3);
  });

  test("a fresh adapter changes nothing; a learned one does what merging it does", async () => {
    const base = weightsOf(plain);
    const ids = ints([1, 6], [1, 2, 3, 4, 5, 6]);
    const without = await logitsFn(plain)(base, ids);
    const withLora = logitsFn(plain, { lora });
    const fresh = await withLora({ ...base, ...initLora(plain, lora, 7) }, ids);
    expect(largest(fresh, without)).toBe(0);
    const trainable = adapterOf(plain);
    const learned = await withLora({ ...base, ...trainable }, ids);
    const merged = mergeLora({ config: plain, frozen: base, trainable, lora, version: 4 });
    expect(Object.keys(merged.trainable)).toEqual(Object.keys(base));
    expect(largest(learned, without)).toBeGreaterThan(1e-2);
    expect(largest(await logitsFn(plain)(merged.trainable, ids), learned)).toBeLessThan(1e-5);
  });

  test("LoRA matrices without settings, and a missing weight, are named", async () => {
    const base = weightsOf(plain);
    const ids = ints([1, 2], [1, 2]);
    await expect(logitsFn(plain)({ ...base, ...adapterOf(plain) }, ids)).rejects.toThrow(/lora_A.*no LoRA/);
    const { "model.norm.weight": _, ...rest } = base;
    await expect(logitsFn(plain)(rest, ids)).rejects.toThrow(/`model.norm.weight`/);
  });
});

describe("the cached decoder gives the same numbers", () => {
  test.each([
    ["everything", everything],
    ["plain", plain],
  ])("%s", async (_, config) => {
    const params = { ...weightsOf(config), ...adapterOf(config) };
    const [b, t, slots, hd] = [2, 7, 8, config.headDim];
    const tokens = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7];
    const whole = await logitsFn(config, { lora })(params, ints([b, t], tokens));
    const call =
      (caches: readonly LayerCache[]) => (p: Record<string, Tensor>, x: Record<string, Tensor>) => {
        const { hidden, keys, values } = extend(
          config,
          p,
          { ids: x.ids!, cos: x.cos!, sin: x.sin!, mask: x.mask!, caches },
          { lora },
        );
        return { logits: logitsOf(config, p, hidden), keys, values };
      };
    const prefill = engine.jit("prefill", call([]));
    const step = engine.jit(
      "step",
      (p: Record<string, Tensor>, x: Record<string, Tensor>, k: Tensor[], v: Tensor[]) =>
        call(k.map((key, i) => ({ k: key, v: v[i]!, at: x.at! })))(p, x),
    );

    // Row 0 starts with 3 tokens, row 1 with 2: the cache slot after a row's own tokens stays masked for it.
    const lengths = [3, 2];
    const at = (row: number, i: number) => tokens[row * t + i] ?? 0;
    const caches = { k: emptyCaches(), v: emptyCaches() };
    function emptyCaches(): Arr[] {
      return Array.from({ length: config.layers }, () => floats([b, config.kvHeads, slots, hd], () => 0));
    }
    const write = (out: readonly Arr[], cache: Arr[], length: number, offset: readonly number[]) => {
      for (const [layer, arr] of out.entries())
        for (let row = 0; row < b; row++)
          for (let h = 0; h < config.kvHeads; h++)
            for (let i = 0; i < length; i++)
              (cache[layer]!.data as Float32Array).set(
                arr.data.subarray(
                  ((row * config.kvHeads + h) * length + i) * hd,
                  ((row * config.kvHeads + h) * length + i + 1) * hd,
                ) as Float32Array,
                ((row * config.kvHeads + h) * slots + offset[row]! + i) * hd,
              );
    };
    const compare = (got: Arr, rowOf: (row: number) => number, position: (row: number) => number) => {
      const v = config.vocabSize;
      for (let row = 0; row < b; row++)
        for (let j = 0; j < v; j++)
          expect(
            Math.abs(got.data[rowOf(row) * v + j]! - whole.data[(row * t + position(row)) * v + j]!),
          ).toBeLessThan(1e-5);
    };

    const first = await prefill(params, {
      ids: ints([b, 3], [at(0, 0), at(0, 1), at(0, 2), at(1, 0), at(1, 1), 0]),
      ...rotaryRows(config, [0, 1, 2, 0, 1, 2], [b, 3]),
      mask: floats([1, 1, 3, 3], (i) => (i % 3 > Math.floor(i / 3) ? MASKED : 0)),
    });
    write(first.keys, caches.k, 3, [0, 0]);
    write(first.values, caches.v, 3, [0, 0]);
    compare(
      first.logits,
      (row) => row * 3 + lengths[row]! - 1,
      (row) => lengths[row]! - 1,
    );

    for (let n = 0; n < 4; n++) {
      const next = await step(
        params,
        {
          ids: ints([b, 1], [at(0, lengths[0]!), at(1, lengths[1]!)]),
          ...rotaryRows(config, lengths, [b, 1]),
          mask: floats([b, 1, 1, slots], (i) => (i % slots <= lengths[Math.floor(i / slots)]! ? 0 : MASKED)),
          at: ints([b], lengths),
        },
        caches.k,
        caches.v,
      );
      compare(
        next.logits,
        (row) => row,
        (row) => lengths[row]!,
      );
      write(next.keys, caches.k, 1, lengths);
      write(next.values, caches.v, 1, lengths);
      lengths[0]!++;
      lengths[1]!++;
    }
  });
});

describe("gradients equal finite differences", () => {
  const ids = ints([2, 5], [3, 1, 4, 1, 5, 9, 2, 6, 5, 0]);
  const targets = ints([10], [1, 4, 1, 5, 9, 2, 6, 5, 3, 1]);
  test.each([
    ["every weight, every option", everything, undefined],
    ["every weight, tied", plain, undefined],
    ["LoRA", everything, lora],
  ])("%s", async (_, config, adapter) => {
    const base = weightsOf(config);
    const trainable = adapter ? adapterOf(config) : base;
    const loss = (p: Record<string, Tensor>, x: Tensor, y: Tensor) => {
      const hidden = hiddenStates(config, p, x, { lora: adapter });
      return tf.mean(targetLogprobs(logitsOf(config, p, hidden), y).logprobs);
    };
    const value = engine.jit("loss", loss);
    const grad = engine.jit(
      "grad",
      (fixed: Record<string, Tensor>, learned: Record<string, Tensor>, x: Tensor, y: Tensor) => {
        const names = Object.keys(learned);
        const grads = tf.grads((...w: Tensor[]) =>
          loss({ ...fixed, ...Object.fromEntries(names.map((name, i) => [name, w[i]!])) }, x, y),
        )(Object.values(learned));
        return Object.fromEntries(names.map((name, i) => [name, grads[i]!]));
      },
    );
    const grads = await grad(base, trainable, ids, targets);
    const draw = rng(5, "direction");
    for (const [name, arr] of Object.entries(trainable)) {
      const raw = Array.from(arr.data, () => 2 * draw() - 1);
      const direction = raw.map((d) => d / Math.hypot(...raw));
      const step = 0.015;
      const moved = (sign: number) => ({
        ...arr,
        data: Float32Array.from(arr.data, (x, i) => x + sign * step * direction[i]!),
      });
      const at = await Promise.all(
        [1, -1, 2, -2].map((sign) => value({ ...base, ...trainable, [name]: moved(sign) }, ids, targets)),
      );
      const [up, down, farUp, farDown] = at.map((arr) => arr.data[0]!) as [number, number, number, number];
      // Five-point rule: its error is of fourth order in the step.
      const numeric = (8 * (up - down) - (farUp - farDown)) / (12 * step);
      const gradient = grads[name]!.data;
      const analytic = direction.reduce((sum, d, i) => sum + d * gradient[i]!, 0);
      // float32 rounds the loss to 2e-7, so the quotient to about 2e-5.
      const tolerance = 1e-3 * Math.hypot(...gradient) + 4e-5;
      expect(Math.hypot(...gradient), `${name} has a gradient`).toBeGreaterThan(1e-5);
      expect(Math.abs(numeric - analytic), name).toBeLessThan(tolerance);
    }
  });
});
