import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CheckpointError } from "../../core/errors.ts";
import type { Arr } from "../../engine/array.ts";
import { readSafetensors, writeSafetensors } from "../../engine/safetensors.ts";
import { loadPolicy, savePolicy, withContext } from "./checkpoint.ts";
import { initPolicy } from "./init.ts";
import { initLora, type LoraConfig } from "./lora.ts";
import { PROJECTION_NAMES, parameterCount } from "./model-config.ts";
import { toyConfig } from "./testing.ts";
import { weightsSha256 } from "./weights-hash.ts";

const golden = join(import.meta.dirname, "golden");
const lora: LoraConfig = { rank: 2, alpha: 4, rsLora: false, targetModules: PROJECTION_NAMES };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-checkpoint-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("what is saved is loaded, bit for bit", () => {
  test.each([
    ["tied", toyConfig({})],
    ["untied, with biases", toyConfig({ tieEmbeddings: false, attentionBias: true, outputBias: true })],
    ["qwen3", toyConfig({ modelType: "qwen3", qkNorm: true })],
  ])("%s", (_, config) => {
    const policy = initPolicy(config, 3);
    savePolicy(policy, folder);
    const loaded = loadPolicy(folder, { training: "full", seed: 0 });
    expect(loaded).toEqual(policy);
    expect(Object.keys(loaded.trainable)).toEqual(Object.keys(policy.trainable));
    expect(weightsSha256(loaded)).toBe(weightsSha256(policy));
  });
});

test("shards and 16-bit weights give what a single float32 file gives", () => {
  const sharded = loadPolicy(join(golden, "qwen2"), { training: "full", seed: 0 });
  savePolicy(sharded, folder);
  expect(weightsSha256(loadPolicy(folder, { training: "full", seed: 0 }))).toBe(weightsSha256(sharded));
  expect(Object.values(sharded.trainable).reduce((sum, arr) => sum + arr.data.length, 0)).toBe(
    parameterCount(sharded.config),
  );
});

test("with LoRA the base is frozen and the fresh adapter is what the seed says", () => {
  const load = (seed: number) => loadPolicy(join(golden, "llama"), { training: lora, seed });
  const policy = load(1);
  expect(policy).toMatchObject({ version: 0, lora });
  expect(Object.keys(policy.trainable)).toHaveLength(2 * 7 * 2);
  expect(policy.trainable).toEqual(load(1).trainable);
  expect(policy.trainable).not.toEqual(load(2).trainable);
  for (const [name, { data }] of Object.entries(policy.trainable))
    expect(data.every((x) => x === 0)).toBe(name.endsWith("lora_B.weight"));
  expect(weightsSha256(policy)).not.toBe(weightsSha256(load(2)));
});

test("an adapter on top of full training is merged", () => {
  const at = join(golden, "llama");
  const policy = loadPolicy(at, { training: "full", adapter: join(at, "adapter"), seed: 0 });
  expect(policy.frozen).toEqual({});
  expect(policy.lora).toBeUndefined();
  expect(weightsSha256(policy)).not.toBe(weightsSha256(loadPolicy(at, { training: "full", seed: 0 })));
});

test("weights that a model computes itself, or ties, may stand in the file", () => {
  const policy = initPolicy(toyConfig({}), 3);
  savePolicy(policy, folder);
  const embed = policy.trainable["model.embed_tokens.weight"] as Arr;
  const inverse: Arr = { shape: [2], dtype: "float32", data: new Float32Array(2) };
  writeSafetensors(join(folder, "model.safetensors"), {
    ...policy.trainable,
    "lm_head.weight": embed,
    "model.layers.0.self_attn.rotary_emb.inv_freq": inverse,
  });
  expect(loadPolicy(folder, { training: "full", seed: 0 })).toEqual(policy);
});

