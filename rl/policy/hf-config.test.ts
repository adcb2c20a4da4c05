import { describe, expect, test } from "vitest";
import { CheckpointError } from "../../core/errors.ts";
import { fromHfConfig } from "./hf-config.ts";
import { toHfConfig, toHfGenerationConfig } from "./hf-write.ts";
import { parameterCount } from "./model-config.ts";
import type { Rope } from "./rope.ts";
import { toyConfig } from "./testing.ts";

/** SmolLM2-135M-Instruct's numbers, old dialect. */
const smol = {
  model_type: "llama",
  vocab_size: 49_152,
  hidden_size: 576,
  intermediate_size: 1536,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  hidden_act: "silu",
  rms_norm_eps: 1e-5,
  max_position_embeddings: 8192,
  tie_word_embeddings: true,
  rope_theta: 100_000,
  rope_scaling: null,
  bos_token_id: 1,
  eos_token_id: 2,
};

/** Qwen2.5-7B-Instruct's numbers with its documented YaRN. */
const qwen = {
  model_type: "qwen2",
  vocab_size: 152_064,
  hidden_size: 3584,
  intermediate_size: 18_944,
  num_hidden_layers: 28,
  num_attention_heads: 28,
  num_key_value_heads: 4,
  max_position_embeddings: 32_768,
  rms_norm_eps: 1e-6,
  rope_theta: 1_000_000,
  rope_scaling: { type: "yarn", factor: 4.0, original_max_position_embeddings: 32_768 },
  sliding_window: 131_072,
  use_sliding_window: false,
  max_window_layers: 28,
  tie_word_embeddings: false,
  eos_token_id: 151_645,
};

test("SmolLM2 is a Llama of 134.5M parameters", () => {
  const config = fromHfConfig(smol);
  expect(config).toMatchObject({ headDim: 64, kvHeads: 3, tieEmbeddings: true, eosIds: [2], bosId: 1 });
  expect(config).toMatchObject({ qkNorm: false, attentionBias: false, outputBias: false, mlpBias: false });
  expect(config.rope).toEqual({ kind: "default", theta: 100_000 });
  expect(parameterCount(config)).toBe(134_515_008);
});

test("Qwen2.5 has biases on q, k, v alone, and YaRN lengthens the context", () => {
  const config = fromHfConfig(qwen);
  expect(config).toMatchObject({ attentionBias: true, outputBias: false, contextTokens: 131_072 });
  expect(config.rope).toMatchObject({ kind: "yarn", betaFast: 32, betaSlow: 1, truncate: true });
  expect(parameterCount(config)).toBe(7_615_616_512);
});

test("Qwen3's head width is 128 unless it says otherwise, and queries and keys are normed", () => {
  const config = fromHfConfig({ ...smol, model_type: "qwen3" });
  expect(config).toMatchObject({ headDim: 128, qkNorm: true, attentionBias: false });
});

test("generation_config.json's ids win; several ids may end a generation", () => {
  const config = fromHfConfig(smol, { eos_token_id: [7, 9], pad_token_id: 0 });
  expect(config).toMatchObject({ eosIds: [7, 9], padId: 0, bosId: 1 });
  expect(fromHfConfig({ ...smol, eos_token_id: null }).eosIds).toEqual([]);
});

test("a window that no layer uses is harmless", () => {
  expect(() =>
    fromHfConfig({ ...qwen, use_sliding_window: true, sliding_window: 4096, max_window_layers: 28 }),
  ).not.toThrow();
});

const llama3 = { rope_type: "llama3", factor: 8, low_freq_factor: 1 };
test.each([
  [{ model_type: "mixtral" }, /`model_type` is not supported: expected llama, qwen2, qwen3, got "mixtral"/],
  [{ hidden_act: "gelu" }, /`hidden_act`.*expected silu, got "gelu"/],
  [{ hidden_size: "576" }, /`hidden_size` is wrong.*expected number, got "576"/],
  [{ vocab_size: undefined }, /`vocab_size` is wrong.*got nothing/],
  [{ num_key_value_heads: 4 }, /`num_key_value_heads`.*divisor of num_attention_heads \(9\), got 4/],
  [{ head_dim: 7 }, /`head_dim`.*even/],
  [{ partial_rotary_factor: 0.5 }, /`partial_rotary_factor`.*got 0.5/],
  [{ rope_scaling: { type: "dynamic", factor: 2 } }, /`rope_scaling.rope_type`.*got "dynamic"/],
  [{ rope_scaling: llama3 }, /`rope_scaling.high_freq_factor`.*rope type llama3\), got nothing/],
  [{ rope_parameters: { full_attention: llama3 } }, /`rope_parameters.full_attention`/],
  [{ layer_types: ["full_attention", "sliding_attention"] }, /`layer_types`.*got "sliding_attention"/],
  [
    { use_sliding_window: true, sliding_window: 4096, max_window_layers: 20 },
    /`use_sliding_window`.*expected false/,
  ],
  [{ quantization_config: { bits: 4 } }, /`quantization_config`.*unquantized/],
])("refuses %j by name", (change, message) => {
  const bad = () => fromHfConfig({ ...smol, ...change });
  expect(bad).toThrow(CheckpointError);
  expect(bad).toThrow(message);
});

describe("what we write we read back the same", () => {
  const ropes: Rope[] = [
    { kind: "default", theta: 1000 },
    { kind: "linear", theta: 10_000, factor: 2 },
    {
      kind: "llama3",
      theta: 5e5,
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalContextTokens: 32,
    },
    {
      kind: "yarn",
      theta: 1e6,
      factor: 2,
      originalContextTokens: 32,
      betaFast: 16,
      betaSlow: 2,
      attentionFactor: 1.1,
      truncate: false,
    },
  ];
  test.each(ropes)("$kind", (rope) => {
    for (const change of [
      { modelType: "llama", mlpBias: true, attentionBias: true, outputBias: true },
      { modelType: "qwen2", attentionBias: true },
      { modelType: "qwen3", qkNorm: true },
    ] as const) {
      const config = toyConfig({ rope, eosIds: [2, 5], ...change });
      const file = toHfConfig(config);
      expect(fromHfConfig(file, toHfGenerationConfig(config))).toEqual(config);
      const { rope_parameters: _, ...old } = file;
      expect(fromHfConfig(old)).toEqual(config);
    }
  });
});
