import type { Segment } from "../../rollout/trajectory.ts";
import type { Recorded } from "./rollout.ts";

/** One sequence of a recorded rollout as a line of JSON, which `forager sft` reads. */
export interface StoredLine {
  readonly id: string;
  readonly question?: string;
  /** null: the agent posted none. */
  readonly reward: number | null;
  readonly answer?: string;
  /** Which of the rollout's sequences, from 0, and of how many. */
  readonly sequenceIndex: number;
  readonly sequenceCount: number;
  readonly segments: readonly {
    readonly source: Segment["source"];
    readonly text: string;
    readonly tokens: readonly number[];
    readonly logprobs?: readonly number[];
  }[];
}

/**
 * A rollout as lines, one a sequence. An end of text that stands inside a sequence is part of its segment's text, so
 * that the texts together are all that the model saw; the last one is left out, as in every trajectory.
 */
export async function storedLines(
  { id, question, sequences, posted }: Recorded,
  decode: (tokens: readonly number[]) => string | Promise<string>,
): Promise<StoredLine[]> {
  const all: StoredLine[] = [];
  for (const [sequenceIndex, { segments }] of sequences.entries()) {
    const stored: StoredLine["segments"][number][] = [];
    for (const [i, { source, tokens, logprobs, finish, text }] of segments.entries()) {
      const ended = finish === "eos" && i < segments.length - 1;
      const whole = ended ? text + (await decode(tokens.slice(-1))) : text;
      stored.push({ source, text: whole, tokens, ...(logprobs && { logprobs }) });
    }
    all.push({
      id,
      ...(question !== undefined && { question }),
      reward: posted?.reward ?? null,
      ...(posted?.answer !== undefined && { answer: posted.answer }),
      ...{ sequenceIndex, sequenceCount: sequences.length, segments: stored },
    });
  }
  return all;
}
