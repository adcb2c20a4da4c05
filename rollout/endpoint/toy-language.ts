/** Public toy for tests of endpoints: a language model of a dozen letters, as deterministic as a table. */
import { rng } from "../../core/rng.ts";
import { byteTokenizer } from "../testing.ts";

const alphabet = [..."abcdefghij </>"].map((letter) => letter.charCodeAt(0));
export const eos = 256;
const tokenizer = byteTokenizer();

const known = new Map<string, Map<number, number>>();

/** Logprobs of the next token at a temperature, one for each of `alphabet` and the end of text. */
function distribution(model: string, last: number, temperature: number): Map<number, number> {
  const key = `${model} ${last} ${temperature}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const ids = [...alphabet, eos];
  const logits = ids.map((id) => (id === eos ? -1 : 4 * rng(1, "toy", model, last, id)()) / temperature);
  const most = Math.max(...logits);
  const total = most + Math.log(logits.reduce((sum, each) => sum + Math.exp(each - most), 0));
  const made = new Map(ids.map((id, i) => [id, (logits[i] as number) - total]));
  known.set(key, made);
  return made;
}

export interface ToyRequest {
  readonly model: string;
  readonly prompt: readonly number[];
  readonly maxTokens: number;
  readonly temperature: number;
  readonly seed: number;
  readonly stop: readonly string[];
}

export interface ToyCompletion {
  readonly tokens: number[];
  readonly logprobs: number[];
  readonly finish: "stop" | "length";
  readonly stop: string | null;
}

/** The toy's completion, without a server around it. */
export function toyComplete(
  r: ToyRequest,
  o: { readonly contextTokens?: number; readonly raw?: boolean } = {},
): ToyCompletion {
  const tokens: number[] = [];
  const logprobs: number[] = [];
  const most = Math.min(r.maxTokens, (o.contextTokens ?? 2_048) - r.prompt.length);
  for (let t = 0; t < most; t++) {
    const last = tokens.at(-1) ?? (r.prompt.at(-1) as number);
    const greedy = r.temperature === 0;
    const chances = distribution(r.model, last, greedy ? 1 : r.temperature);
    const id = greedy ? likeliest(chances) : draw(chances, rng(r.seed, "toy", t)());
    tokens.push(id);
    logprobs.push((o.raw ? distribution(r.model, last, 1) : chances).get(id) as number);
    if (id === eos) return { tokens, logprobs, finish: "stop", stop: null };
    const text = tokenizer.decode(tokens);
    const stop = r.stop.find((each) => text.endsWith(each));
    if (stop !== undefined) return { tokens, logprobs, finish: "stop", stop };
  }
  return { tokens, logprobs, finish: "length", stop: null };
}

const likeliest = (chances: Map<number, number>) =>
  [...chances].reduce((best, each) => (each[1] > best[1] ? each : best))[0];

function draw(chances: Map<number, number>, u: number): number {
  let below = 0;
  for (const [id, logprob] of chances) {
    below += Math.exp(logprob);
    if (u < below) return id;
  }
  return eos;
}

/** Logprobs of a given text at temperature 1; null for the first token, and for a token the toy cannot say. */
export function toyScore(model: string, tokens: readonly number[]): (number | null)[] {
  return tokens.map((id, t) =>
    t === 0 ? null : (distribution(model, tokens[t - 1] as number, 1).get(id) ?? -20),
  );
}
