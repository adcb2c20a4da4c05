import { scanTags } from "../env/tags.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import type { Segment } from "../rollout/trajectory.ts";

/** What a policy token belongs to: entropy is reported for each. */
export type TokenKind = "think" | "query" | "answer" | "other";

const kindOfTag = { think: "think", search: "query", answer: "answer" } as const;

/**
 * The kind of each token of a policy segment, [N]. A token belongs to the block in which its text begins;
 * its place is found by the lengths of its forerunners' texts, which is exact where tokens decode alone.
 */
export function tokenKinds(
  segment: Segment,
  tokenizer: Tokenizer,
  lengthOf: Map<number, number> = new Map(),
): TokenKind[] {
  const blocks = scanTags(segment.text).filter((b) => !b.insideThink);
  const measured = segment.tokens.map((id) => {
    const known = lengthOf.get(id);
    if (known !== undefined) return known;
    const length = tokenizer.decode([id]).length;
    lengthOf.set(id, length);
    return length;
  });
  // A vocabulary that puts spaces between words decodes to more than the sum of its tokens; scale to the real length.
  const total = measured.reduce((a, b) => a + b, 0);
  const scale = total === 0 ? 1 : Math.max(1, segment.text.length / total);
  let at = 0;
  return measured.map((length) => {
    const middle = at + (length * scale) / 2;
    at += length * scale;
    const block = blocks.find((b) => b.start <= middle && middle < b.end);
    return block ? kindOfTag[block.tag] : "other";
  });
}
