import type { Tokenizer } from "./tokenizer.ts";

/** U+FFFD at the end of a decoded text: the bytes of a character are not all there yet. */
const unfinished = "\ufffd";
/** A character has at most 4 bytes; more pending tokens than this are real garbage, not an unfinished character. */
const mostPending = 8;

/**
 * Watches the text of one turn grow, token by token, for stop strings. Decodes only the newest tokens, with the
 * ones before them as context (a token's text may depend on its left neighbour), and holds back half characters.
 */
export class StopText {
  readonly #tokenizer: Tokenizer;
  readonly #stop: readonly string[];
  readonly #keep: number;
  #context: number[] = [];
  #pending: number[] = [];
  #contextText = "";
  #window = "";

  constructor(tokenizer: Tokenizer, stop: readonly string[]) {
    this.#tokenizer = tokenizer;
    this.#stop = stop.filter((text) => text !== "");
    this.#keep = Math.max(0, ...this.#stop.map((text) => text.length - 1));
  }

  /** Adds one sampled token; true when a stop string has just been completed. */
  push(token: number): boolean {
    return this.match(token) !== undefined;
  }

  /** Adds one sampled token; the stop string that it completes, the one that ends first where there are several. */
  match(token: number): string | undefined {
    if (this.#stop.length === 0) return undefined;
    this.#pending.push(token);
    const both = this.#tokenizer.decode([...this.#context, ...this.#pending]);
    if (both.endsWith(unfinished) && this.#pending.length < mostPending) return undefined;
    const fresh = both.slice(this.#contextText.length);
    this.#context = this.#pending;
    this.#pending = [];
    this.#contextText = this.#tokenizer.decode(this.#context);
    const window = this.#window + fresh;
    this.#window = this.#keep === 0 ? "" : window.slice(-this.#keep);
    let first: { readonly text: string; readonly end: number } | undefined;
    for (const text of this.#stop) {
      // Only where its last character is fresh: one that stood there before was already told.
      const at = window.indexOf(text, Math.max(0, window.length - fresh.length - text.length + 1));
      if (at >= 0 && (!first || at + text.length < first.end)) first = { text, end: at + text.length };
    }
    return first?.text;
  }
}
