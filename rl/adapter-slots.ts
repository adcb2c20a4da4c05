import { z } from "zod";
import { ConfigError } from "../core/errors.ts";
import type { Replica } from "../rollout/endpoint/fleet.ts";

const serverInfo = z.object({
  vllm_config: z.object({ lora_config: z.object({ max_loras: z.int() }) }),
});

/**
 * How many adapters a server computes with at a time, the least over the replicas that say; undefined where none does.
 * vLLM says it in /metrics once it has had LoRA requests, and in /server_info in its development mode.
 */
export async function probeSlots(
  replicas: readonly Pick<Replica, "connection" | "driver">[],
  signal: AbortSignal,
): Promise<number | undefined> {
  const found = await Promise.all(
    replicas.map(async ({ connection, driver }) => {
      if (driver.name !== "vllm") return [];
      const get = (path: string) => connection.call("GET", path, { signal }).catch(() => undefined);
      const info = serverInfo.safeParse(await get("/server_info?config_format=json"));
      if (info.success) return [info.data.vllm_config.lora_config.max_loras];
      const metrics = await get("/metrics");
      const said = /vllm:lora_requests_info\{[^}]*max_lora="(\d+)"/.exec(
        typeof metrics === "string" ? metrics : "",
      );
      return said ? [Number(said[1])] : [];
    }),
  );
  const all = found.flat();
  return all.length === 0 ? undefined : Math.min(...all);
}

/** Versions in flight, the one that is being loaded, and room to load before the oldest is unloaded. */
export const slotsNeeded = (roles: number, maxStaleness: number): number => roles * (maxStaleness + 2);

/**
 * Fewer slots do not fail on a server: requests wait for each other in silence, and throughput falls.
 * @throws ConfigError for too few
 */
export function checkSlots(o: { slots: number; roles: number; maxStaleness: number }): void {
  const needed = slotsNeeded(o.roles, o.maxStaleness);
  if (o.slots >= needed) return;
  throw new ConfigError({
    what: "the server has too few adapter slots",
    where: "endpoint.adapterSlots",
    got: String(o.slots),
    expected: `at least ${needed}: roles (${o.roles}) × (rl.maxStaleness (${o.maxStaleness}) + 2)`,
    next: `Start it with --max-loras ${needed} (vLLM) or --max-loras-per-batch ${needed} (SGLang), or lower rl.maxStaleness.`,
  });
}
