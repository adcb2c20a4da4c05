import { join, resolve } from "node:path";
import { InvariantError } from "../core/errors.ts";
import type { Params } from "../engine/array.ts";
import { EndpointError } from "../rollout/endpoint/error.ts";
import type { Fleet } from "../rollout/endpoint/fleet.ts";
import { writeAdapterFolder } from "./adapter-folder.ts";
import { type AdapterNames, claimNames } from "./adapter-names.ts";
import { adapterShelf } from "./adapter-shelf.ts";
import { type CanaryReading, ownScores, readCanary, type Score } from "./canary.ts";
import type { Learner } from "./learner.ts";
import { paramsOf } from "./policy/adapters.ts";
import type { LoraConfig } from "./policy/lora.ts";
import type { Policy } from "./policy/policy.ts";
import { prepareFleet } from "./prepare-fleet.ts";
import { proveAdapters } from "./prove-adapters.ts";
import type { PublishEvent } from "./publish-event.ts";
import { metricsOf, modelsOf, type Part, same, type Version } from "./publish-parts.ts";
import type { Lease } from "./remote.ts";
import { retrying } from "./retrying.ts";

export interface PublisherOptions {
  readonly fleet: Pick<Fleet, "replicas" | "publish" | "retire">;
  /** The run's own folder of adapters. */
  readonly folder: string;
  /** The same folder as servers see it; `folder` unless given. Absolute: vLLM takes what is not there for a hub's name. */
  readonly folderOnServer?: string;
  /** Name of the run; what makes it unique is added. */
  readonly runName: string;
  readonly lora: LoraConfig;
  /** The base model, for the adapter's own record. */
  readonly base: string;
  readonly learner: Pick<Learner, "logprobs">;
  /** A fixed prompt, [T] with T ≥ 2, and who scores it; without it nobody checks what the servers serve. */
  readonly canary?: { readonly tokens: readonly number[]; readonly score: Score } | undefined;
  readonly maxStaleness: number;
  /** Adapters of one version, for the servers' slots; default 1. */
  readonly roles?: number;
  readonly config: {
    /** Longest that loading one version may take, retries included. */
    readonly loadTimeoutMs: number;
    /** First pause before another attempt, doubled with each. */
    readonly retryDelayMs: number;
    /** Folders of unloaded versions that stay. */
    readonly keepFolders: number;
    /** What the servers are started with, where they do not say it themselves. */
    readonly adapterSlots?: number;
  };
  readonly onEvent: (event: PublishEvent) => void;
  readonly signal?: AbortSignal;
}

/** Takes versions of the policy to the servers. */
export interface Publisher {
  readonly names: AdapterNames;
  /**
   * Writes and loads one version on all servers, and checks it there; nothing where it is the newest already. Of several
   * adapters each is loaded under a name of its own, but those that are still what they were: the version is to be had when
   * all are there. The first also proves that the servers apply adapters at all. Resolves with what was measured.
   * @throws PublishError
   */
  publish(policy: Policy): Promise<Record<string, number>>;
  /** The newest version, kept until it is released. */
  lease(): Lease;
  /** Its place among the versions published, from 0; −1 before the first. */
  readonly newest: number;
  /** Unloads all its versions and removes the folders but the last. Never throws. */
  close(): Promise<void>;
}

/**
 * Sweeps what an earlier incarnation left, and checks the servers' adapter slots. Even version 0 is an adapter: a request
 * for the base that is batched with adapters' requests may be given an adapter.
 * @throws ConfigError for too few slots
 */
