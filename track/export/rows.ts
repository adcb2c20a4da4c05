import type { TokenRow } from "../../datasets/episodes/token-row.ts";
import type { StoredTrajectory } from "../run-db.ts";
import { type Origin, provenanceOf } from "./provenance.ts";

/** An episode's sequences token by token. */
export function tokenRows(
  episode: StoredTrajectory,
  origin: Origin & { readonly temperature: number },
): TokenRow[] {
  return episode.sequences.map(({ segments }, i) => {
    const own = segments.filter(({ source }) => source === "policy");
    return {
      ...provenanceOf(episode, i, origin),
      last_version: own.at(-1)?.version ?? null,
      temperature: origin.temperature,
      tokens: segments.flatMap(({ tokens }) => tokens),
      mask: segments.flatMap(({ tokens, source }) => tokens.map(() => (source === "policy" ? 1 : 0))),
      logprobs: segments.flatMap(({ tokens, logprobs }) => tokens.map((_, t) => logprobs?.[t] ?? 0)),
    };
  });
}
