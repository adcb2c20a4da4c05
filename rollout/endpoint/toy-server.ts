/** Public toys for tests of endpoints: the toy language model behind the APIs of real servers, with faults. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { DriverName } from "./driver.ts";
import { eos, toyComplete, toyScore } from "./toy-language.ts";

/** What goes wrong with a request instead of its answer; a function changes the answer. */
export type Fault =
  | { readonly status: number; readonly body: unknown }
  | "reset"
  | "half"
  | "hang"
  | ((reply: Record<string, unknown>) => unknown);

export interface ToyOptions {
  readonly make?: DriverName;
  readonly contextTokens?: number;
  /** Logprobs before temperature, as vLLM gives by default. */
  readonly raw?: boolean;
  /** Asked at each generation, counted from 0. */
  readonly fault?: (n: number, body: Record<string, unknown>) => Fault | undefined;
  /** Text of GET /metrics. */
  readonly metrics?: string;
}

export interface ToyServer {
  readonly url: string;
  /** Bodies of all generations, in the order they came. */
  readonly requests: readonly Record<string, unknown>[];
  /** Connections that the client closed before they were answered. */
  readonly dropped: () => number;
  readonly headers: readonly http.IncomingHttpHeaders[];
  /** Adapters, name to folder. */
  readonly adapters: Map<string, string>;
  close(): Promise<void>;
}

type Body = Record<string, unknown>;
/** Path → answer; undefined: no such path. */
type Api = (path: string, body: Body, server: ToyServer, o: ToyOptions) => Answer | undefined;
interface Answer {
  readonly status?: number;
  readonly body: unknown;
}

const error = (status: number, type: string, message: string, param: string | null = null): Answer => ({
  status,
  body: { error: { message, type, param, code: status } },
});

const cards = (owned_by: string, { adapters }: ToyServer, contextTokens = 2_048): Answer => ({
  body: {
    object: "list",
    data: [
      { id: "base", owned_by, root: "toy", parent: null, max_model_len: contextTokens },
      ...[...adapters].map(([id, root]) => ({ id, owned_by, root, parent: "base", max_model_len: null })),
    ],
  },
});

const vllmApi: Api = (path, body, server, o) => {
  const name = body.lora_name as string;
  if (path === "/v1/models") return cards("vllm", server, o.contextTokens);
  if (path === "/v1/load_lora_adapter") {
    if (body.lora_path === "/none")
      return error(404, "NotFoundError", "Loading lora failed: No adapter found for /none");
    server.adapters.set(name, body.lora_path as string);
    return { body: `Success: LoRA adapter '${name}' added successfully.` };
  }
  if (path === "/v1/unload_lora_adapter")
    return server.adapters.delete(name)
      ? { body: `Success: LoRA adapter '${name}' removed successfully.` }
      : error(404, "NotFoundError", `The lora adapter '${name}' cannot be found.`);
  if (path !== "/v1/completions") return undefined;
  const model = body.model as string;
  const prompt = body.prompt as number[];
  if (model !== "base" && !server.adapters.has(model))
    return error(404, "NotFoundError", `The model \`${model}\` does not exist.`, "model");
  if (prompt.length >= (o.contextTokens ?? 2_048))
    return error(400, "BadRequestError", "max_tokens must be at least 1, got 0.", "max_tokens");
  const made = toyComplete(
    {
      ...{ model, prompt, maxTokens: body.max_tokens as number, temperature: body.temperature as number },
      ...{ seed: body.seed as number, stop: body.stop as string[] },
    },
    o,
  );
  const scores = body.prompt_logprobs === 0 ? toyScore(model, prompt) : null;
  const choice = {
    index: 0,
    text: "the client must not read this",
    logprobs: { token_logprobs: made.logprobs },
    finish_reason: made.finish,
    stop_reason: made.stop,
    token_ids: made.tokens,
    prompt_token_ids: prompt,
    prompt_logprobs:
      scores?.map((logprob, i) => (logprob === null ? null : { [String(prompt[i])]: { logprob } })) ?? null,
  };
  return { body: { id: "cmpl-1", object: "text_completion", model, choices: [choice] } };
};

