import type { Sequence } from "../rollout/trajectory.ts";
import type { Row } from "./row.ts";

/**
 * One sequence as a training row: concatenated segments, the mask 1 on policy tokens. The first token of a
 * sequence has nothing before it and is never trained on.
 */
export function toRow(sequence: Sequence, advantage: number, temperature: number, masked = false): Row {
  const tokens: number[] = [];
  const mask: number[] = [];
  const logprobs: number[] = [];
  const advantages: number[] = [];
  for (const segment of sequence.segments) {
    const own = segment.source === "policy" && !masked;
    segment.tokens.forEach((token, i) => {
      const trained = own && tokens.length > 0;
      tokens.push(token);
      mask.push(trained ? 1 : 0);
      logprobs.push(trained ? segment.logprobs![i]! : 0);
      advantages.push(trained ? advantage : 0);
    });
  }
  return { tokens, mask, logprobs, advantages, temperature };
}
