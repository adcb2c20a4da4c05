import type { AdapterBook } from "./adapter-book.ts";
import type { ControlCall } from "./control-call.ts";
import { EndpointError } from "./error.ts";
import type { Replica } from "./fleet.ts";
import type { FleetEvent } from "./fleet-event.ts";
import type { Member } from "./member.ts";
import type { After } from "./timers.ts";
import { isUnreachable, sayOf } from "./verdict.ts";

/** Throws where the replica does not really use the adapter (or not this one). Called after each load. */
export type Canary = (replica: Replica, adapter: string, signal: AbortSignal) => Promise<void>;

/** What publishing, retiring and restoring need of the fleet. */
export interface AdapterWorld {
  readonly members: readonly Member[];
  readonly book: AdapterBook;
  readonly call: ControlCall;
  readonly after: After;
  readonly loadRetryMs: number;
  readonly canary: Canary | undefined;
  quarantine(member: Member, error: unknown): void;
  /** The member lacks a published adapter. */
  reload(member: Member): void;
  /** true when a member has come back, false when the signal aborts first. */
  comesBack(signal: AbortSignal): Promise<boolean>;
  tell(event: FleetEvent): void;
}

/** What is still there and should not be goes first: it takes up slots. */
export async function load(
  world: AdapterWorld,
  member: Member,
  adapter: { name: string; path: string },
  signal: AbortSignal,
): Promise<void> {
  await sweep(world, member, signal);
  await world.call(member, signal, (s) => member.driver.loadAdapter(member.connection, adapter, s));
}

/** @throws what the canary throws */
export async function look(
  { canary, call }: AdapterWorld,
  member: Member,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  if (canary) await call(member, signal, (s) => canary(member, name, s));
}

/** Unloads an adapter. What failed is told, remembered by the member for the next time, and returned. */
export async function unload(
  world: AdapterWorld,
  member: Member,
  name: string,
  signal: AbortSignal,
): Promise<EndpointError | undefined> {
  member.adapters.delete(name);
  member.leftBehind.add(name);
  try {
    await world.call(member, signal, (s) => member.driver.unloadAdapter(member.connection, name, s));
    member.leftBehind.delete(name);
    return undefined;
  } catch (error) {
    if (!(error instanceof EndpointError)) throw error;
    world.tell({ event: "adapterLeftBehind", url: member.url, name, why: sayOf(error) });
    if (isUnreachable(error)) world.quarantine(member, error);
    return error;
  }
}

/** Unloads what was left behind. A refusal is left for the next time. @throws EndpointError when it cannot be reached */
async function sweep(world: AdapterWorld, member: Member, signal: AbortSignal): Promise<void> {
  for (const name of [...member.leftBehind]) {
    if (world.book.published.has(name)) continue;
    const error = await unload(world, member, name, signal);
    if (error && isUnreachable(error)) throw error;
  }
}

/**
 * Makes a member hold every published adapter, whatever became of it: asks what it holds, loads the rest, looks at each.
 * Whoever calls has the member's lock and takes the names over (`Member.holds`) before giving it back.
 */
export async function restore(world: AdapterWorld, member: Member, signal: AbortSignal): Promise<string[]> {
  const { published } = world.book;
  const cards = await world.call(member, signal, (s) => member.driver.models(member.connection, s));
  const roots = new Map(cards.map((card) => [card.id, card.root]));
  const held = new Set<string>();
  const missing = () => [...published].find(([name]) => !held.has(name));
  for (let next = missing(); next !== undefined; next = missing()) {
    const [name, path] = next;
    try {
      if (!roots.has(name)) await load(world, member, { name, path }, signal);
      else if ((roots.get(name) ?? path) !== path) throw anotherFolder(member, name, path, roots.get(name));
      await look(world, member, name, signal);
      held.add(name);
    } catch (error) {
      // Retired meanwhile, and its folder may be gone.
      if (published.has(name)) throw error;
      member.leftBehind.add(name);
    }
  }
  for (const name of held) if (!published.has(name)) member.leftBehind.add(name);
  await sweep(world, member, signal);
  return [...held].filter((name) => published.has(name));
}

function anotherFolder(member: Member, name: string, path: string, root: string | undefined): EndpointError {
  return new EndpointError("malformed", {
    what: `the server holds another adapter under the name \`${name}\``,
    where: member.url,
    got: root ?? "no folder",
    expected: path,
    next: "Give each run a name of its own.",
  });
}
