import { EndpointError } from "../rollout/endpoint/error.ts";
import type { Fleet } from "../rollout/endpoint/fleet.ts";
import { removeAdapterFolder } from "./adapter-folder.ts";
import type { PublishEvent } from "./publish-event.ts";

/** A version on the servers. */
export interface Shelved {
  /** On the servers. */
  readonly name: string;
  /** Its folder here. */
  readonly path: string;
  readonly version: number;
  /** Place of the last version that it is of among those published, from 0: what is not trained is of many. */
  order: number;
  /** How many use it. */
  leases: number;
}

/** The versions that servers hold: unloaded when they are too old for anybody, their folders removed only after that. */
export interface AdapterShelf {
  add(entry: Shelved): void;
  /** A version is published whole: its place. */
  advance(order: number): void;
  /** Unloads one adapter and removes its folder; a failure is told and leaves the folder. */
  discard(entry: Pick<Shelved, "name" | "path">): Promise<void>;
  /** Unloads, in the background, what nobody uses and what is older than allowed. What fails is tried again with the next. */
  retireOld(): void;
  /** What was begun in the background is over. */
  settled(): Promise<void>;
  /** Unloads everything, used or not. */
  clear(): Promise<void>;
}

export function adapterShelf(o: {
  fleet: Pick<Fleet, "retire">;
  maxStaleness: number;
  /** Folders of unloaded versions that stay. */
  keepFolders: number;
  /** Longest that unloading one may take. */
  timeoutMs: number;
  onEvent: (event: PublishEvent) => void;
}): AdapterShelf {
  const loaded = new Set<Shelved>();
  const kept: string[] = [];
  let newest = 0;
  let background = Promise.resolve();

  const unload = async (name: string): Promise<boolean> => {
    try {
      await o.fleet.retire(name, AbortSignal.timeout(o.timeoutMs));
      o.onEvent({ kind: "unloaded", level: "info", text: name });
      return true;
    } catch (error) {
      const failure = error instanceof EndpointError ? error.message : String(error);
      o.onEvent({ kind: "unloadFailed", level: "warn", text: `${name}: ${failure}` });
      return false;
    }
  };

  const retire = async (which: (entry: Shelved) => boolean) => {
    for (const entry of [...loaded].filter(which)) {
      if (!(await unload(entry.name))) continue;
      loaded.delete(entry);
      kept.push(entry.path);
      while (kept.length > o.keepFolders) removeAdapterFolder(kept.shift()!);
    }
  };
  const later = (which: (entry: Shelved) => boolean) => {
    background = background.then(() => retire(which));
  };

  return {
    add: (entry) => void loaded.add(entry),
    advance(order) {
      newest = order;
    },
    async discard({ name, path }) {
      if (await unload(name)) removeAdapterFolder(path);
    },
    retireOld: () => later(({ leases, order }) => leases === 0 && newest - order > o.maxStaleness),
    settled: () => background,
    async clear() {
      later(() => true);
      await background;
    },
  };
}
