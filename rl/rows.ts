import type { Group, Segment, Sequence, Trajectory } from "../rollout/trajectory.ts";
import type { Row } from "./row.ts";
import type { TokenKind } from "./token-kinds.ts";

/**
 * Rows of a share of groups: one for each sequence of each member, in order, with the member's advantage on all of its
 * policy tokens. With `maskCut` an episode that was cut at a token limit counts in no loss.
 */
export function toRows(
  share: readonly { readonly group: Group<Trajectory>; readonly advantages: readonly number[] }[],
  o: { readonly kinds: (segment: Segment) => readonly TokenKind[]; readonly maskCut: boolean },
): Row[] {
  return share.flatMap(({ group: { members }, advantages }) =>
    members.flatMap(({ sequences, temperature, outcome }, i) => {
      const masked = o.maskCut && outcome === "length";
      return sequences.map((sequence) =>
        toRow(sequence, { advantage: advantages[i]!, temperature, kinds: o.kinds, masked }),
      );
    }),
  );
}

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
  const oldLogprobs: number[] = [];
  const advantages: number[] = [];
  const kinds: TokenKind[] = [];
  for (const segment of sequence.segments) {
    const own = segment.source === "policy" && !o.masked;
    if (o.kinds) kinds.push(...(own ? o.kinds(segment) : segment.tokens.map(() => "other" as const)));
    segment.tokens.forEach((token, i) => {
      const trained = own && tokens.length > 0;
      tokens.push(token);
      mask.push(trained ? 1 : 0);
      oldLogprobs.push(trained ? segment.logprobs![i]! : 0);
      advantages.push(trained ? o.advantage : 0);
    });
  }
  // A group keeps one version (the pipeline drops others), so the first policy segment speaks for all.
  const version = sequence.segments.find((segment) => segment.source === "policy")?.version;
  return {
    ...{ tokens, mask, oldLogprobs, advantages, temperature: o.temperature },
    ...(version === undefined ? {} : { version }),
    ...(o.kinds ? { kinds } : {}),
  };
}
