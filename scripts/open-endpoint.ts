import type { Config } from "../configs/schema.ts";
import { ConfigError } from "../core/errors.ts";
import type { EndpointConfig } from "../rollout/endpoint/config.ts";
import type { Connection } from "../rollout/endpoint/connection.ts";
import { createFleet } from "../rollout/endpoint/create-fleet.ts";
import type { Driver } from "../rollout/endpoint/driver.ts";
import { drivers, openDriver } from "../rollout/endpoint/drivers.ts";
import { EndpointError } from "../rollout/endpoint/error.ts";
import type { Fleet } from "../rollout/endpoint/fleet.ts";
import type { FleetEvent } from "../rollout/endpoint/fleet-event.ts";
import { openConnection } from "../rollout/endpoint/open-connection.ts";
import { patientDriver } from "../rollout/endpoint/patient-driver.ts";
import { type ProbeFact, probeServer, requireSampling, requireTrainable } from "../rollout/endpoint/probe.ts";
import { createEndpoint, type PolicyEndpoint } from "../rollout/endpoint/sampler.ts";
import { firstPrompt } from "./first-prompt.ts";
import type { Setup } from "./setup.ts";

/** One server of the config, with what it was found to do. */
export interface ProbedServer {
  readonly connection: Connection;
  readonly driver: Driver;
  readonly facts: readonly ProbeFact[];
}

/** The servers of a config as one policy. */
export interface OpenEndpoint {
  readonly servers: readonly ProbedServer[];
  readonly fleet: Fleet;
  readonly endpoint: PolicyEndpoint;
  /** What the servers call the base model. */
  readonly model: string;
  close(): Promise<void>;
}

/** How often each server is asked how busy it is, and a quarantined one whether it is back. */
const metricsIntervalMs = 2_000;
const probeIntervalMs = 1_000;
/** How patiently a probe asks. */
const probing = { attempts: 4, delayMs: 100 } as const;

/**
 * Connects to the servers that `endpoint` names and asks each what it does: what they answer counts, not what the config
 * says. @throws ConfigError where one cannot do what `use` needs
 */
export async function openFleet(
  setup: Pick<Setup, "tokenizer" | "start" | "renderer" | "source" | "benchmarks">,
  config: EndpointConfig,
  o: {
    use: "train" | "evaluate";
    signal: AbortSignal;
    onEvent?: (event: FleetEvent) => void;
  },
): Promise<OpenEndpoint> {
  const servers = await probeServers(setup, config, o.signal);
  const closeAll = () => {
    for (const { connection } of servers) connection.close();
  };
  try {
    const require = o.use === "train" ? requireTrainable : requireSampling;
    for (const { facts, connection } of servers) require(facts, connection.url);
    const fleet = createFleet({
      replicas: servers,
      maxInFlight: config.maxInFlight,
      ...{ metricsIntervalMs, probeIntervalMs, loadRetryMs: config.retryDelayMs },
      ...(o.onEvent ? { onEvent: o.onEvent } : {}),
    });
    const { tokenizer, start } = setup;
    const endpoint = createEndpoint({ fleet, tokenizer, contextTokens: start.config.contextTokens, config });
    return { servers, fleet, endpoint, model: oneModel(servers), close: () => fleet.close() };
  } catch (error) {
    closeAll();
    throw error;
  }
}

/** Asks every server of the config what it does; nothing is refused here. */
export async function probeServers(
  setup: Pick<Setup, "tokenizer" | "start" | "renderer" | "source" | "benchmarks">,
  config: EndpointConfig,
  signal: AbortSignal,
): Promise<ProbedServer[]> {
  const apiKey = keyOf(config);
  const prompt = firstPrompt(setup);
  return Promise.all(
    config.servers.map(async (url): Promise<ProbedServer> => {
      const connection = openConnection({ url, apiKey });
      try {
        const driver = await openDriver(config.driver, connection, signal).catch(orUnknown);
        const facts = await probeServer({
          ...{ connection, prompt, signal, model: config.model },
          driver: patientDriver(driver, { ...probing, timeoutMs: config.requestTimeoutMs }),
          tokenizer: setup.tokenizer,
          contextTokens: setup.start.config.contextTokens,
        });
        return { connection, driver, facts };
      } catch (error) {
        connection.close();
        throw error;
      }
    }),
  );
}

/** Who cannot be reached cannot say what it is: the probe says so, of whichever make. */
function orUnknown(error: unknown): Driver {
  if (error instanceof EndpointError && error.kind !== "refused") return drivers.vllm;
  throw error;
}

/** The key that the named variable holds. @throws ConfigError where it holds none */
export function keyOf({ apiKeyEnv }: Pick<EndpointConfig, "apiKeyEnv">): string | undefined {
  if (apiKeyEnv === undefined) return undefined;
  const key = process.env[apiKeyEnv];
  if (key) return key;
  throw new ConfigError({
    what: `the environment variable ${apiKeyEnv} is not set`,
    where: "endpoint.apiKeyEnv",
    next: `Set it to the servers' key: export ${apiKeyEnv}=…`,
  });
}

function oneModel(servers: readonly ProbedServer[]): string {
  const names = servers.map(({ facts }) => facts.find(({ name }) => name === "model")?.evidence ?? "");
  const [first = ""] = names;
  const other = names.findIndex((name) => name !== first);
  if (other < 0) return first;
  throw new ConfigError({
    what: "the servers serve different models",
    where: "endpoint.servers",
    got: `${first} and ${names[other]}`,
    next: "Start them with one model and one name, or set endpoint.model.",
  });
}

/** A fleet's event as a line for people; undefined for what is only for the record. */
export function fleetWords(event: FleetEvent): { text: string; level: "info" | "warn" } | undefined {
  if (event.event === "replicaQuarantined")
    return { level: "warn", text: `${event.url} gets no requests for now: ${event.why}` };
  if (event.event === "replicaHealthy") return { level: "info", text: `${event.url} is back` };
  if (event.event === "replicaReloaded")
    return {
      level: "warn",
      text: `${event.url} had lost its adapters; loaded again: ${event.adapters.join(", ")}`,
    };
  return undefined;
}

/** The endpoint section of a config that must have one. */
export function endpointOf(config: Config): EndpointConfig {
  if (config.endpoint) return config.endpoint;
  throw new ConfigError({ what: "the config names no servers", where: "endpoint" });
}
