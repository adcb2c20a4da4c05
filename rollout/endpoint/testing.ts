/** Public toys for tests of whatever speaks with inference servers: servers in memory, and time that tests own. */
import { InvariantError } from "../../core/errors.ts";
import type { Connection } from "./connection.ts";
import { createFleet, type FleetOptions } from "./create-fleet.ts";
import type { Driver, GenerateRequest, Generation, ModelCard, ServerLoad } from "./driver.ts";
import { EndpointError } from "./error.ts";
import type { Fleet } from "./fleet.ts";
import type { FleetEvent } from "./fleet-event.ts";
import type { After } from "./timers.ts";

/** A call as a fake server sees it. */
export interface FakeCall {
  readonly what: "generate" | "score" | "models" | "load" | "unload" | "metrics";
  /** Model or adapter; not of `models` and `metrics`. */
  readonly name?: string;
}

/** `hang`: no answer before the signal. A promise: the answer is good, but only then. */
export type FakeTrouble = EndpointError | "hang" | Promise<void>;

/** A server in memory, with its connection and its driver. Everything that is not readonly may be set at any time. */
export interface FakeServer {
  readonly url: string;
  readonly connection: Connection;
  readonly driver: Driver;
  /** "load run-v1", "models", … in the order they came. */
  readonly calls: string[];
  /** Adapters that it holds, name to folder. */
  readonly adapters: Map<string, string>;
  readonly closed: boolean;
  /** What a call runs into; undefined: it goes well. Settable for one kind of call, or one name. */
  trouble: (call: FakeCall) => FakeTrouble | undefined;
  /** Is the folder there, as this server sees it? */
  sees: (path: string) => boolean;
  /** undefined: it does not say. */
  load: ServerLoad | undefined;
  /** What it generates; default: one token 1. */
  generation: (request: GenerateRequest) => Generation;
  /** It starts anew: the adapters are gone. */
  restart(): void;
}

/** A vLLM-like server in memory: refuses a name that is loaded, misses one that is not. */
export function fakeServer(url: string, base = "base"): FakeServer {
  const calls: string[] = [];
  const adapters = new Map<string, string>();
  let closed = false;
  const server: FakeServer = {
    url,
    calls,
    adapters,
    get closed() {
      return closed;
    },
    trouble: () => undefined,
    sees: () => true,
    load: undefined,
    generation: ({ model }) => ({ tokens: [1], logprobs: [-1], finish: "eos", model }),
    restart: () => adapters.clear(),
    connection: {
      url,
      get openai(): never {
        throw new InvariantError({ what: "a fake server has no HTTP" });
      },
      async call() {
        throw new InvariantError({ what: "a fake server has no HTTP" });
      },
      close() {
        closed = true;
      },
    },
    driver: fakeDriver((call, signal) => meet(server, call, signal), {
      has: (model) => model === base || adapters.has(model),
      cards: () => [
        { id: base, contextTokens: 1024 },
        ...[...adapters].map(([id, root]) => ({ id, root, parent: base })),
      ],
      load(name, path) {
        if (adapters.has(name))
          throw refusal(`The lora adapter '${name}' has already been loaded.`, 400, url);
        if (!server.sees(path))
          throw refusal(`Loading lora ${name} failed: No adapter found for ${path}`, 404, url);
        adapters.set(name, path);
      },
      unload: (name) => void adapters.delete(name),
      generation: (request) => server.generation(request),
      serverLoad: () => server.load,
      missing: (model) =>
        new EndpointError(
          "missingModel",
          { what: `The model \`${model}\` does not exist.`, where: url },
          404,
        ),
    }),
  };
  return server;
}

/** What a fake driver asks its server. */
interface FakeInside {
  has(model: string): boolean;
  cards(): ModelCard[];
  load(name: string, path: string): void;
  unload(name: string): void;
  generation(request: GenerateRequest): Generation;
  serverLoad(): ServerLoad | undefined;
  missing(model: string): EndpointError;
}

