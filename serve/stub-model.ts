import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import { rng, seedOf } from "../core/rng.ts";
import { byteTokenizer } from "../rollout/testing.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import { ServedError, type ServedModel, type ServedRequest, type ServedToken } from "./served-model.ts";
import { drawTokens } from "./stub-draw.ts";
import { adapterWeights, baseWeights, stubDistribution } from "./stub-logprobs.ts";
import { defaultMarks, placeOf, type StubScript, scripted } from "./stub-script.ts";
import { randomTurn, wordsFor } from "./stub-words.ts";

export type Milliseconds = number | { readonly from: number; readonly to: number };

export interface StubModelOptions {
  /** Default "stub". */
  readonly name?: string;
  /** Default: UTF-8 bytes. */
  readonly tokenizer?: Tokenizer;
  /** Default 32,768. */
  readonly contextTokens?: number;
  readonly chat?: ServedModel["chat"];
  /** What it says; default (and where the script has no line): random words in search and answer tags. */
  readonly script?: StubScript;
  /** Before the first token; default 0. */
  readonly latencyMs?: Milliseconds;
  /** Of each completion; default: all at once. */
  readonly tokensPerSecond?: number;
  /** Completions at a time, the others wait; default: any number. */
  readonly maxRunning?: number;
  /** "check": a folder without adapter_config.json is refused, as a server does. "ignore": any path. Default "check". */
  readonly adapterFiles?: "check" | "ignore";
  /** Draws latencies; default 0. Completions are drawn from the request's seed. */
  readonly seed?: number;
}

export interface StubModel extends ServedModel {
  /** Forgets its adapters, as a restart does. */
  forget(): void;
  /** Overrides what it says of its load. */
  pretend(load: Partial<ReturnType<ServedModel["load"]>>): void;
}

type ChatMessages = Parameters<NonNullable<ServedModel["chat"]>>;

/** Plain turns, for stubs of models without a template. */
function plainChat(...[messages, addGenerationPrompt]: ChatMessages): string {
  const said = messages.map(({ role, content }) => `${role}: ${content}\n`).join("");
  return addGenerationPrompt ? `${said}assistant: ` : said;
}

/** A model without weights: scripted or random completions, the same for the same request and seed. */
export function stubModel(options: StubModelOptions = {}): StubModel {
  const { name = "stub", tokenizer = byteTokenizer(), contextTokens = 32_768, seed = 0 } = options;
  const { script, latencyMs = 0, tokensPerSecond = Number.POSITIVE_INFINITY, chat = plainChat } = options;
  const limit = pLimit(options.maxRunning ?? Number.POSITIVE_INFINITY);
  const words = wordsFor(tokenizer);
  for (const line of script?.lines ?? []) for (const say of line.say) tokenizer.encode(say); // refuses early
  const adapters = new Map<string, { path: string; weights: string }>();
  const counts = { promptTokens: 0, generationTokens: 0, requests: 0 };
  let pretended: Partial<ReturnType<ServedModel["load"]>> = {};

  const weightsOf = (model: string): string => {
    if (model === name) return baseWeights;
    const adapter = adapters.get(model);
    if (adapter) return adapter.weights;
    throw new ServedError("unknownModel", `The model \`${model}\` does not exist. Valid aliases: ${name}.`);
  };
  const say = ({ model, prompt, params }: ServedRequest): string => {
    const text = tokenizer.decode(prompt);
    const greedy = params.temperature === 0;
    const place = placeOf(text, script ?? defaultMarks);
    // Greedy: the prompt alone decides.
    const draw = greedy ? seedOf(0, "greedy", text) : params.seed;
    const line = script && scripted(script, place, { model, seed: draw, greedy });
    return line ?? randomTurn(words, draw, place.turn);
  };
  const latency = (n: number): number => {
    if (typeof latencyMs === "number") return latencyMs;
    return latencyMs.from + (latencyMs.to - latencyMs.from) * rng(seed, "latency", n)();
  };

  return {
    name,
    tokenizer,
    contextTokens,
    chat,
    cards: () => [
      { id: name, root: name, parent: null, contextTokens },
      ...[...adapters].map(([id, { path }]) => ({ id, root: path, parent: name, contextTokens: null })),
    ],
    generate(request, signal) {
      const first = latency(counts.requests++);
      return limit(async () => {
        signal.throwIfAborted();
        const weights = weightsOf(request.model);
        const { ids, finish, stopReason } = drawTokens(tokenizer, say(request), request.params);
        const distribution = stubDistribution(weights, tokenizer.vocabSize);
        counts.promptTokens += request.prompt.length;
        let before = request.prompt.at(-1) as number;
        const tokens: ServedToken[] = [];
        if (first > 0) await sleep(first, undefined, { signal });
        const wait = 1000 / tokensPerSecond;
        const began = performance.now();
        for (const id of ids) {
          const token = scoredToken(distribution, before, id, request.params);
          const due = began + wait * tokens.length - performance.now();
          if (request.onToken && wait > 0 && due > 1) await sleep(due, undefined, { signal });
          tokens.push(token);
          counts.generationTokens++;
          request.onToken?.(token);
          before = id;
        }
        if (!request.onToken && wait > 0) await sleep(wait * ids.length, undefined, { signal });
        return { tokens, finish, ...(stopReason === undefined ? {} : { stopReason }) };
      });
    },
    async score(model, tokens, top, signal) {
      signal.throwIfAborted();
      const distribution = stubDistribution(weightsOf(model), tokenizer.vocabSize);
      counts.promptTokens += tokens.length;
      return tokens.slice(1).map((id, i) => ({
        ...scoredToken(distribution, tokens[i] as number, id, { temperature: 1, topLogprobs: top }),
        rank: 1,
      }));
    },
    async loadAdapter(id, path) {
      if (adapters.has(id)) throw new ServedError("adapterExists", `${id} is loaded`);
      if (options.adapterFiles !== "ignore" && !existsSync(join(path, "adapter_config.json")))
        throw new ServedError("adapterMissing", `no adapter at ${path}`);
      adapters.set(id, { path, weights: adapterWeights(path) });
    },
    async unloadAdapter(id) {
      if (!adapters.delete(id)) throw new ServedError("adapterUnknown", `${id} is not loaded`);
    },
    load: () => ({
      running: limit.activeCount,
      waiting: limit.pendingCount,
      kvCacheUsage: 0,
      preemptions: 0,
      ...counts,
      ...pretended,
    }),
    async close() {
      adapters.clear();
    },
    forget: () => adapters.clear(),
    pretend(load) {
      pretended = load;
    },
  };
}

function scoredToken(
  distribution: ReturnType<typeof stubDistribution>,
  before: number,
  id: number,
  { temperature, topLogprobs }: { temperature: number; topLogprobs: number },
): ServedToken {
  const logprob = distribution.of(before, id, temperature);
  const other = topLogprobs > 1 ? distribution.ofOthers(before, id, temperature) : 0;
  const rest = Array.from({ length: topLogprobs }, (_, i) => i).filter((each) => each !== id);
  const top = [{ id, logprob }, ...rest.map((each) => ({ id: each, logprob: other }))].slice(0, topLogprobs);
  return { id, logprob, top };
}
