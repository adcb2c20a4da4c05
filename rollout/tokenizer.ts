import type { SeatPrompt } from "../env/environment.ts";

/** Text ↔ token ids. `decode(encode(text))` gives `text` back, up to white space in the tiny vocabulary. */
export interface Tokenizer {
  /** Changes whenever ids would. */
  readonly fingerprint: string;
  readonly vocabSize: number;
  /** Ids that end the text when sampled (never part of the turn's text). */
  readonly eosIds: readonly number[];
  /** Padding id for batches; its value never reaches the loss. */
  readonly padId: number;
  /** Plain encoding, without a beginning-of-text token; special tokens written out in the text are recognised. */
  encode(text: string): number[];
  /** Special tokens are kept in the text (the tags of the tiny vocabulary are such). */
  decode(ids: readonly number[]): string;
  /** Ids that a text for people leaves out (end of text, roles). Default: `eosIds`. */
  readonly specialIds?: readonly number[];
  /** As `encode`, with what the model's own tokenizer puts around a text, such as a beginning-of-text token. Default: `encode`. */
  encodeWhole?(text: string): number[];
  /** The token as the vocabulary writes it ("Ġthe"). Default: its decoded text. */
  piece?(id: number): string | undefined;
}

/** Turns a question into the prompt that opens a sequence. */
export interface Renderer {
  /** Prompt ids for one question. @param words a seat's own opening, in place of the config's */
  prompt(question: string, words?: SeatPrompt): number[];
  /** Wraps an observation as the model's chat format wants it, as text (identity for base models). */
  observation(text: string): string;
}
