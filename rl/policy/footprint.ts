import type { Params } from "../../engine/array.ts";
import type { ModelConfig } from "./model-config.ts";

/** Bytes of a set of weights. */
export function paramsBytes(params: Params): number {
  return Object.values(params).reduce((n, { data }) => n + data.byteLength, 0);
}

export const paramsCount = (params: Params): number =>
  Object.values(params).reduce((n, { data }) => n + data.length, 0);

/**
 * A rough estimate of memory in training, bytes: frozen weights twice (ours and the runtime's); weights that
 * learn with gradient, two moments and their next values, 8 times; what the backward pass keeps of `slots` tokens; the
 * keys and values of `rows` sequences twice (between turns and during one).
 */
export function trainingBytes(o: {
  config: ModelConfig;
  frozenBytes: number;
  trainableBytes: number;
  slots: number;
  rows: number;
  contextTokens: number;
}): number {
  const { layers, hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabSize } = o.config;
  // Counted off the layer's graph: inputs and outputs of norms, projections, rotary, attention and MLP.
  const perToken = layers * (14 * hiddenSize + 6 * intermediateSize + 2 * heads * o.contextTokens);
  const head = 3 * vocabSize;
  const kept = 2 * o.rows * o.contextTokens * layers * 2 * kvHeads * headDim;
  return 2 * o.frozenBytes + 8 * o.trainableBytes + 4 * (o.slots * (perToken + head) + kept);
}
