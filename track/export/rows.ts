import type { TokenRow } from "../../datasets/episodes/token-row.ts";
import type { Segment } from "../../rollout/trajectory.ts";
import type { StoredTrajectory } from "../run-db.ts";
import { type Origin, provenanceOf } from "./provenance.ts";

/** An episode's sequences token by token; those that somebody else played than the policy are left out. */
export function tokenRows(
  episode: StoredTrajectory,
  origin: Origin & {
    readonly temperature: number;
    /** Of a run whose turns have advantages of their own. */
    readonly credited?: boolean;
  },
): TokenRow[] {
  return episode.sequences.flatMap(({ segments, outside }, i) => {
    if (outside) return [];
    const own = segments.filter(({ source }) => source === "policy");
    return {
      ...provenanceOf(episode, i, origin),
      last_version: own.at(-1)?.version ?? null,
      temperature: origin.temperature,
      tokens: segments.flatMap(({ tokens }) => tokens),
      mask: segments.flatMap(({ tokens, source }) => tokens.map(() => (source === "policy" ? 1 : 0))),
      logprobs: segments.flatMap(({ tokens, logprobs }) => tokens.map((_, t) => logprobs?.[t] ?? 0)),
      ...(origin.credited ? { advantages: advantagesOf(segments, episode.turnAdvantages?.[i]) } : {}),
    };
  });
}

/** Each token's, [T]; empty where there are none. */
function advantagesOf(segments: readonly Segment[], turns: readonly number[] | undefined): number[] {
  if (!turns) return [];
  let turn = 0;
  return segments.flatMap(({ source, tokens }) => {
    const own = source === "policy" ? turns[turn++]! : 0;
    return tokens.map(() => own);
  });
}