function fakeDriver(
  arrive: (call: FakeCall, signal: AbortSignal) => Promise<void>,
  inside: FakeInside,
): Driver {
  return {
    name: "vllm",
    capabilities: { tokenIds: true, logprobs: true, promptLogprobs: true, adapters: true, namesModel: true },
    async generate(_, request, signal) {
      await arrive({ what: "generate", name: request.model }, signal);
      if (!inside.has(request.model)) throw inside.missing(request.model);
      return inside.generation(request);
    },
    async score(_, model, tokens, signal) {
      await arrive({ what: "score", name: model }, signal);
      if (!inside.has(model)) throw inside.missing(model);
      return tokens.slice(1).map(() => -1);
    },
    async models(_, signal) {
      await arrive({ what: "models" }, signal);
      return inside.cards();
    },
    async loadAdapter(_, { name, path }, signal) {
      await arrive({ what: "load", name }, signal);
      inside.load(name, path);
    },
    async unloadAdapter(_, name, signal) {
      await arrive({ what: "unload", name }, signal);
      inside.unload(name);
    },
    async load(_, signal) {
      await arrive({ what: "metrics" }, signal);
      return inside.serverLoad();
    },
  };
}

/** The call is written down, then runs into its trouble. */
async function meet(server: FakeServer, call: FakeCall, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  server.calls.push(call.name === undefined ? call.what : `${call.what} ${call.name}`);
  const trouble = server.trouble(call);
  if (trouble instanceof EndpointError) throw trouble;
  if (trouble === undefined) return;
  await new Promise<void>((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (trouble !== "hang") trouble.then(resolve, reject);
  });
}

function refusal(got: string, status: number, where: string): EndpointError {
  return new EndpointError("refused", { what: `the server answered ${status}`, where, got }, status);
}

/** Time that passes when a test says so. */
export interface ManualTime {
  readonly after: After;
  /** Milliseconds so far. */
  readonly now: number;
  /** Timers that have not rung. */
  readonly pending: number;
  /** Lets so much time pass; timers ring in order, and what they start may set further ones. */
  pass(milliseconds: number): Promise<void>;
}

export function manualTime(): ManualTime {
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  let now = 0;
  return {
    after(milliseconds, run) {
      const timer = { at: now + milliseconds, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    get now() {
      return now;
    },
    get pending() {
      return timers.size;
    },
    async pass(milliseconds) {
      const end = now + milliseconds;
      await settled();
      for (;;) {
        // The earliest; of equal ones the one that was set first.
        const [next] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        timers.delete(next);
        now = next.at;
        next.run();
        await settled();
      }
      now = end;
    },
  };
}

/** Whatever can go on without time or network has gone on. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export interface FakeFleet {
  readonly fleet: Fleet;
  /** http://10.0.0.1:8000, http://10.0.0.2:8000, … */
  readonly servers: readonly FakeServer[];
  readonly time: ManualTime;
  /** What it told, in order. */
  readonly events: readonly FleetEvent[];
}

/**
 * A fleet of servers in memory under manual time. At most 4 requests a replica, probes after 1,000 ms, no metrics, a
 * folder is looked for every 500 ms, calls end after 5,000 ms; `options` go first. Close the fleet in the end.
 */
export function fakeFleet(count: number, options: Partial<FleetOptions> = {}): FakeFleet {
  const servers = Array.from({ length: count }, (_, i) => fakeServer(`http://10.0.0.${i + 1}:8000`));
  const time = manualTime();
  const events: FleetEvent[] = [];
  const fleet = createFleet({
    replicas: servers,
    maxInFlight: 4,
    probeIntervalMs: 1000,
    metricsIntervalMs: 0,
    loadRetryMs: 500,
    callTimeoutMs: 5000,
    after: time.after,
    onEvent: (event) => events.push(event),
    ...options,
  });
  return { fleet, servers, time, events };
}

/** A completion of one token, as a sampler asks for it; the URL of the replica that gave it. */
export function fakeRequest(
  fleet: Fleet,
  model: string,
  o: { readonly sequence?: string; readonly avoid?: readonly FakeServer[] } = {},
): Promise<string> {
  const { sequence = "s", avoid = [] } = o;
  const params = { temperature: 1, topP: 1, topK: 0, maxTokens: 1, stop: [], seed: 0 };
  const { signal } = new AbortController();
  return fleet.run(
    { model, group: "g", sequence, avoid: new Set(avoid.map(({ url }) => url)) },
    async ({ driver, connection }) => {
      await driver.generate(connection, { model, prompt: [1], params }, signal);
      return connection.url;
    },
    signal,
  );
}

/** A promise that is kept when the test says so, for `trouble`. */
export function gate(): { readonly opened: Promise<void>; open(): void; refuse(error: Error): void } {
  let open = () => {};
  let refuse = (_error: Error) => {};
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve;
    refuse = reject;
  });
  // Nobody may be waiting when it is refused.
  opened.catch(() => {});
  return { opened, open, refuse };
}
