import { withoutEnd } from "./ledger.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * Turns the text prompts of an agent's completion calls into ids. A text that goes on from an earlier prompt and its
 * completion keeps their ids; only what was added is encoded.
 */
export class TextHistory {
  readonly #tokenizer: Tokenizer;
  readonly #said: { readonly text: string; readonly tokens: readonly number[] }[] = [];

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  prompt(text: string): readonly number[] {
    const { encode } = this.#tokenizer;
    let longest = { text: "", tokens: [] as readonly number[] };
    for (const said of this.#said)
      if (said.text.length > longest.text.length && text.startsWith(said.text)) longest = said;
    const tail = encode(text.slice(longest.text.length));
    const body = withoutEnd(longest.tokens, this.#tokenizer);
    // An end of text that was sampled stays where the agent writes it out; else the text goes on as if there were none.
    const ended = body.length < longest.tokens.length && tail[0] === longest.tokens.at(-1);
    return ended ? [...longest.tokens, ...tail.slice(1)] : [...body, ...tail];
  }

  /** `text` is a prompt and its completion, `tokens` their ids. */
  said(text: string, tokens: readonly number[]): void {
    this.#said.push({ text, tokens });
  }
}
