import type { Finish } from "../env/environment.ts";
import { auditSequence, fingerprint, withoutEnd } from "./ledger.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { Segment, Sequence } from "./trajectory.ts";

/** What a model wrote in one call. */
export interface RecordedTurn {
  readonly tokens: readonly number[]; // [N], the end-of-text id included when it was sampled
  readonly logprobs: readonly number[]; // [N]
  readonly finish: Finish;
  readonly version: number;
}

/** A call under way. It ends with `add` or with `drop`, once. */
export interface OpenCall {
  /** The sequence it belongs to. */
  readonly sequence: string;
  /** Tells this call from others of the rollout by what it asks, not by when it came. */
  readonly key: string;
  add(turn: RecordedTurn): void;
  drop(): void;
}

type Kept = Omit<Segment, "text">;

interface Growing {
  readonly name: string;
  readonly kept: Kept[];
  readonly tokens: number[];
  /** Fingerprint of the prompt before each policy segment, for the audit. */
  readonly sent: number[];
  busy: boolean;
}

/**
 * The calls of one rollout as token sequences. A call whose prompt extends, id for id, all that a sequence holds
 * carries it on, and what stands in between are observations; any other call begins a sequence. So every token is
 * kept as it was sampled, and none is trained on twice.
 */
export class Recording {
  readonly #sequences: Growing[] = [];
  readonly #seen = new Map<number, number>();

  /** Sequences so far. */
  get size(): number {
    return this.#sequences.length;
  }

  /** `prompt` is everything the model sees in this call. */
  begin(prompt: readonly number[]): OpenCall {
    const hash = fingerprint(prompt);
    const times = this.#seen.get(hash) ?? 0;
    this.#seen.set(hash, times + 1);
    const key = `${(hash >>> 0).toString(16)}${times > 0 ? `.${times}` : ""}`;
    const joined = this.#longest(prompt);
    if (joined) joined.busy = true; // A second call at the same time begins a sequence of its own.
    return {
      sequence: joined?.name ?? key,
      key,
      drop: () => {
        if (joined) joined.busy = false;
      },
      add: (turn) => {
        if (joined) joined.busy = false;
        if (turn.tokens.length === 0) return;
        const into = joined ?? this.#begun(key);
        const fresh = prompt.slice(into.tokens.length);
        const source = into.kept.length === 0 ? "prompt" : "observation";
        if (fresh.length > 0) into.kept.push({ source, tokens: fresh });
        into.kept.push({ source: "policy", ...turn });
        into.sent.push(hash);
        for (const part of [fresh, turn.tokens]) for (const id of part) into.tokens.push(id);
      },
    };
  }

  /** All that was recorded; `decode` gives the text of ids. Audited where a tokenizer is at hand. */
  async sequences(
    seat: string,
    decode: (tokens: readonly number[]) => string | Promise<string>,
    tokenizer?: Tokenizer,
  ): Promise<Sequence[]> {
    const all: Sequence[] = [];
    for (const { kept, sent } of this.#sequences) {
      const segments: Segment[] = [];
      for (const segment of kept)
        segments.push({ ...segment, text: await decode(spoken(segment, tokenizer)) });
      const sequence = { seat, segments };
      // The texts have just been made by decoding.
      if (tokenizer) auditSequence(sequence, tokenizer, { sent, texts: false });
      all.push(sequence);
    }
    return all;
  }

  #begun(name: string): Growing {
    const sequence = { name, kept: [], tokens: [], sent: [], busy: false };
    this.#sequences.push(sequence);
    return sequence;
  }

  #longest(prompt: readonly number[]): Growing | undefined {
    let longest: Growing | undefined;
    for (const each of this.#sequences)
      if (!each.busy && each.tokens.length > (longest?.tokens.length ?? 0) && startsWith(prompt, each.tokens))
        longest = each;
    return longest;
  }
}

/** A turn's ids without the end of text, whose text is nobody's words. */
function spoken({ source, tokens, finish }: Kept, tokenizer: Tokenizer | undefined): readonly number[] {
  if (source !== "policy") return tokens;
  if (tokenizer) return withoutEnd(tokens, tokenizer);
  return finish === "eos" ? tokens.slice(0, -1) : tokens;
}

function startsWith(tokens: readonly number[], prefix: readonly number[]): boolean {
  return prefix.length <= tokens.length && prefix.every((id, i) => id === tokens[i]);
}
