import { type Complaint, InvariantError } from "../core/errors.ts";
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
  /** Fingerprints of the prompts that were handed to the sampler, one for each policy segment, for the audit. */
  readonly #sent: number[] = [];
  #pending = 0;
  #length: number;

  constructor(seat: string, prompt: Pick<Segment, "tokens" | "text">) {
    this.#seat = seat;
    this.#segments = [{ source: "prompt", tokens: prompt.tokens, text: prompt.text }];
    this.#length = prompt.tokens.length;
  }

  /** Tokens so far. */
  get length(): number {
    return this.#length;
  }

  get lastToken(): number | undefined {
    return this.#segments.at(-1)?.tokens.at(-1);
  }

  /** All tokens so far, [T], as a copy that later turns do not change: the next request's prompt. */
  ask(): readonly number[] {
    const prompt = ([] as number[]).concat(...this.#segments.map(({ tokens }) => tokens));
    this.#pending = fingerprint(prompt);
    return prompt;
  }

  /** A turn as it was sampled. A turn without tokens leaves no segment. */
  sampled(turn: {
    tokens: readonly number[];
    logprobs: readonly number[];
    text: string;
    finish: Finish;
    version: number;
  }): void {
    const { tokens, logprobs, text, finish, version } = turn;
    if (tokens.length === 0) return;
    this.#sent.push(this.#pending);
    this.#append({ source: "policy", tokens, text, logprobs, version, finish });
  }

  /** Text that is not the policy's; `text` is what the tokens decode to. */
  shown(source: "observation" | "injected", tokens: readonly number[], text: string): void {
    if (tokens.length > 0) this.#append({ source, tokens, text });
  }

  /** What there is now. Later turns do not change it. */
  sequence(): Sequence {
    return { seat: this.#seat, segments: this.#segments.slice() };
  }

  /**
   * The sequence, audited against the prompts that were sent. Texts are not decoded again: the seat has
   * checked the policy's and made the others by decoding. Throws InvariantError.
   */
  audited(tokenizer: Tokenizer): Sequence {
    const sequence = this.sequence();
    auditSequence(sequence, tokenizer, { sent: this.#sent, texts: false });
    return sequence;
  }

  #append(segment: Segment): void {
    this.#segments.push(segment);
    this.#length += segment.tokens.length;
  }
}

export interface AuditOptions {
  /** Fingerprints of the prompts that were sent: sent[i] before the i-th policy segment. */
  readonly sent?: readonly number[];
  /** Also decode every segment and compare; default true. */
  readonly texts?: boolean;
}

/**
 * Checks the promises of a sequence: it opens with its only prompt; ids are in the vocabulary; policy segments,
 * and they alone, have a finish, a version and one finite logprob ≤ 0 for each token; every text is what its ids
 * decode to, so no outside text can stand under the mask; and each prompt that was sent is the concatenation of
 * all before it. Throws InvariantError: a rollout that breaks one must not be trained on.
 */
export function auditSequence(
  { seat, segments }: Sequence,
  tokenizer: Tokenizer,
  { sent, texts = true }: AuditOptions = {},
): void {
  let turn = 0;
  let seen = fingerprint([]);
  for (const [i, segment] of segments.entries()) {
    const complaint = broken(segment, i, tokenizer, texts);
    if (complaint) throw violation(seat, i, segment, complaint);
    if (segment.source === "policy") {
      if (sent && sent[turn] !== seen)
        throw violation(seat, i, segment, {
          what: "the prompt that was sent is not what stands before this turn",
        });
      turn++;
    }
    if (sent) seen = fingerprint(segment.tokens, seen);
  }
  if (segments.length === 0 || (sent && sent.length !== turn))
    throw new InvariantError({
      what: "requests and turns do not match",
      where: `sequence of ${seat}`,
      got: `${sent?.length ?? 0} requests, ${turn} turns, ${segments.length} segments`,
    });
}

type Facts = Pick<Complaint, "what" | "got" | "expected">;

function violation(seat: string, i: number, { source }: Segment, facts: Facts): InvariantError {
  return new InvariantError({
    ...facts,
    where: `sequence of ${seat}, segment ${i} (${source})`,
    next: "This is a bug in the sampler, the tokenizer or Forager: such tokens cannot be trained on.",
  });
}

/** The first promise a segment breaks by itself. */
function broken(segment: Segment, i: number, tokenizer: Tokenizer, texts: boolean): Facts | undefined {
  const { source, tokens, text, logprobs, version, finish } = segment;
  if ((source === "prompt") !== (i === 0)) return { what: "a prompt must be first, and only first" };
  if (tokens.length === 0) return { what: "a segment without tokens" };
  for (const id of tokens)
    if (!Number.isInteger(id) || id < 0 || id >= tokenizer.vocabSize)
      return {
        what: "a token outside the vocabulary",
        got: String(id),
        expected: `0 to ${tokenizer.vocabSize - 1}`,
      };
  if (texts) {
    const decoded = tokenizer.decode(source === "policy" ? withoutEnd(tokens, tokenizer) : tokens);
    if (decoded !== text)
      return {
        what: "the text is not what the tokens decode to",
        got: quote(text),
        expected: quote(decoded),
      };
  }
  if (source === "policy") return brokenPolicy(segment);
  if (logprobs || version !== undefined || finish)
    return { what: "only policy segments have logprobs, a version and a finish" };
  return undefined;
}

/** A logprob of 0 may come out a rounding error above it. */
export const logprobRounding = 1e-4;

function brokenPolicy({ tokens, logprobs, version, finish }: Segment): Facts | undefined {
  if (logprobs?.length !== tokens.length)
    return {
      what: "tokens and logprobs of unequal length",
      got: `${tokens.length} and ${logprobs?.length ?? 0}`,
    };
  for (const logprob of logprobs)
    if (!Number.isFinite(logprob) || logprob > logprobRounding)
      return { what: "a logprob out of range", got: String(logprob), expected: "finite and ≤ 0" };
  if (version === undefined || !Number.isInteger(version) || version < 0)
    return { what: "no policy version", got: String(version), expected: "an integer ≥ 0" };
  return finish === undefined ? { what: "no finish reason" } : undefined;
}

/** A number that two lists of ids share only by chance (FNV-1a, 32 bits); `from` continues an earlier one. */
export function fingerprint(tokens: readonly number[], from = 0x811c9dc5): number {
  let hash = from;
  for (const id of tokens) hash = Math.imul(hash ^ id, 0x01000193);
  return hash;
}

/** The ids without the end-of-text id that was sampled last, if one was. */
export function withoutEnd(tokens: readonly number[], tokenizer: Tokenizer): readonly number[] {
  const last = tokens.at(-1);
  return last !== undefined && tokenizer.eosIds.includes(last) ? tokens.slice(0, -1) : tokens;
}

const quote = (text: string) => JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);
