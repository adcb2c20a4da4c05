import { z } from "zod";
import type { Connection } from "./connection.ts";
import type { Driver, Generation } from "./driver.ts";
import { EndpointError } from "./error.ts";
import { parseReply } from "./failure.ts";
import { checked, gaveUp, modelCards, readLoad, tokenId } from "./reply.ts";

const replySchema = z.object({ tokens: z.array(tokenId), stop_type: z.string() });
const propsSchema = z.object({ default_generation_settings: z.object({ n_ctx: z.int().min(1) }) });

const finishes: Readonly<Record<string, Generation["finish"]>> = {
  word: "stop",
  eos: "eos",
  limit: "length",
};

/** llama.cpp reads this one as "draw a seed". */
const randomSeed = 0xffff_ffff;

const cannot = (at: Connection, what: string) =>
  new EndpointError("refused", {
    what: `llama.cpp cannot ${what}`,
    where: at.url,
    next: "Use it for evaluation, and vLLM or SGLang for training.",
  });

/**
 * llama.cpp's own API. `tokens` holds every sampled id, those of a stop word and the end-of-text id included, though
 * `content` never shows a stop word. Its logprobs are no use to a trainer: they leave out the tokens of a stop word and
 * those that end inside a character. So it has none, as far as we are concerned, and is for evaluation alone.
 */
export const llamacpp: Driver = {
  name: "llamacpp",
  capabilities: {
    tokenIds: true,
    logprobs: false,
    promptLogprobs: false,
    adapters: false,
    namesModel: false,
  },

  async generate(at, { prompt, params }, signal) {
    const where = `POST ${at.url}/completion`;
    const { temperature, topP, topK, maxTokens, stop, seed } = params;
    const body = {
      prompt,
      n_predict: maxTokens,
      seed: seed === randomSeed ? randomSeed - 1 : seed,
      // Temperature first, as vLLM does; at 0 it leaves the likeliest token alone.
      samplers: ["temperature", "top_k", "top_p"],
      temperature,
      top_k: topK,
      top_p: topP,
      min_p: 0,
      typical_p: 1,
      dynatemp_range: 0,
      mirostat: 0,
      repeat_penalty: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      dry_multiplier: 0,
      xtc_probability: 0,
      ignore_eos: false,
      stop,
      n_probs: 0,
      return_tokens: true,
      cache_prompt: true,
      stream: false,
    };
    const reply = parseReply(replySchema, await at.call("POST", "/completion", { body, signal }), where);
    const finish = finishes[reply.stop_type];
    if (finish === undefined) throw gaveUp(where, reply.stop_type);
    return checked({ tokens: reply.tokens, logprobs: reply.tokens.map(() => 0), finish }, maxTokens, where);
  },

  async score(at) {
    throw cannot(at, "score a given text");
  },

  async models(at, signal) {
    const where = `GET ${at.url}/props`;
    const cards = await modelCards(at, signal);
    const props = parseReply(propsSchema, await at.call("GET", "/props", { signal }), where);
    const contextTokens = props.default_generation_settings.n_ctx;
    return cards.map((card) => ({ ...card, contextTokens }));
  },

  async loadAdapter(at) {
    throw cannot(at, "load an adapter while it serves");
  },

  async unloadAdapter(at) {
    throw cannot(at, "unload an adapter while it serves");
  },

  load: (at, signal) =>
    readLoad(
      at,
      {
        running: "llamacpp:requests_processing",
        waiting: "llamacpp:requests_deferred",
        kvCacheUsage: "llamacpp:kv_cache_usage_ratio",
        preemptions: "llamacpp:preemptions_total",
      },
      signal,
    ),
};
