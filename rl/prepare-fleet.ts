import { join } from "node:path";
import type { Fleet } from "../rollout/endpoint/fleet.ts";
import { adaptersIn, removeAdapterFolder, sweepTemporary } from "./adapter-folder.ts";
import type { AdapterNames } from "./adapter-names.ts";
import { checkSlots, probeSlots, slotsNeeded } from "./adapter-slots.ts";
import type { PublishEvent } from "./publish-event.ts";

/**
 * Before the first version: half-written folders go, this run's names of earlier incarnations leave every server, and
 * their folders go where no server can hold them any more. Other runs' names are left alone. Then the slots are counted.
 * @throws ConfigError for too few adapter slots
 */
export async function prepareFleet(o: {
  fleet: Pick<Fleet, "replicas">;
  folder: string;
  names: AdapterNames;
  maxStaleness: number;
  roles?: number;
  config: { readonly loadTimeoutMs: number; readonly adapterSlots?: number };
  onEvent: (event: PublishEvent) => void;
}): Promise<void> {
  const { folder, names, onEvent } = o;
  const { replicas } = o.fleet;
  const signal = AbortSignal.timeout(o.config.loadTimeoutMs);
  for (const name of sweepTemporary(folder)) onEvent({ kind: "swept", level: "info", text: name });

  const swept = await Promise.all(
    replicas.map(async ({ connection, driver }) => {
      try {
        const cards = await driver.models(connection, signal);
        for (const { id } of cards.filter((card) => names.ours(card.id))) {
          await driver.unloadAdapter(connection, id, signal);
          onEvent({ kind: "swept", level: "info", text: `${id} from ${connection.url}` });
        }
        return true;
      } catch (error) {
        const text = `${connection.url} may hold old adapters: ${(error as Error).message}`;
        onEvent({ kind: "sweepFailed", level: "warn", text });
        return false;
      }
    }),
  );
  if (swept.every(Boolean))
    for (const name of adaptersIn(folder, names.ours)) removeAdapterFolder(join(folder, name));

  const { roles = 1, maxStaleness } = o;
  // What a server says of itself outweighs what the config says of it.
  const slots = (await probeSlots(replicas, signal)) ?? o.config.adapterSlots;
  if (slots !== undefined) return checkSlots({ slots, roles, maxStaleness });
  const needed = slotsNeeded(roles, maxStaleness);
  const text = `no server says how many adapter slots it has; ${needed} are needed (vLLM: --max-loras ${needed})`;
  onEvent({ kind: "slots", level: "warn", text });
}
