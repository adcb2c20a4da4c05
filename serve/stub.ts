import { createApi } from "./api.ts";
import { apiError } from "./api-error.ts";
import {
  type FaultName,
  type FaultRule,
  faultAt,
  faultNames,
  faults,
  type NodeSide,
  type RequestKind,
} from "./faults.ts";
import { type Listening, listen } from "./listen.ts";
import { type StubModel, type StubModelOptions, stubModel } from "./stub-model.ts";

export interface StubOptions extends StubModelOptions {
  readonly host?: string;
  /** Default 0: any free one. */
  readonly port?: number;
  readonly apiKey?: string | undefined;
  readonly allowAdapters?: boolean;
  /** The first that applies strikes. */
  readonly faults?: readonly FaultRule[];
  /** Told of each request before it is answered. */
  readonly onRequest?: (request: { readonly method: string; readonly path: string }) => void;
}

export interface StubCounters {
  /** Requests by kind, struck ones included. */
  readonly requests: Record<RequestKind, number>;
  readonly faults: Record<FaultName, number>;
}

export interface Stub extends Pick<Listening, "url" | "port" | "close"> {
  readonly model: StubModel;
  readonly counters: StubCounters;
  /** Forgets the adapters and breaks every connection. */
  restart(): void;
}

const kinds: Readonly<Record<string, RequestKind>> = {
  "/v1/completions": "generate",
  "/v1/chat/completions": "generate",
  "/v1/load_lora_adapter": "load",
};

/** Starts a server of scripted or random completions that fails as it is told to. */
export async function startStub(options: StubOptions = {}): Promise<Stub> {
  const { host = "127.0.0.1", port = 0, seed = 0, faults: rules = [], allowAdapters = true } = options;
  const model = stubModel(options);
  const app = createApi({ model, apiKey: options.apiKey, allowAdapters, seed });
  const counters: StubCounters = {
    requests: { generate: 0, load: 0, other: 0 },
    faults: Object.fromEntries(faultNames.map((name) => [name, 0])) as Record<FaultName, number>,
  };
  const restart = () => {
    model.forget();
    server.breakConnections();
  };
  const handle = async (request: Request, node: NodeSide): Promise<Response> => {
    const path = new URL(request.url).pathname;
    const kind = kinds[path] ?? "other";
    const n = ++counters.requests[kind];
    options.onRequest?.({ method: request.method, path });
    const answer = async () => app.fetch(request, node);
    const rule = faultAt(rules, kind, n, seed);
    if (!rule) return answer();
    counters.faults[rule.fault]++;
    const { delayMs = 1000 } = rule;
    return faults[rule.fault].strike({ request, node, answer, restart, delayMs });
  };
  const server = await listen(
    {
      fetch: (request, node) =>
        handle(request, node as NodeSide).catch((error) =>
          Response.json(apiError(error).body, { status: 500 }),
        ),
    },
    { host, port },
  );
  return {
    url: server.url,
    port: server.port,
    model,
    counters,
    restart,
    async close() {
      await server.close();
      await model.close();
    },
  };
}
