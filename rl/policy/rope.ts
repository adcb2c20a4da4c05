/**
 * Rotary position embedding (Su et al. 2021) in plain numbers: one row per kind of frequency scaling.
 * Frequencies are computed in float64 on the host and reach the graph as cos/sin tables, so the
 * angles of far positions do not lose digits.
 */
export interface RopeBase {
  /** Base wavelength. */
  readonly theta: number;
}
export interface RopeDefault extends RopeBase {
  readonly kind: "default";
}
/** Position interpolation (Chen et al. 2023): every frequency divided by `factor`. */
export interface RopeLinear extends RopeBase {
  readonly kind: "linear";
  readonly factor: number;
}
/** Llama 3.1's scaling: long wavelengths divided, short kept, a ramp between. */
export interface RopeLlama3 extends RopeBase {
  readonly kind: "llama3";
  readonly factor: number;
  readonly lowFreqFactor: number;
  readonly highFreqFactor: number;
  readonly originalContextTokens: number;
}
/** YaRN (Peng et al. 2023, NTK-by-parts with an attention temperature). */
export interface RopeYarn extends RopeBase {
  readonly kind: "yarn";
  readonly factor: number;
  readonly originalContextTokens: number;
  readonly betaFast: number;
  readonly betaSlow: number;
  /** Multiplies cos and sin. */
  readonly attentionFactor: number;
  /** Round the ends of the ramp to whole dimensions. */
  readonly truncate: boolean;
}
export type Rope = RopeDefault | RopeLinear | RopeLlama3 | RopeYarn;
export type RopeKind = Rope["kind"];

/** `inverse[i]` is the angle per position of dimension pair i, [headDim / 2]; `scale` multiplies cos and sin. */
export interface RopeFrequencies {
  readonly inverse: readonly number[];
  readonly scale: number;
}

type Rows = { [K in RopeKind]: (rope: Extract<Rope, { kind: K }>, headDim: number) => RopeFrequencies };

const rows: Rows = {
  default: (rope, headDim) => ({ inverse: plain(rope.theta, headDim), scale: 1 }),
  linear: (rope, headDim) => ({
    inverse: plain(rope.theta, headDim).map((f) => f / rope.factor),
    scale: 1,
  }),
  llama3: (rope, headDim) => ({
    inverse: plain(rope.theta, headDim).map((f) => llama3Frequency(f, rope)),
    scale: 1,
  }),
  yarn: (rope, headDim) => {
    const [low, high] = yarnRamp(rope, headDim);
    const inverse = plain(rope.theta, headDim).map((f, i) => {
      const interpolated = Math.min(1, Math.max(0, (i - low) / (high - low)));
      return (f / rope.factor) * interpolated + f * (1 - interpolated);
    });
    return { inverse, scale: rope.attentionFactor };
  },
};

export const ROPE_KINDS = Object.keys(rows) as readonly RopeKind[];

/** Frequencies of a head of width `headDim` (even). */
export function ropeFrequencies(rope: Rope, headDim: number): RopeFrequencies {
  return (rows[rope.kind] as (rope: Rope, headDim: number) => RopeFrequencies)(rope, headDim);
}

/** The attention temperature of YaRN, eq. 22, and DeepSeek's variant with two mscales. */
export function yarnAttentionFactor(factor: number, mscale?: number, mscaleAllDim?: number): number {
  const at = (m: number) => (factor <= 1 ? 1 : 0.1 * m * Math.log(factor) + 1);
  return mscale && mscaleAllDim ? at(mscale) / at(mscaleAllDim) : at(1);
}

/** theta^(-2i/headDim), [headDim / 2]. */
function plain(theta: number, headDim: number): number[] {
  return Array.from({ length: headDim / 2 }, (_, i) => theta ** ((-2 * i) / headDim));
}

function llama3Frequency(frequency: number, rope: RopeLlama3): number {
  const wavelength = (2 * Math.PI) / frequency;
  if (wavelength < rope.originalContextTokens / rope.highFreqFactor) return frequency;
  if (wavelength > rope.originalContextTokens / rope.lowFreqFactor) return frequency / rope.factor;
  const smooth =
    (rope.originalContextTokens / wavelength - rope.lowFreqFactor) /
    (rope.highFreqFactor - rope.lowFreqFactor);
  return ((1 - smooth) * frequency) / rope.factor + smooth * frequency;
}

/** First and last dimension pair of YaRN's ramp from kept to interpolated frequencies. */
function yarnRamp(rope: RopeYarn, headDim: number): [number, number] {
  const dimension = (rotations: number) =>
    (headDim * Math.log(rope.originalContextTokens / (rotations * 2 * Math.PI))) / (2 * Math.log(rope.theta));
  const round = (x: number, to: (x: number) => number) => (rope.truncate ? to(x) : x);
  const low = Math.max(round(dimension(rope.betaFast), Math.floor), 0);
  const high = Math.min(round(dimension(rope.betaSlow), Math.ceil), headDim - 1);
  // A ramp of no width would divide by zero.
  return [low, low === high ? high + 0.001 : high];
}
