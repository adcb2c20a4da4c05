import type { ModelConfig } from "./model-config.ts";

/** A two-layer decoder for tests: grouped queries, head width unlike hidden / heads. */
export function toyConfig(change: Partial<ModelConfig>): ModelConfig {
  return {
    modelType: "llama",
    vocabSize: 11,
    hiddenSize: 12,
    intermediateSize: 10,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    headDim: 4,
    rmsNormEps: 1e-5,
    rope: { kind: "default", theta: 100 },
    qkNorm: false,
    attentionBias: false,
    outputBias: false,
    mlpBias: false,
    tieEmbeddings: true,
    contextTokens: 64,
    eosIds: [2],
    bosId: null,
    padId: 0,
    ...change,
  };
}
