/**
 * Opt-in: our API over a model that repeats what a real vLLM sampled must say what vLLM said, to the last field.
 * FORAGER_SHARED_DATA names a folder with vllm/*.json ({ request, status, headers, response }), FORAGER_MODEL the folder
 * of the model that was served then (its tokenizer and chat template).
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Template } from "@huggingface/jinja";
import { expect, test } from "vitest";
import { loadTokenizer } from "../rollout/hf-tokenizer.ts";
import { loadChatTemplate } from "../rollout/renderer.ts";
import { byteTokenizer } from "../rollout/testing.ts";
import { createApi } from "./api.ts";
import { readAnswer } from "./contract-shape.ts";
import { ServedError, type ServedModel, type ServedToken } from "./served-model.ts";

const { FORAGER_SHARED_DATA: data = "", FORAGER_MODEL: model = "" } = process.env;
const folder = join(data, "vllm");
const ready = data !== "" && model !== "" && existsSync(folder);
const tokenizer = ready ? loadTokenizer(model) : byteTokenizer();
const files = ready
  ? readdirSync(folder).filter((name) => name.endsWith(".json"))
  : ["FORAGER_SHARED_DATA and FORAGER_MODEL are not set"];

test.skipIf(!ready).each(files)("%s", async (file) => {
  const recording = JSON.parse(readFileSync(join(folder, file), "utf8")) as Recording;
  const { request, status, headers, response } = recording;
  const app = createApi({ model: repeating(recording, file) });
  const sent = { method: request.method, headers: { "content-type": "application/json" } };
  const body = request.body === null ? {} : { body: JSON.stringify(request.body) };
  const got = await app.request(request.path, { ...sent, ...body });
  const media = headers["content-type"]?.split(";")[0];
  expect(got.status).toBe(status);
  const expected = typeof response === "string" ? readAnswer(media, response) : response;
  expect(named(readAnswer(media, await got.text()))).toEqual(named(expected));
});

interface Recording {
  readonly request: { readonly method: string; readonly path: string; readonly body: Body | null };
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly response: unknown;
}

interface Body {
  readonly model?: string;
  readonly lora_name?: string;
  readonly lora_path?: string;
}

/** Without what names the one reply: ids, times, the server. */
function named(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) =>
      key === "created" ||
      (typeof inner === "string" && /^(cmpl|chatcmpl|modelperm|vllm|forager)-/.test(inner))
        ? "*"
        : inner,
    ),
  );
}

interface RecordedChoice {
  readonly token_ids: readonly number[];
  readonly finish_reason: string | null;
  readonly stop_reason: string | number | null;
  readonly logprobs: {
    readonly token_logprobs?: readonly (number | null)[];
    readonly top_logprobs?: readonly (Readonly<Record<string, number>> | null)[];
    readonly content?: readonly { readonly logprob: number }[];
  } | null;
  readonly prompt_logprobs?:
    | readonly (Readonly<Record<string, { logprob: number; rank: number }>> | null)[]
    | null;
}

/** The choices of a reply; of a stream its chunks joined. */
function choicesOf(response: unknown): RecordedChoice[] {
  if (typeof response !== "string") return (response as { choices?: RecordedChoice[] }).choices ?? [];
  if (!response.startsWith("data:")) return [];
  const { events } = readAnswer("text/event-stream", response) as { events: { choices: RecordedChoice[] }[] };
  const parts = events.flatMap(({ choices }) => choices);
  const last = parts.at(-1);
  if (!last) return [];
  const logprobs = {
    token_logprobs: parts.flatMap((part) => part.logprobs?.token_logprobs ?? []),
    top_logprobs: parts.flatMap((part) => part.logprobs?.top_logprobs ?? []),
  };
  return [{ ...last, token_ids: parts.flatMap((part) => part.token_ids), logprobs }];
}

function repeating({ request, response, status }: Recording, file: string): ServedModel {
  const template = loadChatTemplate(model);
  const choices = choicesOf(response);
  const adapters = new Map<string, string>();
  const { body } = request;
  const has = (name: string) => adapters.set(name, `/models/adapters/${name.replace("run-", "")}`);
  if (body?.model?.startsWith("run-") && status !== 404) has(body.model);
  if (/again|inplace|^unload_v/.test(file) && body?.lora_name) has(body.lora_name);
  if (file.startsWith("models_with")) for (const name of ["run-v1", "run-v2"]) has(name);
  let next = 0;

  const idOf = (name: string) =>
    name.startsWith("token_id:") ? Number(name.slice(9)) : (tokenizer.encode(name)[0] as number);
  const tokensOf = ({ token_ids, logprobs }: RecordedChoice): ServedToken[] =>
    token_ids.map((id, i) => {
      const logprob = logprobs?.token_logprobs?.[i] ?? logprobs?.content?.[i]?.logprob ?? -1;
      const top = Object.entries(logprobs?.top_logprobs?.[i] ?? {}).map(([name, value]) => ({
        id: idOf(name),
        logprob: value,
      }));
      return { id, logprob, top };
    });
  return {
    name: "base",
    tokenizer,
    contextTokens: 2048,
    chat: (messages, addGenerationPrompt) =>
      new Template(template?.source ?? "").render({
        messages: messages.map((each) => ({ ...each })),
        add_generation_prompt: addGenerationPrompt,
      }),
    cards: () => [
      { id: "base", root: "smollm2-135m-instruct-f32", parent: null, contextTokens: 2048 },
      ...[...adapters].map(([id, root]) => ({ id, root, parent: "base", contextTokens: null })),
    ],
    async generate({ onToken }) {
      const choice = choices[next++] as RecordedChoice;
      const tokens = tokensOf(choice);
      for (const token of tokens) onToken?.(token);
      const { finish_reason, stop_reason } = choice;
      const ended = stop_reason === null ? "eos" : "stop";
      const finish = finish_reason === "length" ? "length" : ended;
      return { tokens, finish, ...(stop_reason === null ? {} : { stopReason: stop_reason }) };
    },
    async score(_model, tokens, top) {
      const list = choices[0]?.prompt_logprobs?.slice(1) ?? [];
      return list.map((entry, i) => {
        const id = tokens[i + 1] as number;
        const all = Object.entries(entry ?? {}).map(([key, each]) => ({ id: Number(key), ...each }));
        const own = all.find((each) => each.id === id) ?? { logprob: 0, rank: 0 };
        const likeliest = all.filter(({ rank }) => rank <= top).sort((a, b) => a.rank - b.rank);
        return { id, logprob: own.logprob, rank: own.rank, top: likeliest };
      });
    },
    async loadAdapter(name, path) {
      if (path.endsWith("none")) throw new ServedError("adapterMissing", "none");
      adapters.set(name, path);
    },
    async unloadAdapter(name) {
      adapters.delete(name);
    },
    load: () => ({
      ...{ running: 0, waiting: 0, kvCacheUsage: 0, promptTokens: 0 },
      ...{ generationTokens: 0, preemptions: 0, requests: 0 },
    }),
    async close() {},
  };
}
