/** Public toys for tests and benches of rollouts: a tokenizer without files, samplers that follow a script. */
import { SamplerError } from "../core/errors.ts";
import type { Finish } from "../env/environment.ts";
import type { BatchSampler, Completion, SampleRequest, Sampler } from "./sampler.ts";
import type { Renderer, Tokenizer } from "./tokenizer.ts";

const eos = 256;

/** UTF-8 bytes as tokens: exact for every text, and it can cut a character in half. `<eos>` is one token. */
export function byteTokenizer(): Tokenizer {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const bytes = (text: string): number[] => Array.from(Buffer.from(text));
  const decode = (ids: readonly number[]): string => {
    const at = ids.indexOf(eos);
    if (at < 0) return decoder.decode(Uint8Array.from(ids));
    return `${decoder.decode(Uint8Array.from(ids.slice(0, at)))}<eos>${decode(ids.slice(at + 1))}`;
  };
  return {
    fingerprint: "bytes",
    vocabSize: 258,
    eosIds: [eos],
    padId: 257,
    encode: (text) =>
      text.includes("<eos>")
        ? text.split("<eos>").flatMap((part, i) => (i === 0 ? bytes(part) : [eos, ...bytes(part)]))
        : bytes(text),
    decode,
  };
}

/** "question: …" and observations as they are. */
export function toyRenderer(tokenizer: Tokenizer): Renderer {
  return {
    prompt: (question) => tokenizer.encode(`question: ${question}\n`),
    observation: (text) => text,
  };
}

/** What a scripted policy says to a request: a text, a text that ends in a manner of its own, or a failure. */
export type Line = string | { readonly text: string; readonly finish: Finish } | Error;

/** `turn` counts the requests of a sequence from 0. */
export type Script = (request: SampleRequest, turn: number) => Line;

export interface ScriptedOptions {
  /** Default 1,000,000. */
  readonly contextTokens?: number;
  /** Read at each request; default 0. */
  readonly version?: () => number;
}

export interface ScriptedSampler extends Sampler, BatchSampler {
  /** All requests, in the order they came. */
  readonly requests: readonly SampleRequest[];
  /** Sequences of each batch, in order. */
  readonly batches: readonly (readonly string[])[];
  readonly released: readonly string[];
}

/** A sampler that follows a script, alone or in batches. An Error in a batch fails the whole batch. */
export function scriptedSampler(
  tokenizer: Tokenizer,
  script: Script,
  { contextTokens = 1_000_000, version = () => 0 }: ScriptedOptions = {},
): ScriptedSampler {
  const requests: SampleRequest[] = [];
  const batches: string[][] = [];
  const released: string[] = [];
  const turns = new Map<string, number>();
  const answer = (request: SampleRequest): Completion => {
    requests.push(request);
    const turn = turns.get(request.sequence) ?? 0;
    turns.set(request.sequence, turn + 1);
    const line = script(request, turn);
    if (line instanceof Error) throw line;
    return completionOf(line, request, tokenizer, version());
  };
  return {
    contextTokens,
    requests,
    batches,
    released,
    async sample(request, signal) {
      signal?.throwIfAborted();
      return answer(request);
    },
    async sampleBatch(list, signal) {
      signal?.throwIfAborted();
      batches.push(list.map((request) => request.sequence));
      return list.map(answer);
    },
    release(sequence) {
      turns.delete(sequence);
      released.push(sequence);
    },
  };
}

/** The same policy without batches, as a server is. */
export function unbatched({ contextTokens, sample, release }: ScriptedSampler): Sampler {
  return { contextTokens, sample, release };
}

/** The same lines for every episode, by turn; a SamplerError when they are over. */
export function lines(list: readonly Line[]): Script {
  return (request, turn) =>
    list[turn] ??
    new SamplerError({ what: "the script is over", where: request.sequence, got: `turn ${turn + 1}` });
}

/** Tokens of a said text: cut after its first stop string, or at the token limit, else ended by end of text. */
export function completionOf(
  line: Exclude<Line, Error>,
  { params }: SampleRequest,
  tokenizer: Tokenizer,
  version: number,
): Completion {
  const said = typeof line === "string" ? stopped(line, params.stop) : line;
  const tokens = tokenizer.encode(said.text);
  if (said.finish === "eos") tokens.push(tokenizer.eosIds[0] as number);
  const finish = tokens.length > params.maxTokens ? "length" : said.finish;
  tokens.length = Math.min(tokens.length, params.maxTokens);
  const ended = finish === "eos" ? tokens.slice(0, -1) : tokens;
  return {
    tokens,
    logprobs: tokens.map(() => -1),
    text: tokenizer.decode(ended),
    finish,
    version,
  };
}

function stopped(text: string, stop: readonly string[]): { text: string; finish: Finish } {
  const ends = stop.flatMap((s) => (text.includes(s) ? [text.indexOf(s) + s.length] : []));
  return ends.length > 0
    ? { text: text.slice(0, Math.min(...ends)), finish: "stop" }
    : { text, finish: "eos" };
}
