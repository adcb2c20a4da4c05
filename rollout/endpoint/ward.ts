import type { AdapterBook } from "./adapter-book.ts";
import { type AdapterWorld, type Canary, restore } from "./adapters.ts";
import { afterLoad, afterOverload, type Limit } from "./cap.ts";
import type { ControlCall } from "./control-call.ts";
import { EndpointError, type EndpointFailure } from "./error.ts";
import type { FleetEvent } from "./fleet-event.ts";
import type { Admission, Member } from "./member.ts";
import { afterEvent, backOff, type HealthEvent } from "./quarantine.ts";
import type { After } from "./timers.ts";
import { sayOf, verdictOf } from "./verdict.ts";

export interface WardOptions {
  readonly members: readonly Member[];
  readonly book: AdapterBook;
  readonly call: ControlCall;
  readonly after: After;
  readonly closed: AbortSignal;
  readonly probeIntervalMs: number;
  readonly metricsIntervalMs: number;
  readonly loadRetryMs: number;
  readonly canary?: Canary;
  readonly tell: (event: FleetEvent) => void;
  /** Whoever waits may have a place now. */
  readonly advance: () => void;
}

/** Looks after the replicas: quarantine and probes, adapters that were lost, caps. */
export interface Ward {
  readonly world: AdapterWorld;
  /** A request for the model is over; without an error: well. */
  ended(admission: Admission, model: string, error?: unknown): void;
  /** Resolves when nothing of it is under way any more. `closed` must be aborted. */
  end(): Promise<void>;
}

/** Answers of a server that has no metrics, rather than of one that is in trouble. */
const withoutMetrics: ReadonlySet<EndpointFailure> = new Set(["refused", "missingModel", "malformed"]);

export function wardOf(o: WardOptions): Ward {
  const { members, book, call, closed, tell } = o;
  const timers = new Map<string, () => void>();
  const background = new Set<Promise<void>>();
  const returns = new Set<() => void>();

  const inBackground = (task: Promise<void>) => {
    background.add(task);
    void task.finally(() => background.delete(task));
  };

  /** One timer a key: a later one takes its place. */
  const later = (key: string, milliseconds: number, run: () => Promise<void>) => {
    timers.get(key)?.();
    if (closed.aborted) return;
    const ring = () => {
      timers.delete(key);
      inBackground(run());
    };
    timers.set(key, o.after(milliseconds, ring));
  };

  const judge = (member: Member, event: HealthEvent, error?: unknown) => {
    const before = member.health;
    member.health = afterEvent(before, event);
    if (member.state === "quarantined" && member.health !== before) {
      const backOffMs = backOff(member.health, o.probeIntervalMs);
      member.forget();
      tell({ event: "replicaQuarantined", url: member.url, why: sayOf(error), backOffMs });
      later(`probe ${member.url}`, backOffMs, () => probe(member));
    } else if (member.state === "healthy" && before.state === "probing")
      tell({ event: "replicaHealthy", url: member.url });
  };

  /**
   * Ends a quarantine, too. false when what is known of the member has changed meanwhile. The names are taken over, and
   * it is seen to be back, in one step and under the lock: a publication finds it either away or with all names so far.
   */
  const refill = (member: Member, epoch: number) =>
    member.lock.alone(closed, async () => {
      if (member.epoch !== epoch) return false;
      const held = await restore(world, member, closed);
      if (member.epoch !== epoch) return false;
      for (const name of held) member.holds(name);
      judge(member, "checked");
      return true;
    });

  const probe = async (member: Member) => {
    try {
      await refill(member, member.epoch);
    } catch (error) {
      if (!closed.aborted) judge(member, "unchecked", error);
      return;
    }
    tell({ event: "replicaProbing", url: member.url, adapters: [...member.adapters] });
    for (const tellWaiting of returns) tellWaiting();
    o.advance();
  };

  const reload = async (member: Member) => {
    const { epoch } = member;
    try {
      if (await refill(member, epoch))
        tell({ event: "replicaReloaded", url: member.url, adapters: [...member.adapters] });
    } catch (error) {
      if (!closed.aborted && member.epoch === epoch) judge(member, "broke", error);
    }
    o.advance();
  };

  const setLimit = (member: Member, limit: Limit) => {
    const { cap } = member;
    member.limit = limit;
    if (limit.cap === cap) return;
    if (limit.cap < cap) member.capEpoch++;
    tell({ event: "replicaCap", url: member.url, cap: limit.cap });
  };

  const poll = async (member: Member) => {
    const { epoch, driver, connection } = member;
    if (member.state !== "quarantined")
      try {
        member.load = await call(member, closed, (signal) => driver.load(connection, signal));
        setLimit(member, afterLoad(member.limit, member.load, member.inFlight));
      } catch (error) {
        const kind = error instanceof EndpointError ? error.kind : undefined;
        // A server that is merely slow to say how busy it is, is busy.
        if (kind === "connection" && member.epoch === epoch) judge(member, "broke", error);
        else if (kind !== undefined && withoutMetrics.has(kind))
          setLimit(member, afterLoad(member.limit, undefined, member.inFlight));
      }
    later(`metrics ${member.url}`, o.metricsIntervalMs, () => poll(member));
    o.advance();
  };

  const learn = ({ member, capEpoch }: Admission, model: string, inFlight: number, error: unknown) => {
    const kind = error instanceof EndpointError ? error.kind : undefined;
    if (kind === "overloaded") {
      if (capEpoch !== member.capEpoch) return;
      if (member.state === "probing" || member.cap === 1) judge(member, "failed", error);
      else setLimit(member, afterOverload(member.limit, inFlight));
      return;
    }
    // A model that we did not publish is not missing through any fault of the replica's.
    if (kind === "missingModel" && !book.published.has(model)) return;
    const verdict = error === undefined ? "succeeded" : verdictOf(error, model);
    if (verdict) judge(member, verdict, error);
    if (kind !== "missingModel" || member.state === "quarantined") return;
    member.forget();
    inBackground(reload(member));
  };

  const world: AdapterWorld = {
    ...o,
    canary: o.canary,
    quarantine: (member, error) => judge(member, "broke", error),
    reload: (member) => inBackground(reload(member)),
    comesBack(signal) {
      if (signal.aborted || closed.aborted) return Promise.resolve(false);
      if (members.some(({ state }) => state !== "quarantined")) return Promise.resolve(true);
      return new Promise((resolve) => {
        const end = () => {
          returns.delete(end);
          for (const each of [signal, closed]) each.removeEventListener("abort", end);
          resolve(!signal.aborted && !closed.aborted);
        };
        returns.add(end);
        for (const each of [signal, closed]) each.addEventListener("abort", end);
      });
    },
  };

  if (o.metricsIntervalMs > 0)
    for (const member of members) later(`metrics ${member.url}`, o.metricsIntervalMs, () => poll(member));

  return {
    world,
    ended(admission, model, error) {
      const { inFlight } = admission.member;
      if (admission.member.leave(admission)) learn(admission, model, inFlight, error);
      o.advance();
    },
    async end() {
      for (const cancel of timers.values()) cancel();
      await Promise.all(background);
    },
  };
}
