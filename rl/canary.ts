import { InvariantError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import { zip } from "../core/zip.ts";
import type { Arr, Params } from "../engine/array.ts";
import { EndpointError } from "../rollout/endpoint/error.ts";
import type { Fleet } from "../rollout/endpoint/fleet.ts";
import type { Learner } from "./learner.ts";

/**
 * Teacher-forced log-probabilities at temperature 1 of tokens[1 …] under a model, one list a server: [R][T − 1].
 * @throws EndpointError
 */
export type Score = (
  model: string,
  tokens: readonly number[],
  signal: AbortSignal,
) => Promise<readonly (readonly number[])[]>;

/** Scores on every replica that is not quarantined and can score. */
export function scoreOn({ replicas }: Pick<Fleet, "replicas">): Score {
  return (model, tokens, signal) =>
    Promise.all(
      replicas
        .filter(({ state, driver }) => state !== "quarantined" && driver.capabilities.promptLogprobs)
        .map(({ driver, connection }) => driver.score(connection, model, tokens, signal)),
    );
}

/** The trainer's own, [T − 1]. */
export async function ownScores(
  learner: Pick<Learner, "logprobs">,
  tokens: readonly number[],
  trainable: Params,
): Promise<number[]> {
  const zeros = tokens.map(() => 0);
  const mask = tokens.map((_, t) => (t > 0 ? 1 : 0));
  const row = { tokens, mask, weights: mask, oldLogprobs: zeros, advantages: zeros, temperature: 1 };
  return (await learner.logprobs([row], 1, trainable))[0]!.slice(1);
}

export interface CanaryReading {
  /** Mean |Δ| of the replica that is furthest from the trainer. */
  readonly meanAbs: number;
  /** The same replica against the version before; absent for the first. */
  readonly previousMeanAbs?: number;
  /** Is a replica nearer to the version before? Only where the two versions differ by more than the noise. */
  readonly nearerPrevious: boolean;
}

/** Two versions are told apart when they differ by this many times what the server differs from the nearer one. */
const resolution = 2;

/** Compares what servers say of a fixed prompt with the trainer's own of this version and of the one before. */
export function readCanary(
  servers: readonly (readonly number[])[],
  own: readonly number[],
  previous?: readonly number[],
): CanaryReading | undefined {
  const separation = previous ? meanAbs(own, previous) : 0;
  const readings = servers.map((server) => {
    const here = meanAbs(server, own);
    if (!previous) return { meanAbs: here, nearerPrevious: false };
    const before = meanAbs(server, previous);
    const decides = separation > resolution * Math.min(here, before);
    return { meanAbs: here, previousMeanAbs: before, nearerPrevious: decides && before < here };
  });
  const [first, ...rest] = readings;
  if (!first) return undefined;
  const worst = rest.reduce((a, b) => (b.meanAbs > a.meanAbs ? b : a), first);
  return { ...worst, nearerPrevious: readings.some((reading) => reading.nearerPrevious) };
}

/** Mean |a − b|; lists of unequal length are a server's broken reply. */
export function meanAbs(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length || a.length === 0 || !a.every(Number.isFinite))
    throw new EndpointError("malformed", {
      what: "a server scored another number of tokens than it was given, or gave no number",
      got: `${a.length} scores`,
      expected: `${b.length} finite ones`,
    });
  return zip(a, b).reduce((sum, [x, y]) => sum + Math.abs(x - y), 0) / a.length;
}

/** Mean |Δ logprob| that a synthetic adapter is to make on the fixed prompt: far above what bfloat16 makes. */
const largeEffect = 0.5;
/** A policy of random weights, near uniform whatever adapts it, gives less; below this nothing is proven. */
const leastEffect = 0.02;

/** An adapter whose effect nobody can overlook: B is drawn, and doubled until the trainer itself sees a large effect. */
export async function syntheticAdapter(
  learner: Pick<Learner, "logprobs">,
  tokens: readonly number[],
  like: { readonly trainable: Params; readonly scores: readonly number[] },
): Promise<{ trainable: Params; scores: number[] }> {
  let best: { trainable: Params; scores: number[]; effect: number } | undefined;
  for (let doubling = -10; doubling < 6 && (best?.effect ?? 0) < largeEffect; doubling++) {
    const trainable = drawn(like.trainable, 2 ** doubling);
    const scores = await ownScores(learner, tokens, trainable);
    if (!scores.every(Number.isFinite)) break;
    const effect = meanAbs(scores, like.scores);
    if (effect > (best?.effect ?? leastEffect)) best = { trainable, scores, effect };
  }
  if (best) return best;
  throw new InvariantError({ what: "no synthetic adapter has an effect on the fixed prompt" });
}

/** A as PEFT draws it, B uniform in ±bound. */
function drawn(like: Params, bound: number): Params {
  return Object.fromEntries(
    Object.entries(like).map(([name, matrix]): [string, Arr] => {
      const draw = rng(0, "synthetic adapter", name);
      const width = name.endsWith(".lora_A.weight") ? 1 / Math.sqrt(matrix.shape[1]!) : bound;
      return [name, { ...matrix, data: Float32Array.from(matrix.data, () => (2 * draw() - 1) * width) }];
    }),
  );
}