export async function createPublisher(o: PublisherOptions): Promise<Publisher> {
  const { fleet, config, learner, canary, maxStaleness, onEvent } = o;
  const names = claimNames(o.folder, o.runName);
  await prepareFleet({ ...o, names });
  if (!canary)
    onEvent({
      kind: "noCanary",
      level: "warn",
      text: "no server scores prompts: adapters are loaded unchecked",
    });
  const shelf = adapterShelf({
    ...{ fleet, maxStaleness, onEvent },
    ...config,
    timeoutMs: config.loadTimeoutMs,
  });
  const attempts = new Map<string, number>();
  let newest: Version | undefined;
  let published = 0;
  let proven = false;

  const patiently = <T>(what: string, work: (signal: AbortSignal) => Promise<T>) =>
    retrying(what, { ...config, timeoutMs: config.loadTimeoutMs, signal: o.signal, onRetry }, work);
  const onRetry = (error: Error) => onEvent({ kind: "retry", level: "warn", text: error.message });

  /** Loads an adapter. Each attempt has its own name: what a failed one left on a server must stand for nothing else. */
  const load = async (nameOf: (attempt: number) => string, params: Params) => {
    const first = nameOf(0);
    const path = join(o.folder, first);
    await writeAdapterFolder(path, { lora: o.lora, params, base: o.base });
    return patiently(`${first} was not published`, async (signal) => {
      const attempt = attempts.get(first) ?? 0;
      attempts.set(first, attempt + 1);
      const name = nameOf(attempt);
      await fleet.publish({ name, path: join(o.folderOnServer ?? resolve(o.folder), first) }, signal);
      return { name, path };
    });
  };

  const prove = async (
    { tokens, score }: NonNullable<typeof canary>,
    trainable: Params,
    scores: number[],
  ) => {
    const text = await proveAdapters({
      ...{ learner, tokens, own: { trainable, scores } },
      scored: async (synthetic) => {
        const adapter = await load(names.probe, synthetic);
        try {
          return await patiently("the synthetic adapter was not scored", (signal) =>
            score(adapter.name, tokens, signal),
          );
        } finally {
          await shelf.discard(adapter);
        }
      },
    });
    onEvent({ kind: "proof", level: "info", text });
  };

  /** A version that cannot be scored is served all the same: its rollouts are checked against the trainer every step. */
  const check = async (
    name: string,
    scores: number[],
    previous: number[] | undefined,
  ): Promise<CanaryReading | undefined> => {
    try {
      const limit = AbortSignal.timeout(config.loadTimeoutMs);
      const signal = o.signal ? AbortSignal.any([limit, o.signal]) : limit;
      const servers = await canary!.score(name, canary!.tokens, signal);
      return readCanary(servers, scores, previous);
    } catch (error) {
      if (o.signal?.aborted) throw o.signal.reason;
      if (!(error instanceof EndpointError) && (error as Error).name !== "TimeoutError") throw error;
      onEvent({ kind: "canaryFailed", level: "warn", text: `${name}: ${(error as Error).message}` });
      return undefined;
    }
  };

  /** One adapter of a version; `adapter` is undefined where it is the only one. */
  const loadPart = async (version: number, adapter: string | undefined, trainable: Params) => {
    const before = newest?.parts.get(adapter);
    if (adapter !== undefined && before && same(before.trainable, trainable)) return { part: before };
    const scores = canary && (await ownScores(learner, canary.tokens, trainable));
    if (canary && scores && !proven) await prove(canary, trainable, scores);
    proven = true;
    const loaded = await load((attempt) => names.of(version, attempt, adapter), trainable);
    const part: Part = { entry: { ...loaded, version, order: published, leases: 0 }, trainable, scores };
    shelf.add(part.entry);
    return { part, reading: scores && (await check(loaded.name, scores, before?.scores)) };
  };

  return {
    names,
    get newest() {
      return published - 1;
    },
    async publish(policy) {
      const { version, trainable, adapters } = policy;
      if (newest?.version === version) return {};
      if (newest && version < newest.version)
        throw new InvariantError({
          what: "a version was published after a later one",
          got: `${version} after ${newest.version}`,
        });
      const began = performance.now();
      // Slots that nobody needs any more are free before another is taken.
      await shelf.settled();
      const parts = new Map<string | undefined, Part>();
      const readings: CanaryReading[] = [];
      for (const adapter of adapters ?? [undefined]) {
        const own = adapter === undefined ? trainable : paramsOf(trainable, adapter);
        const { part, reading } = await loadPart(version, adapter, own);
        parts.set(adapter, part);
        if (reading) readings.push(reading);
      }
      const order = published++;
      for (const { entry } of parts.values()) entry.order = order;
      newest = { version, order, trainable, parts };
      shelf.advance(order);
      shelf.retireOld();
      for (const { entry } of parts.values())
        if (entry.version === version) onEvent({ kind: "published", level: "info", text: entry.name });
      return { seconds_publish: (performance.now() - began) / 1e3, ...metricsOf(readings) };
    },
    lease() {
      if (!newest) throw new InvariantError({ what: "a lease before the first version was published" });
      const { version, order, trainable, parts } = newest;
      const entries = [...parts.values()].map(({ entry }) => entry);
      for (const entry of entries) entry.leases++;
      let open = true;
      return {
        ...{ model: entries[0]!.name, version, order, trainable, ...modelsOf(parts) },
        release() {
          if (!open) return;
          open = false;
          for (const entry of entries) entry.leases--;
          if (entries.some(({ leases }) => leases === 0)) shelf.retireOld();
        },
      };
    },
    close: () => shelf.clear(),
  };
}
