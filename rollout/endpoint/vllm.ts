import { z } from "zod";
import type { Connection } from "./connection.ts";
import type { Driver, GenerateRequest, Generation } from "./driver.ts";
import { EndpointError } from "./error.ts";
import { endpointFailure, malformed, parseReply } from "./failure.ts";
import { Leash } from "./leash.ts";
import { checked, checkedScores, gaveUp, modelCards, readLoad, tokenId } from "./reply.ts";

const logprobEntry = z.object({ logprob: z.number() });

const choiceSchema = z.object({
  token_ids: z.array(tokenId),
  logprobs: z.object({ token_logprobs: z.array(z.number()) }),
  finish_reason: z.string(),
  /** The stop string, the id of a stop token, or null for the end of text. */
  stop_reason: z.union([z.string(), z.number(), z.null()]).optional(),
  /** Compared with what was sent, so that each id need not be looked at twice. */
  prompt_token_ids: z.custom<readonly unknown[]>(Array.isArray, "expected an array").nullish(),
  /** One object for each prompt position, keyed by id; null at the first. */
  prompt_logprobs: z.array(z.record(z.string(), logprobEntry).nullable()).nullish(),
});
const replySchema = z.object({ model: z.string(), choices: z.array(choiceSchema).length(1) });
type Choice = z.infer<typeof choiceSchema>;

const whereOf = (at: Connection) => `POST ${at.url}/v1/completions`;

/** Every field that shapes the distribution is said, so that no default of the server or the model leaks in. */
function bodyOf({ model, prompt, params }: GenerateRequest) {
  const { temperature, topP, topK, maxTokens, stop, seed } = params;
  return {
    model,
    prompt: [...prompt],
    max_tokens: maxTokens,
    min_tokens: 0,
    n: 1,
    seed,
    temperature,
    top_p: topP,
    top_k: topK,
    min_p: 0,
    repetition_penalty: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    ignore_eos: false,
    stop: [...stop],
    stop_token_ids: [] as number[],
    include_stop_str_in_output: true,
    skip_special_tokens: false,
    spaces_between_special_tokens: false,
    add_special_tokens: false,
    logprobs: 0,
    prompt_logprobs: null as number | null,
    return_token_ids: true,
    return_tokens_as_token_ids: false,
    stream: false as const,
  };
}

/** One request, and its only choice. @throws EndpointError */
async function complete(
  at: Connection,
  body: ReturnType<typeof bodyOf>,
  signal: AbortSignal,
): Promise<Choice> {
  const where = whereOf(at);
  // The client never takes its listener off a signal.
  const leash = new Leash(signal);
  let reply: unknown;
  try {
    // vLLM's fields that OpenAI does not have are ordinary keys.
    reply = await at.openai.completions.create(body as typeof body & { seed: number }, {
      signal: leash.signal,
    });
  } catch (error) {
    throw endpointFailure(error, where, signal);
  } finally {
    leash.release();
  }
  const { model, choices } = parseReply(replySchema, reply, where);
  if (model !== body.model)
    throw malformed(where, "another model answered", { got: model, expected: body.model });
  const [choice] = choices as [Choice];
  const seen = choice.prompt_token_ids;
  if (seen != null && !same(seen, body.prompt))
    throw malformed(where, "the server saw another prompt than was sent", {
      got: `${seen.length} tokens: ${seen.slice(0, 8).join(" ")} …`,
      expected: `${body.prompt.length} tokens: ${body.prompt.slice(0, 8).join(" ")} …`,
    });
  return choice;
}

const same = (a: readonly unknown[], b: readonly number[]) =>
  a.length === b.length && a.every((id, i) => id === b[i]);

/** `stop` is also how vLLM writes the end of text. */
const finishes: Readonly<Record<string, (choice: Choice) => Generation["finish"]>> = {
  length: () => "length",
  stop: ({ stop_reason }) => (typeof stop_reason === "string" ? "stop" : "eos"),
};

export const vllm: Driver = {
  name: "vllm",
  capabilities: { tokenIds: true, logprobs: true, promptLogprobs: true, adapters: true, namesModel: true },

  async generate(at, request, signal) {
    const where = whereOf(at);
    const choice = await complete(at, bodyOf(request), signal);
    const finish = finishes[choice.finish_reason]?.(choice);
    if (finish === undefined) throw gaveUp(where, choice.finish_reason);
    return checked(
      {
        tokens: choice.token_ids,
        logprobs: choice.logprobs.token_logprobs,
        finish,
        model: request.model,
      },
      request.params.maxTokens,
      where,
    );
  },

  async score(at, model, tokens, signal) {
    if (tokens.length < 2) return [];
    const params = { temperature: 1, topP: 1, topK: 0, maxTokens: 1, stop: [], seed: 0 };
    const body = { ...bodyOf({ model, prompt: tokens, params }), prompt_logprobs: 0 };
    const { prompt_logprobs } = await complete(at, body, signal);
    // A position may hold the likeliest tokens too: the one that stands there counts.
    const scores = (prompt_logprobs ?? [])
      .slice(1)
      .map((at, i) => at?.[String(tokens[i + 1])]?.logprob ?? Number.NaN);
    return checkedScores(scores, tokens.length, whereOf(at));
  },

  models: modelCards,

  async loadAdapter(at, { name, path }, signal) {
    await at.call("POST", "/v1/load_lora_adapter", { body: { lora_name: name, lora_path: path }, signal });
  },

  async unloadAdapter(at, name, signal) {
    try {
      await at.call("POST", "/v1/unload_lora_adapter", { body: { lora_name: name }, signal });
    } catch (error) {
      const unknown =
        error instanceof EndpointError && error.status === 404 && error.complaint.got?.includes(name);
      if (!unknown) throw error;
    }
  },

  load: (at, signal) =>
    readLoad(
      at,
      {
        running: "vllm:num_requests_running",
        waiting: "vllm:num_requests_waiting",
        kvCacheUsage: "vllm:kv_cache_usage_perc",
        preemptions: "vllm:num_preemptions_total",
      },
      signal,
    ),
};