const sglangApi: Api = (path, body, server, o) => {
  const name = body.lora_name as string;
  if (path === "/v1/models") return cards("sglang", server, o.contextTokens);
  if (path === "/load_lora_adapter") {
    if (body.lora_path === "/none")
      return { status: 400, body: { success: false, error_message: "No adapter found at /none" } };
    server.adapters.set(name, body.lora_path as string);
    return { body: { success: true, loaded_adapters: Object.fromEntries(server.adapters) } };
  }
  if (path === "/unload_lora_adapter")
    return server.adapters.delete(name)
      ? { body: { success: true } }
      : { status: 400, body: { success: false, error_message: `LoRA adapter ${name} is not loaded` } };
  if (path !== "/generate") return undefined;
  const adapter = body.lora_path as string | undefined;
  if (adapter !== undefined && !server.adapters.has(adapter))
    return error(400, "BadRequest", `The following requested LoRA adapters are not loaded: ${adapter}`);
  const params = body.sampling_params as Body;
  const prompt = body.input_ids as number[];
  const model = adapter ?? "base";
  const made = toyComplete(
    {
      ...{
        model,
        prompt,
        maxTokens: params.max_new_tokens as number,
        temperature: params.temperature as number,
      },
      ...{ seed: params.sampling_seed as number, stop: params.stop as string[] },
    },
    o,
  );
  const meta_info = {
    finish_reason: { type: made.finish, ...(made.finish === "stop" && { matched: made.stop ?? eos }) },
    output_token_logprobs: made.tokens.map((id, i) => [made.logprobs[i], id, null]),
    ...(body.logprob_start_len === 0 && {
      input_token_logprobs: toyScore(model, prompt).map((logprob, i) => [logprob, prompt[i], null]),
    }),
  };
  return { body: { text: "", output_ids: made.tokens, meta_info } };
};

const stopTypes = { length: "limit", stop: "eos" } as const;

const llamaApi: Api = (path, body, server, o) => {
  if (path === "/v1/models") return cards("llamacpp", server, o.contextTokens);
  if (path === "/props")
    return { body: { default_generation_settings: { n_ctx: o.contextTokens ?? 2_048 } } };
  if (path !== "/completion") return undefined;
  const made = toyComplete(
    {
      ...{ model: "base", prompt: body.prompt as number[], maxTokens: body.n_predict as number },
      ...{ temperature: body.temperature as number, seed: body.seed as number, stop: body.stop as string[] },
    },
    o,
  );
  const stop_type = made.stop === null ? stopTypes[made.finish] : "word";
  return { body: { content: "", tokens: made.tokens, stop: true, stop_type } };
};

const apis: Readonly<Record<DriverName, Api>> = { vllm: vllmApi, sglang: sglangApi, llamacpp: llamaApi };

const generations = ["/v1/completions", "/generate", "/completion"];

/** A toy of that make on a free port of the loopback. */
export async function toyServer(o: ToyOptions = {}): Promise<ToyServer> {
  const requests: Body[] = [];
  const headers: http.IncomingHttpHeaders[] = [];
  const adapters = new Map<string, string>();
  let dropped = 0;
  const server = http.createServer(async (request, response) => {
    response.on("close", () => {
      if (!response.writableFinished) dropped++;
    });
    let text = "";
    for await (const chunk of request) text += chunk;
    headers.push(request.headers);
    const body = (text === "" ? {} : JSON.parse(text)) as Body;
    const path = request.url ?? "";
    if (path === "/metrics" && o.metrics !== undefined) return response.end(o.metrics);
    const answer = apis[o.make ?? "vllm"](path, body, toy, o);
    if (answer === undefined) return reply(response, 404, { detail: "Not Found" });
    const asked = generations.includes(path);
    const fault = asked ? o.fault?.(requests.length, body) : undefined;
    if (asked) requests.push(body);
    if (fault === undefined) return reply(response, answer.status ?? 200, answer.body);
    spoil(response, fault, answer.body as Body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const toy: ToyServer = {
    ...{ url: `http://127.0.0.1:${port}`, requests, headers, adapters, dropped: () => dropped },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return toy;
}

function reply(response: http.ServerResponse, status: number, body: unknown): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const type = typeof body === "string" ? "text/plain" : "application/json";
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text) });
  response.end(text);
}

function spoil(response: http.ServerResponse, fault: Fault, body: Body): void {
  if (typeof fault === "function") reply(response, 200, fault(structuredClone(body)));
  else if (typeof fault === "object") reply(response, fault.status, fault.body);
  else if (fault === "reset") response.socket?.destroy();
  else if (fault === "half") {
    const text = JSON.stringify(body);
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
    response.writeHead(200, headers);
    response.write(text.slice(0, text.length / 2), () => response.socket?.destroy());
  }
}
