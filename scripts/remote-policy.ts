import { ConfigError } from "../core/errors.ts";
import { chatPolicy } from "../rollout/endpoint/chat.ts";
import { type EndpointConfig, endpointConfig } from "../rollout/endpoint/config.ts";
import { keyOf, openFleet } from "./open-endpoint.ts";
import { type OpenPolicy, roller } from "./open-policy.ts";
import type { Output } from "./output.ts";
import type { Setup } from "./setup.ts";

/** What `--endpoint`, `--model`, `--chat` and `--api-key-env` say. */
export interface RemoteOptions {
  /** Addresses; several are several replicas of one model. */
  readonly endpoint: readonly string[];
  readonly model?: string | undefined;
  readonly chat: boolean;
  readonly apiKeyEnv?: string | undefined;
}

/**
 * A policy on a server, to be evaluated: token ids through /v1/completions, or text alone through chat completions.
 * What the config's `endpoint` says of deadlines and retries holds. @throws ConfigError
 */
export async function openRemotePolicy(
  o: RemoteOptions,
  setup: Setup,
  { output, signal }: { output: Output; signal: AbortSignal },
): Promise<OpenPolicy> {
  const section = sectionOf(o, setup);
  return o.chat ? openChat(section, setup, output) : openServers(section, setup, signal);
}

function sectionOf(o: RemoteOptions, { config }: Setup): EndpointConfig {
  const { model, apiKeyEnv } = o;
  const parsed = endpointConfig.safeParse({
    driver: "auto",
    ...config.endpoint,
    servers: o.endpoint,
    ...(model === undefined ? {} : { model }),
    ...(apiKeyEnv === undefined ? {} : { apiKeyEnv }),
  });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new ConfigError({
    what: issue?.message ?? "this is not the address of a server",
    where: "--endpoint",
    got: o.endpoint.join(" "),
    next: "Write it like http://127.0.0.1:8000.",
  });
}

function openChat(section: EndpointConfig, setup: Setup, output: Output): OpenPolicy {
  const { model, servers } = section;
  const [url = ""] = servers;
  if (model === undefined || servers.length > 1)
    throw new ConfigError({
      what: model === undefined ? "which model is to be asked?" : "one server is enough for --chat",
      where: model === undefined ? "--model" : "--endpoint",
      got: model === undefined ? "nothing" : servers.join(" "),
      next: "Give --endpoint URL --chat --model NAME.",
    });
  const policy = chatPolicy({
    ...{ url, model, apiKey: keyOf(section), config: section },
    prompt: setup.config.rollout.prompt,
    onNotice: (text) => output.warn(text),
  });
  return {
    ...namesOf(model, url),
    label: `${model} at ${url}, by chat completions`,
    roll: roller(setup, policy),
    async close() {
      const { requests, promptTokens, completionTokens } = policy.counters();
      output.line(`${requests} requests, ${promptTokens} prompt and ${completionTokens} completion tokens`);
      policy.close();
    },
  };
}

async function openServers(section: EndpointConfig, setup: Setup, signal: AbortSignal): Promise<OpenPolicy> {
  const servers = await openFleet(setup, section, { use: "evaluate", signal });
  const [url = ""] = section.servers;
  return {
    ...namesOf(servers.model, url),
    label: `${servers.model} at ${section.servers.join(", ")}`,
    roll: roller(setup, servers.endpoint.sampler({ model: servers.model, version: 0 })),
    close: () => servers.close(),
  };
}

/** Weights behind an address are not ours to hash: the same evaluation is one of the same name at the same place. */
const namesOf = (model: string, url: string) => ({
  name: `${model}-${new URL(url).host}`.replace(/[^A-Za-z0-9._-]+/g, "-"),
  weights: `${model} at ${url}`,
  step: 0,
});
