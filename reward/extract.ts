import { doneBlocks } from "../env/tags.ts";
import type { Segment } from "../rollout/trajectory.ts";

/** The texts of a trajectory that extraction needs: anything with sequences of sourced segments. */
export interface Spoken {
  readonly sequences: readonly { readonly segments: readonly Pick<Segment, "source" | "text">[] }[];
}

/**
 * The answers a policy gave, trimmed, in the order it gave them: closed `<answer>` blocks outside `<think>`, each turn
 * read on its own. Prompt, observations and injected text are never read, so a passage that holds a tag earns nothing.
 */
export function answersOf(spoken: Spoken): string[] {
  const answers: string[] = [];
  // Most turns only search: where nothing closes there is nothing to scan for.
  for (const { segments } of spoken.sequences)
    for (const { source, text } of segments)
      if (source === "policy" && text.includes("</answer>"))
        for (const block of doneBlocks(text, "answer")) answers.push(block.text.trim());
  return answers;
}

/** Which of several answers is judged. */
export const extractions = {
  last: (answers) => answers.at(-1),
  first: (answers) => answers[0],
  /** A second answer forfeits both. */
  only: (answers) => (answers.length === 1 ? answers[0] : undefined),
} satisfies Record<string, (answers: readonly string[]) => string | undefined>;

export type ExtractionName = keyof typeof extractions;
export const extractionNames = Object.keys(extractions) as [ExtractionName, ...ExtractionName[]];
