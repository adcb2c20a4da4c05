import { z } from "zod";
import type { Connection } from "./connection.ts";
import type { Driver, GenerateRequest, Generation } from "./driver.ts";
import { EndpointError } from "./error.ts";
import { malformed, parseReply } from "./failure.ts";
import { checked, checkedScores, gaveUp, modelCards, readLoad, tokenId } from "./reply.ts";

/** [logprob, id, text or null]; the logprob of a prompt's first token is null. */
const scored = z.tuple([z.number(), tokenId]).rest(z.unknown());
const finishSchema = z.object({
  type: z.string(),
  matched: z.unknown().optional(),
  message: z.string().nullish(),
});
const replySchema = z.object({
  output_ids: z.array(tokenId).nullish(),
  meta_info: z.object({
    finish_reason: finishSchema,
    output_token_logprobs: z.array(scored),
    input_token_logprobs: z.array(z.tuple([z.number().nullable(), tokenId]).rest(z.unknown())).nullish(),
  }),
});
type Finish = z.infer<typeof finishSchema>;

const whereOf = (at: Connection) => `POST ${at.url}/generate`;

/** Names of base models, by server: their requests name no adapter. A server that restarts keeps its model. */
const baseModels = new WeakMap<Connection, ReadonlySet<string>>();

async function isBase(at: Connection, model: string, signal: AbortSignal): Promise<boolean> {
  let known = baseModels.get(at);
  if (known === undefined) {
    const cards = await modelCards(at, signal);
    known = new Set(cards.filter(({ parent }) => parent === undefined).map(({ id }) => id));
    baseModels.set(at, known);
  }
  return known.has(model);
}

async function generate(
  at: Connection,
  { model, prompt, params }: GenerateRequest,
  logprobStart: number,
  signal: AbortSignal,
) {
  const { temperature, topP, topK, maxTokens, stop, seed } = params;
  const body = {
    input_ids: prompt,
    ...(!(await isBase(at, model, signal)) && { lora_path: model }),
    sampling_params: {
      max_new_tokens: maxTokens,
      min_new_tokens: 0,
      n: 1,
      sampling_seed: seed,
      temperature,
      top_p: topP,
      top_k: topK === 0 ? -1 : topK,
      min_p: 0,
      repetition_penalty: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      ignore_eos: false,
      stop,
      stop_token_ids: [],
      no_stop_trim: true,
      skip_special_tokens: false,
      spaces_between_special_tokens: false,
    },
    return_logprob: true,
    logprob_start_len: logprobStart,
    top_logprobs_num: 0,
    return_text_in_logprobs: false,
    stream: false,
  };
  try {
    return parseReply(replySchema, await at.call("POST", "/generate", { body, signal }), whereOf(at));
  } catch (error) {
    throw missingAdapter(error) ?? error;
  }
}

/** SGLang answers 400 for an adapter that it does not hold, where others answer 404. */
function missingAdapter(error: unknown): EndpointError | undefined {
  if (!(error instanceof EndpointError) || error.kind !== "refused") return undefined;
  if (!/lora.*(not loaded|never been loaded)/isu.test(error.message)) return undefined;
  return new EndpointError("missingModel", error.complaint, error.status);
}

const finishes: Readonly<Record<string, (finish: Finish) => Generation["finish"]>> = {
  length: () => "length",
  stop: ({ matched }) => (typeof matched === "string" ? "stop" : "eos"),
};

/** `output_ids` may lack what the server trimmed from the end; the logprobs' ids are whole. */
function checkIds(ids: readonly number[] | null | undefined, tokens: readonly number[], where: string): void {
  if (ids != null && !ids.every((id, i) => id === tokens[i]))
    throw malformed(where, "output_ids and output_token_logprobs name different tokens");
}

async function post(
  at: Connection,
  path: string,
  body: unknown,
  signal: AbortSignal,
): Promise<string | undefined> {
  const where = `POST ${at.url}${path}`;
  const reply = parseReply(
    z.object({ success: z.boolean(), error_message: z.string().nullish() }),
    await at.call("POST", path, { body, signal }),
    where,
  );
  return reply.success ? undefined : (reply.error_message ?? "no reason given");
}

function refused(at: Connection, path: string, got: string): EndpointError {
  return new EndpointError("refused", {
    what: "the server did not take the adapter",
    where: at.url + path,
    got,
  });
}

export const sglang: Driver = {
  name: "sglang",
  // The reply does not say which adapter made it; `weight_version` is the base model's.
  capabilities: { tokenIds: true, logprobs: true, promptLogprobs: true, adapters: true, namesModel: false },

  async generate(at, request, signal) {
    const where = whereOf(at);
    const { output_ids, meta_info } = await generate(at, request, -1, signal);
    const { finish_reason, output_token_logprobs } = meta_info;
    const finish = finishes[finish_reason.type]?.(finish_reason);
    if (finish === undefined) throw gaveUp(where, finish_reason.type, finish_reason.message ?? undefined);
    const tokens = output_token_logprobs.map(([, id]) => id);
    checkIds(output_ids, tokens, where);
    const logprobs = output_token_logprobs.map(([logprob]) => logprob);
    return checked({ tokens, logprobs, finish }, request.params.maxTokens, where);
  },

  async score(at, model, tokens, signal) {
    if (tokens.length < 2) return [];
    const params = { temperature: 1, topP: 1, topK: 0, maxTokens: 1, stop: [], seed: 0 };
    const { meta_info } = await generate(at, { model, prompt: tokens, params }, 0, signal);
    const scores = (meta_info.input_token_logprobs ?? [])
      .slice(1)
      .map(([logprob, id], i) => (id === tokens[i + 1] ? (logprob ?? Number.NaN) : Number.NaN));
    return checkedScores(scores, tokens.length, whereOf(at));
  },

  models: modelCards,

  async loadAdapter(at, { name, path }, signal) {
    const body = { lora_name: name, lora_path: path };
    const failure = await post(at, "/load_lora_adapter", body, signal);
    if (failure !== undefined) throw refused(at, "/load_lora_adapter", failure);
  },

  async unloadAdapter(at, name, signal) {
    const unknown = /not loaded|never been loaded|does not exist|not found/iu;
    try {
      const failure = await post(at, "/unload_lora_adapter", { lora_name: name }, signal);
      if (failure !== undefined) throw refused(at, "/unload_lora_adapter", failure);
    } catch (error) {
      const gone =
        error instanceof EndpointError &&
        error.kind === "refused" &&
        error.complaint.got?.includes(name) &&
        unknown.test(error.complaint.got ?? "");
      if (!gone) throw error;
    }
  },

  load: (at, signal) =>
    readLoad(
      at,
      {
        running: "sglang:num_running_reqs",
        waiting: "sglang:num_queue_reqs",
        kvCacheUsage: "sglang:token_usage",
        preemptions: "sglang:num_retracted_reqs",
      },
      signal,
    ),
};
