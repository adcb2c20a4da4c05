/** Toys for tests of publishing: servers in memory that read adapter folders as real ones do. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Params } from "../engine/array.ts";
import type { Connection } from "../rollout/endpoint/connection.ts";
import type { Driver } from "../rollout/endpoint/driver.ts";
import { EndpointError } from "../rollout/endpoint/error.ts";
import type { Fleet, Replica } from "../rollout/endpoint/fleet.ts";
import { ownScores, type Score } from "./canary.ts";
import type { Learner } from "./learner.ts";
import { readAdapter } from "./policy/peft.ts";
import type { Policy } from "./policy/policy.ts";

export interface ToyServer {
  readonly url: string;
  /** Adapters it holds, name to folder. */
  readonly held: Map<string, string>;
  /** Names it ever accepted, in order. */
  readonly accepted: string[];
  /** An adapter whose folder is gone is a crash waiting to happen. */
  readonly orphans: () => string[];
  /** Faults, read at each call. */
  down?: boolean;
  /** Scores under the base whatever it is asked for. */
  ignores?: boolean;
  /** Scores under the adapter it loaded before. */
  lags?: boolean;
  /** What /metrics says of adapter slots. */
  slots?: number;
  readonly replica: Replica;
  readonly scores: (model: string, tokens: readonly number[]) => Promise<number[]>;
}

export function toyServer(policy: Policy, learner: Pick<Learner, "logprobs">, url = "http://toy"): ToyServer {
  const held = new Map<string, string>();
  const weights = new Map<string, Params>();
  const accepted: string[] = [];
  const reach = () => {
    if (server.down) throw new EndpointError("connection", { what: "refused", where: url });
    // A real one reads an adapter again when it was evicted, and dies.
    if (server.orphans().length > 0) throw new Error(`the folder of ${server.orphans()} is gone`);
  };
  const driver: Driver = {
    name: "vllm",
    capabilities: { tokenIds: true, logprobs: true, promptLogprobs: true, adapters: true, namesModel: true },
    generate: async () => {
      throw new EndpointError("refused", { what: "a toy does not generate" });
    },
    score: (_, model, tokens) => server.scores(model, tokens),
    async models() {
      reach();
      return [
        { id: "base", contextTokens: 64 },
        ...[...held].map(([id, root]) => ({ id, root, parent: "base" })),
      ];
    },
    async loadAdapter(_, { name, path }) {
      reach();
      if (held.has(name)) throw new EndpointError("refused", { what: `${name} is loaded already` }, 400);
      if (!existsSync(join(path, "adapter_config.json")))
        throw new EndpointError("missingModel", { what: `No adapter found for ${path}` }, 404);
      weights.set(name, readAdapter(path, policy.config).params);
      held.set(name, path);
      accepted.push(name);
    },
    async unloadAdapter(_, name) {
      reach();
      held.delete(name);
    },
    load: async () => undefined,
  };
  const connection = {
    url,
    async call(_: string, path: string) {
      reach();
      if (path === "/metrics" && server.slots !== undefined)
        return `# HELP x\nvllm:lora_requests_info{max_lora="${server.slots}",running_lora_adapters=""} 1.0\n`;
      throw new EndpointError("refused", { what: "Not Found" }, 404);
    },
    close() {},
  } as unknown as Connection;
  const server: ToyServer = {
    ...{ url, held, accepted },
    orphans: () => [...held].flatMap(([name, path]) => (existsSync(path) ? [] : [name])),
    replica: {
      ...{ connection, driver, state: "healthy", inFlight: 0, cap: 8, load: undefined },
      get adapters() {
        return new Set(held.keys());
      },
    },
    async scores(model, tokens) {
      reach();
      const name = server.lags ? (accepted.at(-2) ?? model) : model;
      const under = server.ignores ? policy.trainable : weights.get(name);
      if (!under || !held.has(model))
        throw new EndpointError("missingModel", { what: `no model ${model}` }, 404);
      return ownScores(learner, tokens, under);
    },
  };
  return server;
}

export interface ToyFleet extends Pick<Fleet, "replicas" | "publish" | "retire"> {
  readonly log: string[];
  readonly score: Score;
}

/** All or nothing over the servers, as the contract has it. `before` runs where a fault would strike. */
export function toyFleet(
  servers: readonly ToyServer[],
  before: (call: "publish" | "published" | "retire", name: string) => Promise<void> | void = () => {},
): ToyFleet {
  const log: string[] = [];
  const never = new AbortController().signal;
  const each = <T>(work: (server: ToyServer) => Promise<T>) => Promise.all(servers.map(work));
  return {
    log,
    replicas: servers.map(({ replica }) => replica),
    async publish(adapter, signal) {
      signal.throwIfAborted();
      await before("publish", adapter.name);
      const done: ToyServer[] = [];
      try {
        for (const server of servers) {
          await server.replica.driver.loadAdapter(server.replica.connection, adapter, signal);
          done.push(server);
        }
      } catch (error) {
        for (const { held } of done) held.delete(adapter.name);
        throw error;
      }
      log.push(`load ${adapter.name}`);
      await before("published", adapter.name);
    },
    async retire(name) {
      await before("retire", name);
      await each(({ replica }) => replica.driver.unloadAdapter(replica.connection, name, never));
      log.push(`unload ${name}`);
    },
    score: (model, tokens) => each((server) => server.scores(model, tokens)),
  };
}
