/** One sequence, all arrays [T]. `logprobs` under the policy being trained, `oldLogprobs` under π_old. */
export interface SurrogateInput {
  readonly logprobs: readonly number[];
  readonly oldLogprobs: readonly number[];
  readonly advantages: readonly number[];
  /** 1 on policy tokens, else 0. */
  readonly mask: readonly number[];
}

export interface ClipRange {
  /** Ratios are clipped to [1 − clipLow, 1 + clipHigh]. */
  readonly clipLow: number;
  readonly clipHigh: number;
  /** Bounds the loss of tokens with a negative advantage at this multiple of −A (Ye et al. 2020), e.g. 3; off by default. */
  readonly dualClip?: number;
}

/** Per-token losses of one sequence, [T] → [T], to be minimised; 0 where the mask is 0. */
export type Surrogate = (input: SurrogateInput, clip: ClipRange) => number[];

/** exp would overflow float32 past 88; a log ratio beyond ±20 is a bug elsewhere, not a training signal. */
export const maxLogRatio = 20;

const rows = {
  /** max(−Aρ, −A·clip(ρ)) (PPO; DAPO's separate bounds). */
  ppoClip: (input, clip) =>
    perToken(input, (advantage, logRatio) => {
      const ratio = Math.exp(clamp(logRatio, -maxLogRatio, maxLogRatio));
      return clippedLoss(advantage, ratio, clip);
    }),
  /** −sg[clip(ρ)]·A·log π: no token is dropped (MiniMax-M1). */
  cispo: (input, { clipLow, clipHigh }) =>
    perToken(input, (advantage, logRatio, logprob) => {
      const ratio = Math.exp(clamp(logRatio, -maxLogRatio, maxLogRatio));
      return -clamp(ratio, 1 - clipLow, 1 + clipHigh) * advantage * logprob;
    }),
  /** PPO's loss with the sequence's geometric mean ratio at every token (GSPO); aggregate with seqMeanTokenMean. */
  gspo: (input, clip) => {
    const ratio = sequenceRatio(input);
    return perToken(input, (advantage) => clippedLoss(advantage, ratio, clip));
  },
  /** −A·log π. */
  reinforce: (input) => perToken(input, (advantage, _, logprob) => -advantage * logprob),
} satisfies Record<string, Surrogate>;

export type SurrogateName = keyof typeof rows;
export const surrogates: Readonly<Record<SurrogateName, Surrogate>> = rows;

/** exp of the mean log ratio over policy tokens, the log clamped at 10; 1 without policy tokens. */
export function sequenceRatio({ logprobs, oldLogprobs, mask }: SurrogateInput): number {
  const tokens = mask.reduce((sum, m) => sum + m, 0);
  const sum = logprobs.reduce(
    (s, logprob, t) => s + (mask[t] === 1 ? logprob - (oldLogprobs[t] as number) : 0),
    0,
  );
  return Math.exp(Math.min(sum / Math.max(tokens, 1), 10));
}

/** Where a surrogate clips its ratio: −1 below, 1 above, 0 not, for each token; [T] → [T], 0 where the mask is 0. */
export type ClipRule = (input: SurrogateInput, clip: ClipRange) => number[];

/** One rule for each surrogate; `reinforce` has no ratio to clip. */
export const clipRules: Readonly<Record<SurrogateName, ClipRule | undefined>> = {
  /** Where the clip takes the gradient away: below with A < 0, above with A > 0. */
  ppoClip: (input, clip) =>
    perToken(input, (advantage, logRatio) => lost(advantage, Math.exp(logRatio), clip)),
  /** Where the weight sg[clip(ρ)] is not ρ, whatever the sign of A. */
  cispo: (input, clip) => perToken(input, (_, logRatio) => side(Math.exp(logRatio), clip)),
  /** As ppoClip, with the ratio of the whole sequence: all its tokens or none. */
  gspo: (input, clip) => {
    const ratio = sequenceRatio(input);
    return perToken(input, (advantage) => lost(advantage, ratio, clip));
  },
  reinforce: undefined,
};

const side = (ratio: number, { clipLow, clipHigh }: ClipRange) =>
  ratio < 1 - clipLow ? -1 : ratio > 1 + clipHigh ? 1 : 0;
/** Only a token that is pushed further out on the side where it is loses its gradient. */
const lost = (advantage: number, ratio: number, clip: ClipRange) =>
  side(ratio, clip) === Math.sign(advantage) ? side(ratio, clip) : 0;

function clippedLoss(advantage: number, ratio: number, { clipLow, clipHigh, dualClip }: ClipRange): number {
  const loss = Math.max(-advantage * ratio, -advantage * clamp(ratio, 1 - clipLow, 1 + clipHigh));
  return advantage < 0 && dualClip !== undefined ? Math.min(loss, -advantage * dualClip) : loss;
}

function perToken(
  { logprobs, oldLogprobs, advantages, mask }: SurrogateInput,
  loss: (advantage: number, logRatio: number, logprob: number) => number,
): number[] {
  return logprobs.map((logprob, t) =>
    mask[t] === 1 ? loss(advantages[t] as number, logprob - (oldLogprobs[t] as number), logprob) : 0,
  );
}

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);
