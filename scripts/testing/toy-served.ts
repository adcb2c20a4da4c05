import { openEngine } from "../../engine/open.ts";
import { createApi } from "../../serve/api.ts";
import { apiError } from "../../serve/api-error.ts";
import { type FaultName, faults, type NodeSide } from "../../serve/faults.ts";
import { listen } from "../../serve/listen.ts";
import type { ServedModel } from "../../serve/served-model.ts";
import { type ServedPolicyOptions, servedPolicy } from "../../serve/served-policy.ts";
import { openModel } from "../open-model.ts";

/** A request as a test sees it: of completions and of loading and unloading adapters alone. */
export interface ServedCall {
  readonly what: "load" | "unload" | "generate" | "score";
  /** Model or adapter. */
  readonly name: string;
}

export interface ServedOptions extends Pick<ServedPolicyOptions, "contextTokens" | "maxAdapters"> {
  readonly apiKey?: string;
  readonly allowAdapters?: boolean;
  /** What goes wrong with a call, as with a stub; `slow` and `loadSlow` are not. */
  readonly fault?: (call: ServedCall) => FaultName | undefined;
  /** Called before a request is answered, which waits for it. */
  readonly before?: (call: ServedCall) => unknown;
}

/** A real server of a model folder, in this process. */
export interface ToyServed {
  readonly url: string;
  /** In the order they came, struck ones included: "load NAME". */
  readonly calls: readonly string[];
  /** Names of the adapters that it holds. */
  adapters(): string[];
  /** Adapters are forgotten and connections broken. */
  restart(): Promise<void>;
}

export interface Serving {
  start(o?: ServedOptions): Promise<ToyServed>;
  close(): Promise<void>;
}

/** Servers of one model folder by our own API, as `base`, on free ports of the loopback. */
export async function serving(folder: string): Promise<Serving> {
  const engine = await openEngine({ threads: 1, maxSessions: 400 });
  const { policy, tokenizer } = openModel(folder);
  const closing: (() => Promise<void>)[] = [];
  return {
    async start(o = {}) {
      const model = servedPolicy({ engine, policy, tokenizer, name: "base", ...o });
      const served = await start(model, o);
      closing.push(served.close, () => model.close());
      return served;
    },
    async close() {
      for (const close of closing) await close();
      await engine.dispose();
    },
  };
}

async function start(model: ServedModel, o: ServedOptions): Promise<ToyServed & { close(): Promise<void> }> {
  const api = createApi({ model, apiKey: o.apiKey, allowAdapters: o.allowAdapters ?? true });
  const calls: string[] = [];
  const adapters = () => model.cards().flatMap(({ id, parent }) => (parent === null ? [] : [id]));
  const restart = async () => {
    for (const name of adapters()) await model.unloadAdapter(name);
    server.breakConnections();
  };
  const handle = async (request: Request, node: NodeSide): Promise<Response> => {
    const path = new URL(request.url).pathname;
    const call = request.method === "POST" ? callOf(path, await request.clone().text()) : undefined;
    if (call) {
      calls.push(`${call.what} ${call.name}`);
      await o.before?.(call);
    }
    const answer = async () => api.fetch(request, node);
    const fault = call && o.fault?.(call);
    if (!fault) return answer();
    return faults[fault].strike({ request, node, answer, restart: () => void restart(), delayMs: 0 });
  };
  const failed = (error: unknown) => Response.json(apiError(error).body, { status: 500 });
  const fetch = (request: Request, node: unknown) => handle(request, node as NodeSide).catch(failed);
  const server = await listen({ fetch }, { port: 0 });
  return { url: server.url, calls, adapters, restart, close: server.close };
}

function callOf(path: string, text: string): ServedCall | undefined {
  const body = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (path === "/v1/load_lora_adapter") return { what: "load", name: String(body.lora_name) };
  if (path === "/v1/unload_lora_adapter") return { what: "unload", name: String(body.lora_name) };
  if (!/^\/v1\/(chat\/)?completions$/.test(path)) return undefined;
  return { what: typeof body.prompt_logprobs === "number" ? "score" : "generate", name: String(body.model) };
}
