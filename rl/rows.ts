import type { Segment, Sequence } from "../rollout/trajectory.ts";
import type { Row } from "./row.ts";
import type { TokenKind } from "./token-kinds.ts";

/**
 * One sequence as a training row: concatenated segments, the mask 1 on policy tokens. The first token of a
 * sequence has nothing before it and is never trained on.
 */
export function toRow(
  sequence: Sequence,
  o: {
    advantage: number;
    temperature: number;
    masked?: boolean;
    kinds?: (segment: Segment) => readonly TokenKind[];
  },
): Row {
  const tokens: number[] = [];
  const mask: number[] = [];
  const logprobs: number[] = [];
  const advantages: number[] = [];
  const kinds: TokenKind[] = [];
  for (const segment of sequence.segments) {
    const own = segment.source === "policy" && !o.masked;
    if (o.kinds) kinds.push(...(own ? o.kinds(segment) : segment.tokens.map(() => "other" as const)));
    segment.tokens.forEach((token, i) => {
      const trained = own && tokens.length > 0;
      tokens.push(token);
      mask.push(trained ? 1 : 0);
      logprobs.push(trained ? segment.logprobs![i]! : 0);
      advantages.push(trained ? o.advantage : 0);
    });
  }
  return { tokens, mask, logprobs, advantages, temperature: o.temperature, ...(o.kinds ? { kinds } : {}) };
}
