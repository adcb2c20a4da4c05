import type { ModelConfig } from "./model-config.ts";
import type { Rope, RopeKind } from "./rope.ts";

const architectures = {
  llama: "LlamaForCausalLM",
  qwen2: "Qwen2ForCausalLM",
  qwen3: "Qwen3ForCausalLM",
} as const;

type Json = Record<string, unknown>;

const ropeRows: { [K in RopeKind]: (rope: Extract<Rope, { kind: K }>) => Json } = {
  default: () => ({}),
  linear: (rope) => ({ factor: rope.factor }),
  llama3: (rope) => ({
    factor: rope.factor,
    low_freq_factor: rope.lowFreqFactor,
    high_freq_factor: rope.highFreqFactor,
    original_max_position_embeddings: rope.originalContextTokens,
  }),
  yarn: (rope) => ({
    factor: rope.factor,
    original_max_position_embeddings: rope.originalContextTokens,
    beta_fast: rope.betaFast,
    beta_slow: rope.betaSlow,
    attention_factor: rope.attentionFactor,
    truncate: rope.truncate,
  }),
};

/**
 * A config.json that transformers 4 and 5 both read: the RoPE numbers stand in the old dialect
 * (`rope_theta`, `rope_scaling`) and in the new one (`rope_parameters`).
 */
export function toHfConfig(config: ModelConfig): Json {
  const { rope } = config;
  const numbers = (ropeRows[rope.kind] as (rope: Rope) => Json)(rope);
  const plain = rope.kind === "default";
  return {
    architectures: [architectures[config.modelType]],
    model_type: config.modelType,
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headDim,
    hidden_act: "silu",
    rms_norm_eps: config.rmsNormEps,
    max_position_embeddings: config.contextTokens,
    tie_word_embeddings: config.tieEmbeddings,
    ...(config.modelType === "qwen2" ? {} : { attention_bias: config.attentionBias }),
    ...(config.modelType === "llama" ? { mlp_bias: config.mlpBias } : { use_sliding_window: false }),
    rope_theta: rope.theta,
    rope_scaling: plain ? null : { rope_type: rope.kind, ...numbers },
    rope_parameters: { rope_type: rope.kind, rope_theta: rope.theta, ...numbers },
    bos_token_id: config.bosId,
    eos_token_id: one(config.eosIds),
    pad_token_id: config.padId,
    attention_dropout: 0,
    torch_dtype: "float32",
  };
}

/** generation_config.json: the ids that end and begin a generation. */
export function toHfGenerationConfig(config: ModelConfig): Json {
  return { bos_token_id: config.bosId, eos_token_id: one(config.eosIds), pad_token_id: config.padId };
}

function one(ids: readonly number[]): number | readonly number[] | null {
  return ids.length > 1 ? ids : (ids[0] ?? null);
}
