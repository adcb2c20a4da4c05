import { DataError } from "../core/errors.ts";
import type { Question } from "../datasets/task.ts";
import type { SeatPrompt } from "../env/environment.ts";
import type { Renderer, Tokenizer } from "./tokenizer.ts";

/** What opens a sequence: the same for all members of a group. */
export interface Prompt {
  readonly tokens: readonly number[]; // [T]
  readonly text: string;
}

/** Throws DataError when the prompt leaves no room in the context for a single token. */
export function makePrompt(
  { id, question }: Question,
  renderer: Renderer,
  tokenizer: Tokenizer,
  contextTokens: number,
  words?: SeatPrompt,
): Prompt {
  const tokens = renderer.prompt(question, words);
  if (tokens.length === 0 || tokens.length >= contextTokens)
    throw new DataError({
      what: tokens.length === 0 ? "the prompt is empty" : "the prompt does not fit into the model's context",
      where: `question ${id}`,
      got: `${tokens.length} tokens`,
      expected: `1 to ${contextTokens - 1}`,
      next: "Leave the question out, shorten the prompt, or use a model with a longer context.",
    });
  return { tokens, text: tokenizer.decode(tokens) };
}

/** Checks all prompts before the first token is sampled. Throws DataError naming the first question that fails. */
export function checkPrompts(
  questions: Iterable<Question>,
  renderer: Renderer,
  tokenizer: Tokenizer,
  contextTokens: number,
  words?: SeatPrompt,
): void {
  for (const question of questions) makePrompt(question, renderer, tokenizer, contextTokens, words);
}
