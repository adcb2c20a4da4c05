import { InvariantError } from "../core/errors.ts";
import type { Finish } from "../env/environment.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { Segment, Sequence } from "./trajectory.ts";

/**
 * Keeps every token of one sequence as it came. Sampled ids are never decoded and encoded again;
 * text from outside is encoded on its own and appended. So the concatenation is what the model saw.
 */
export class Ledger {
  readonly #seat: string;
  readonly #segments: Segment[];
  readonly #tokens: number[];
  /** Prompts that were handed to the sampler, one for each policy segment, for the audit. */
  readonly #asked: (readonly number[])[] = [];
  #pending: readonly number[] = [];

  constructor(seat: string, prompt: Pick<Segment, "tokens" | "text">) {
    this.#seat = seat;
    this.#segments = [{ source: "prompt", tokens: prompt.tokens, text: prompt.text }];
    this.#tokens = [...prompt.tokens];
  }

  /** Tokens so far. */
  get length(): number {
    return this.#tokens.length;
  }

  get lastToken(): number | undefined {
    return this.#tokens.at(-1);
  }

  /** All tokens so far, [T], as a copy that later turns do not change: the next request's prompt. */
  ask(): readonly number[] {
    this.#pending = this.#tokens.slice();
    return this.#pending;
  }

  /** A turn as it was sampled. A turn without tokens leaves no segment. */
  sampled(turn: {
    tokens: readonly number[];
    logprobs: readonly number[];
    text: string;
    finish: Finish;
    version: number;
  }) {
    const { tokens, logprobs, text, finish, version } = turn;
    if (tokens.length === 0) return;
    this.#asked.push(this.#pending);
    this.#append({ source: "policy", tokens, text, logprobs, version, finish });
  }

  /** Text that is not the policy's. */
  shown(source: "observation" | "injected", tokens: readonly number[], text: string): void {
    if (tokens.length > 0) this.#append({ source, tokens, text });
  }

  /** What there is now. Later turns do not change it. */
  sequence(): Sequence {
    return { seat: this.#seat, segments: this.#segments.slice() };
  }

  /** The sequence, audited against the prompts that were sent. Throws InvariantError. */
  audited(tokenizer: Tokenizer): Sequence {
    const sequence = this.sequence();
    auditSequence(sequence, tokenizer, this.#asked);
    return sequence;
  }

  #append(segment: Segment): void {
    this.#segments.push(segment);
    for (const token of segment.tokens) this.#tokens.push(token);
  }
}

/**
 * Checks the promises of a sequence: it opens with its only prompt; ids are in the vocabulary; policy segments,
 * and they alone, have a finish, a version and one finite logprob ≤ 0 for each token; every text is what its ids
 * decode to, so no outside text can stand under the mask; and each prompt that was sent (`asked[i]`, before the
 * i-th policy segment) is the concatenation of all before it. Throws InvariantError: a rollout that breaks one
 * must not be trained on.
 */
export function auditSequence(
  sequence: Sequence,
  tokenizer: Tokenizer,
  asked?: readonly (readonly number[])[],
): void {
  const seen: number[] = [];
  let turn = 0;
  sequence.segments.forEach((segment, i) => {
    const fail = (what: string, got?: string, expected?: string): never => {
      throw new InvariantError({
        what,
        where: `sequence of ${sequence.seat}, segment ${i} (${segment.source})`,
        ...(got === undefined ? {} : { got }),
        ...(expected === undefined ? {} : { expected }),
        next: "This is a bug in the sampler, the tokenizer or Forager: such tokens cannot be trained on.",
      });
    };
    if ((segment.source === "prompt") !== (i === 0)) fail("a prompt must be first, and only first");
    if (segment.tokens.length === 0) fail("a segment without tokens");
    for (const id of segment.tokens)
      if (!Number.isInteger(id) || id < 0 || id >= tokenizer.vocabSize)
        fail("a token outside the vocabulary", String(id), `0 to ${tokenizer.vocabSize - 1}`);
    auditText(segment, tokenizer, fail);
    if (segment.source === "policy") {
      auditPolicy(segment, fail);
      if (asked && !equal(asked[turn], seen))
        fail("the prompt that was sent is not what stands before this turn");
      turn++;
    } else if (segment.logprobs || segment.version !== undefined || segment.finish)
      fail("only policy segments have logprobs, a version and a finish");
    for (const id of segment.tokens) seen.push(id);
  });
  if (sequence.segments.length === 0 || (asked && asked.length !== turn))
    throw new InvariantError({
      what: "requests and turns do not match",
      where: `sequence of ${sequence.seat}`,
      got: `${asked?.length ?? 0} requests, ${turn} turns, ${sequence.segments.length} segments`,
    });
}

/** A logprob of 0 may come out a rounding error above it. */
export const logprobRounding = 1e-4;

type Fail = (what: string, got?: string, expected?: string) => never;

function auditText({ source, tokens, text }: Segment, tokenizer: Tokenizer, fail: Fail): void {
  const decoded = tokenizer.decode(source === "policy" ? withoutEnd(tokens, tokenizer) : tokens);
  if (decoded !== text) fail("the text is not what the tokens decode to", quote(text), quote(decoded));
}

function auditPolicy({ tokens, logprobs, version, finish }: Segment, fail: Fail): void {
  if (logprobs?.length !== tokens.length)
    fail("tokens and logprobs of unequal length", `${tokens.length} and ${logprobs?.length ?? 0}`);
  for (const logprob of logprobs ?? [])
    if (!Number.isFinite(logprob) || logprob > logprobRounding)
      fail("a logprob out of range", String(logprob), "finite and ≤ 0");
  if (version === undefined || !Number.isInteger(version) || version < 0)
    fail("no policy version", String(version), "an integer ≥ 0");
  if (finish === undefined) fail("no finish reason");
}

/** The ids without the end-of-text id that was sampled last, if one was. */
export function withoutEnd(tokens: readonly number[], tokenizer: Tokenizer): readonly number[] {
  const last = tokens.at(-1);
  return last !== undefined && tokenizer.eosIds.includes(last) ? tokens.slice(0, -1) : tokens;
}

function equal(a: readonly number[] | undefined, b: readonly number[]): boolean {
  return a !== undefined && a.length === b.length && a.every((id, i) => id === b[i]);
}

const quote = (text: string) => JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);
