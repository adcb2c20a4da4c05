import { SamplerError } from "../../core/errors.ts";

export interface TokenParams {
  /** ≥ 0; 0 is greedy. */
  readonly temperature: number;
  /** (0, 1]; 1 is off. */
  readonly topP: number;
  /** 0 is off. */
  readonly topK: number;
}

/** Where one row's logits lie in a flat array: logits[offset … offset + size − 1]. */
export interface LogitsRow {
  readonly logits: Float32Array;
  readonly offset: number;
  readonly size: number;
}

export interface SampledToken {
  readonly token: number;
  /** Under the full softmax at the sampling temperature (temperature 1 when greedy): never the truncated one. */
  readonly logprob: number;
}

/**
 * Draws one token. `uniform` in [0, 1) is the row's own draw; greedy does not use it (ties go to the lowest id).
 * Top-k cuts first, then top-p over what is left, renormalised; both keep at least one token.
 * Sums are in float64. Throws SamplerError when the logits hold NaN or no finite maximum.
 */
export function sampleToken(row: LogitsRow, params: TokenParams, uniform: number): SampledToken {
  const { logits, offset, size } = row;
  const end = offset + size;
  let max = Number.NEGATIVE_INFINITY;
  let best = 0;
  for (let i = offset; i < end; i++) {
    const x = logits[i] as number;
    if (x > max) {
      max = x;
      best = i - offset;
    }
  }
  const greedy = params.temperature === 0;
  const inverse = greedy ? 1 : 1 / params.temperature;
  let total = 0;
  for (let i = offset; i < end; i++) total += Math.exp(((logits[i] as number) - max) * inverse);
  if (!(total >= 1 && total <= size))
    throw new SamplerError({
      what: "the policy's logits are not numbers",
      got: `maximum ${max}, sum ${total}`,
      next: "Its weights have probably diverged: lower the learning rate, or go back to the last checkpoint.",
    });
  const truncated = (params.topK > 0 && params.topK < size) || params.topP < 1;
  const token = greedy
    ? best
    : truncated
      ? drawTruncated(row, params, { max, inverse, total, uniform })
      : drawFull(row, { max, inverse, total, uniform });
  const logprob = ((logits[offset + token] as number) - max) * inverse - Math.log(total);
  return { token, logprob };
}

interface Draw {
  readonly max: number;
  readonly inverse: number;
  /** Sum of exp((x − max) / temperature) over the row. */
  readonly total: number;
  readonly uniform: number;
}

function drawFull({ logits, offset, size }: LogitsRow, { max, inverse, total, uniform }: Draw): number {
  const target = uniform * total;
  let sum = 0;
  let last = 0;
  for (let i = 0; i < size; i++) {
    const weight = Math.exp(((logits[offset + i] as number) - max) * inverse);
    if (weight === 0) continue;
    sum += weight;
    last = i;
    if (sum > target) return i;
  }
  return last; // Only when rounding leaves target at the very end.
}

function drawTruncated(row: LogitsRow, params: TokenParams, draw: Draw): number {
  const kept = nucleus(row, params, draw);
  let mass = 0;
  for (const { weight } of kept) mass += weight;
  const target = draw.uniform * mass;
  let sum = 0;
  for (const { token, weight } of kept) {
    sum += weight;
    if (sum > target) return token;
  }
  return (kept.at(-1) as Candidate).token;
}

interface Candidate {
  readonly token: number;
  readonly logit: number;
  /** exp((logit − max) / temperature). */
  readonly weight: number;
}

/** The tokens that top-k and top-p leave, most likely first, ties by id. */
function nucleus(row: LogitsRow, { topK, topP }: TokenParams, draw: Draw): Candidate[] {
  const k = topK > 0 ? Math.min(topK, row.size) : row.size;
  // Sorting a whole vocabulary is slow and almost never needed: widen a band below the maximum until it holds enough.
  for (let band = 8; ; band *= 2) {
    const all = band > 1024;
    const candidates = within(row, draw, all ? Number.POSITIVE_INFINITY : band);
    const mass = candidates.reduce((sum, c) => sum + c.weight, 0);
    // With top-k the mass that top-p is a share of is that of the k best; without, the whole row's.
    const enough = k < row.size ? candidates.length >= k : mass >= topP * draw.total;
    if (!enough && !all) continue;
    candidates.sort((a, b) => b.logit - a.logit || a.token - b.token);
    const best = candidates.slice(0, k);
    const whole = k < row.size ? best.reduce((sum, c) => sum + c.weight, 0) : draw.total;
    if (topP === 1) return best;
    let sum = 0;
    const cut = best.findIndex((candidate) => {
      sum += candidate.weight;
      return sum >= topP * whole;
    });
    return cut < 0 ? best : best.slice(0, cut + 1);
  }
}

/** Tokens whose scaled logit lies within `band` of the maximum. */
function within({ logits, offset, size }: LogitsRow, { max, inverse }: Draw, band: number): Candidate[] {
  const out: Candidate[] = [];
  for (let token = 0; token < size; token++) {
    const logit = logits[offset + token] as number;
    const scaled = (logit - max) * inverse;
    if (scaled >= -band) out.push({ token, logit, weight: Math.exp(scaled) });
  }
  return out;
}