describe("what cannot be used is one clear error", () => {
  const weights = () => join(folder, "model.safetensors");
  const edit = (change: (params: Record<string, Arr>) => void) => {
    const params = { ...readSafetensors(weights()) };
    change(params);
    writeSafetensors(weights(), params);
  };
  const editConfig = (key: string, value: unknown) => {
    const path = join(folder, "config.json");
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), [key]: value }));
  };
  const rows: [string, () => void, RegExp][] = [
    [
      "a missing weight",
      () => edit((p) => delete p["model.norm.weight"]),
      /do not match config.json: got 1 missing \(model.norm.weight\)/,
    ],
    [
      "an unexpected weight",
      () =>
        edit((p) => {
          p["model.extra"] = { shape: [1], dtype: "float32", data: new Float32Array(1) };
        }),
      /1 unexpected \(model.extra\)/,
    ],
    [
      "another model's config",
      () => editConfig("intermediate_size", 99),
      /6 of another shape \(model.layers.0.mlp.gate_proj.weight \[10,12\] instead of \[99,12\]/,
    ],
    ["a head that is not there", () => editConfig("tie_word_embeddings", false), /1 missing \(lm_head/],
    ["a cut file", () => truncateSync(weights(), 2000), /model.safetensors/],
    ["no weights", () => rmSync(weights()), /no weights/],
    ["no config", () => rmSync(join(folder, "config.json")), /not a model folder: .*got no config.json/],
    ["half a config", () => writeFileSync(join(folder, "config.json"), '{"model'), /not valid JSON/],
    [
      "whole-number weights",
      () =>
        edit((p) => {
          p["model.norm.weight"] = { shape: [12], dtype: "int32", data: new Int32Array(12) };
        }),
      /`model.norm.weight` does not hold floating-point.*got int32/,
    ],
  ];
  test.each(rows)("%s", (_, spoil, message) => {
    savePolicy(initPolicy(toyConfig({}), 3), folder);
    spoil();
    const load = () => loadPolicy(folder, { training: "full", seed: 0 });
    expect(load).toThrow(CheckpointError);
    expect(load).toThrow(message);
  });
});

test("the context can be cut, not lengthened", () => {
  const policy = initPolicy(toyConfig({}), 3);
  expect(withContext(policy, 32).config.contextTokens).toBe(32);
  expect(withContext(policy, undefined)).toBe(policy);
  expect(() => withContext(policy, 65)).toThrow(/got 65|at most 64/);
});

describe("random weights", () => {
  const config = toyConfig({ vocabSize: 500, hiddenSize: 64, intermediateSize: 128 });
  const { trainable } = initPolicy(config, 9);
  const std = (name: string) => {
    const { data } = trainable[name] as Arr;
    return Math.sqrt(Array.from(data).reduce((sum, x) => sum + x * x, 0) / data.length);
  };
  test("have the spread they should", () => {
    expect(std("model.embed_tokens.weight")).toBeCloseTo(0.06, 2);
    expect(std("model.layers.0.mlp.up_proj.weight")).toBeCloseTo(1 / 8, 2);
    expect(std("model.layers.1.mlp.down_proj.weight")).toBeCloseTo(1 / Math.sqrt(128 * 4), 2);
    expect(std("model.norm.weight")).toBe(1);
  });
  test("depend on the seed and on nothing else", () => {
    expect(weightsSha256(initPolicy(config, 9))).toBe(weightsSha256(initPolicy(config, 9)));
    expect(weightsSha256(initPolicy(config, 9))).not.toBe(weightsSha256(initPolicy(config, 10)));
  });
  test("a fresh adapter's A is uniform in ±1/sqrt(in), as PEFT's", () => {
    const wide = { ...lora, rank: 32 };
    const a = initLora(config, wide, 1)["base_model.model.model.layers.0.mlp.down_proj.lora_A.weight"] as Arr;
    const bound = 1 / Math.sqrt(128);
    expect(Math.max(...a.data)).toBeLessThanOrEqual(bound);
    expect(Math.max(...a.data)).toBeGreaterThan(0.98 * bound);
    expect(Math.min(...a.data)).toBeLessThan(-0.98 * bound);
  });
});

describe("the fingerprint", () => {
  const policy = initPolicy(toyConfig({}), 3);
  test("sees one bit, one name and one shape, not the order", () => {
    const { trainable } = policy;
    const name = "model.norm.weight";
    const arr = trainable[name] as Arr;
    const flipped = Float32Array.from(arr.data);
    flipped[0] = -(flipped[0] as number);
    const others = [
      { ...trainable, [name]: { ...arr, data: flipped } },
      { ...trainable, [name]: { ...arr, shape: [1, 12] } },
      Object.fromEntries(Object.entries(trainable).map(([n, a]) => [n === name ? "other" : n, a])),
    ].map((params) => weightsSha256({ ...policy, trainable: params }));
    const reversed = Object.fromEntries(Object.entries(trainable).reverse());
    const own = weightsSha256(policy);
    expect(new Set([own, ...others]).size).toBe(4);
    expect(weightsSha256({ ...policy, trainable: reversed })).toBe(own);
    expect(weightsSha256({ ...policy, frozen: trainable, trainable: {} })).toBe(own);
  });
});
