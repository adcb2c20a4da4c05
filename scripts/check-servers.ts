import { checkSlots, probeSlots } from "../rl/adapter-slots.ts";
import { openFleet } from "./open-endpoint.ts";
import type { Setup } from "./setup.ts";

/**
 * The servers that `endpoint` names can sample for this run: asked before there is a run folder, since a warm-up may
 * lie between it and the first published version. Nothing without an endpoint. @throws ConfigError with every reason
 */
export async function checkServers(setup: Setup, { signal }: { signal: AbortSignal }): Promise<void> {
  const { endpoint, rl } = setup.config;
  if (!endpoint || rl.steps === 0) return;
  const servers = await openFleet(setup, endpoint, { use: "train", signal });
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(endpoint.loadTimeoutMs)]);
    const slots = (await probeSlots(servers.fleet.replicas, limit)) ?? endpoint.adapterSlots;
    if (slots !== undefined) checkSlots({ slots, roles: 1, maxStaleness: rl.maxStaleness });
  } finally {
    await servers.close();
  }
}
