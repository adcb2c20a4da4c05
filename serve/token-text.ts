import type { Tokenizer } from "../rollout/tokenizer.ts";

/** U+FFFD at the end of a decoded text: the bytes of a character are not all there yet. */
const unfinished = "\ufffd";
/** A character has at most 4 bytes; more pending tokens than this are garbage, not an unfinished character. */
const mostPending = 8;

/** Ids that a completion's text leaves out unless it is asked to keep them. */
export function specialIdsOf(tokenizer: Tokenizer): ReadonlySet<number> {
  return new Set(tokenizer.specialIds ?? tokenizer.eosIds);
}

/** The text of whole completions: special tokens left out when `skip` has them, a half character at the end dropped. */
export function decodeVisible(
  tokenizer: Tokenizer,
  ids: readonly number[],
  skip: ReadonlySet<number>,
): string {
  const text = tokenizer.decode(skip.size === 0 ? ids : ids.filter((id) => !skip.has(id)));
  return text.endsWith(unfinished) ? text.slice(0, -unfinished.length) : text;
}

/** A text that grows token by token; a character appears with the token that completes it. */
export class GrowingText {
  readonly #tokenizer: Tokenizer;
  readonly #skip: ReadonlySet<number>;
  #context: readonly number[] = [];
  #contextText = "";
  #pending: number[] = [];
  text = "";

  constructor(tokenizer: Tokenizer, skip: ReadonlySet<number>) {
    this.#tokenizer = tokenizer;
    this.#skip = skip;
  }

  push(id: number): void {
    if (this.#skip.has(id)) return;
    this.#pending.push(id);
    // A token's text may depend on its left neighbour.
    const both = this.#tokenizer.decode([...this.#context, ...this.#pending]);
    if (both.endsWith(unfinished) && this.#pending.length < mostPending) return;
    this.text += both.slice(this.#contextText.length);
    this.#context = this.#pending;
    this.#contextText = this.#tokenizer.decode(this.#context);
    this.#pending = [];
  }
}

/** The text of single tokens, as logprobs name them. Special tokens are written out. */
export class TokenNames {
  readonly #tokenizer: Tokenizer;
  readonly #known = new Map<number, string>();

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  /** @param before the ids that stand before it: bytes of one character go to the token that completes it */
  of(id: number, before: readonly number[]): string {
    const alone = this.#alone(id);
    if (!alone.endsWith(unfinished)) return alone;
    for (let length = 1; length <= Math.min(4, before.length); length++) {
      const context = before.slice(-length);
      const text = this.#tokenizer.decode([...context, id]);
      if (text.endsWith(unfinished)) continue;
      const firstBroken = context.findIndex((each) => this.#alone(each).endsWith(unfinished));
      const whole = this.#tokenizer.decode(firstBroken < 0 ? context : context.slice(0, firstBroken));
      return text.slice(whole.length);
    }
    return "";
  }

  #alone(id: number): string {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const text = this.#tokenizer.decode([id]);
    this.#known.set(id, text);
    return text;
  }
}

/** Python counts code points where JavaScript counts UTF-16 units. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) count--;
  }
  return count;
}
