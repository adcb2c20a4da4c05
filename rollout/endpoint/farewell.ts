import type { AdapterBook } from "./adapter-book.ts";
import { EndpointError } from "./error.ts";
import type { FleetEvent } from "./fleet-event.ts";
import type { Member } from "./member.ts";
import { orAborted } from "./timers.ts";
import { isUnreachable, sayOf } from "./verdict.ts";

/** Longest that the last words to a server may take. */
const farewellMs = 5_000;

/**
 * What a replica may still hold goes when the fleet does: one that was in quarantine when its adapters were retired has
 * no other occasion. Nothing else may be under way. Never throws.
 */
export async function farewell(
  members: readonly Member[],
  { published }: Pick<AdapterBook, "published">,
  tell: (event: FleetEvent) => void,
): Promise<void> {
  await Promise.all(
    members.map(async ({ url, driver, connection, leftBehind }) => {
      const signal = AbortSignal.timeout(farewellMs);
      for (const name of leftBehind) {
        if (published.has(name)) continue;
        try {
          await orAborted(driver.unloadAdapter(connection, name, signal), signal);
          leftBehind.delete(name);
        } catch (error) {
          tell({ event: "adapterLeftBehind", url, name, why: sayOf(error) });
          if (signal.aborted || !(error instanceof EndpointError) || isUnreachable(error)) return;
        }
      }
    }),
  );
}
