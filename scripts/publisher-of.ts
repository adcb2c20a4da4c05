import { scoreOn } from "../rl/canary.ts";
import type { Learner } from "../rl/learner.ts";
import { createPublisher, type Publisher } from "../rl/publish.ts";
import type { PublishEvent } from "../rl/publish-event.ts";
import { firstPrompt } from "./first-prompt.ts";
import { endpointOf, type OpenEndpoint } from "./open-endpoint.ts";
import type { Setup } from "./setup.ts";

/** Tokens of the fixed prompt that tells one version from another. */
const canaryTokens = 64;

/** The publisher that a config asks for, to the servers that it names. */
export function publisherOf(
  setup: Setup,
  o: {
    servers: OpenEndpoint;
    /** Of this run's adapters. */
    folder: string;
    runName: string;
    learner: Pick<Learner, "logprobs">;
    onEvent: (event: PublishEvent) => void;
    signal: AbortSignal;
  },
): Promise<Publisher> {
  const { servers, start } = { ...o, start: setup.start };
  const { model, rl } = setup.config;
  const { loadTimeoutMs, retryDelayMs, keepFolders, adapterSlots } = endpointOf(setup.config);
  const scored = servers.servers.some(({ driver }) => driver.capabilities.promptLogprobs);
  return createPublisher({
    fleet: servers.fleet,
    ...{ folder: o.folder, runName: o.runName, learner: o.learner, onEvent: o.onEvent, signal: o.signal },
    lora: start.lora!, // configs/checks.ts: an endpoint needs LoRA
    base: model.path as string,
    ...(scored
      ? { canary: { tokens: firstPrompt(setup).slice(0, canaryTokens), score: scoreOn(servers.fleet) } }
      : {}),
    maxStaleness: rl.maxStaleness,
    roles: start.adapters?.length ?? 1,
    config: {
      ...{ loadTimeoutMs, retryDelayMs, keepFolders },
      ...(adapterSlots === undefined ? {} : { adapterSlots }),
    },
  });
}
