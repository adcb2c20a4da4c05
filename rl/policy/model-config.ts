import type { Rope } from "./rope.ts";

/** The families one decoder covers. SmolLM2 and our tiny models are `llama`; Qwen2.5 is `qwen2`. */
export const FAMILIES = ["llama", "qwen2", "qwen3"] as const;
export type Family = (typeof FAMILIES)[number];

/** The shape of a decoder-only policy: everything the forward pass needs to know besides the weights. */
export interface ModelConfig {
  readonly modelType: Family;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly layers: number;
  /** Query heads; a multiple of kvHeads. */
  readonly heads: number;
  readonly kvHeads: number;
  /** Width of one head, even. heads * headDim need not be hiddenSize. */
  readonly headDim: number;
  readonly rmsNormEps: number;
  readonly rope: Rope;
  /** RMSNorm over each query and key head before RoPE (Qwen3). */
  readonly qkNorm: boolean;
  /** Biases of the query, key and value projections. */
  readonly attentionBias: boolean;
  readonly outputBias: boolean;
  readonly mlpBias: boolean;
  /** The output head is the transposed embedding; there is no lm_head.weight. */
  readonly tieEmbeddings: boolean;
  /** Longest sequence the positions were made for, tokens. */
  readonly contextTokens: number;
  /** Ids that end a generation; may be empty. */
  readonly eosIds: readonly number[];
  readonly bosId: number | null;
  readonly padId: number | null;
}

/** The seven projections of a layer, in forward order, with the block they live in. */
export const PROJECTIONS = {
  q_proj: "self_attn",
  k_proj: "self_attn",
  v_proj: "self_attn",
  o_proj: "self_attn",
  gate_proj: "mlp",
  up_proj: "mlp",
  down_proj: "mlp",
} as const;
export type Projection = keyof typeof PROJECTIONS;
export const PROJECTION_NAMES = Object.keys(PROJECTIONS) as readonly Projection[];

/** Path of a projection in Hugging Face names: "model.layers.3.mlp.up_proj". */
export function projectionPath(layer: number, projection: Projection): string {
  return `model.layers.${layer}.${PROJECTIONS[projection]}.${projection}`;
}

/** [out, in] of a projection: Hugging Face keeps weights transposed. */
export function projectionShape(config: ModelConfig, projection: Projection): [number, number] {
  const { hiddenSize: d, intermediateSize: f } = config;
  const q = config.heads * config.headDim;
  const kv = config.kvHeads * config.headDim;
  const rows: Record<Projection, [number, number]> = {
    q_proj: [q, d],
    k_proj: [kv, d],
    v_proj: [kv, d],
    o_proj: [d, q],
    gate_proj: [f, d],
    up_proj: [f, d],
    down_proj: [d, f],
  };
  return rows[projection];
}

/** Whether a projection has a bias vector [out]. */
export function hasBias(config: ModelConfig, projection: Projection): boolean {
  if (PROJECTIONS[projection] === "mlp") return config.mlpBias;
  return projection === "o_proj" ? config.outputBias : config.attentionBias;
}

/** Every base weight of the model with its shape, in forward order, under Hugging Face names. */
export function weightShapes(config: ModelConfig): Map<string, readonly number[]> {
  const shapes = new Map<string, readonly number[]>();
  shapes.set("model.embed_tokens.weight", [config.vocabSize, config.hiddenSize]);
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `model.layers.${layer}`;
    shapes.set(`${at}.input_layernorm.weight`, [config.hiddenSize]);
    for (const projection of PROJECTION_NAMES) {
      const path = projectionPath(layer, projection);
      const shape = projectionShape(config, projection);
      shapes.set(`${path}.weight`, shape);
      if (hasBias(config, projection)) shapes.set(`${path}.bias`, [shape[0]]);
    }
    if (config.qkNorm) {
      shapes.set(`${at}.self_attn.q_norm.weight`, [config.headDim]);
      shapes.set(`${at}.self_attn.k_norm.weight`, [config.headDim]);
    }
    shapes.set(`${at}.post_attention_layernorm.weight`, [config.hiddenSize]);
  }
  shapes.set("model.norm.weight", [config.hiddenSize]);
  if (!config.tieEmbeddings) shapes.set("lm_head.weight", [config.vocabSize, config.hiddenSize]);
  return shapes;
}

/** Number of base parameters. */
export function parameterCount(config: ModelConfig): number {
  let total = 0;
  for (const shape of weightShapes(config).values()) total += shape.reduce((a, b) => a * b, 1);
  return total;
}
