import { setMaxListeners } from "node:events";
import { adapterBook } from "./adapter-book.ts";
import type { AdapterWorld, Canary } from "./adapters.ts";
import { choose, notAvoided } from "./balancer.ts";
import type { Connection } from "./connection.ts";
import { controlCalls } from "./control-call.ts";
import type { Driver } from "./driver.ts";
import { EndpointError } from "./error.ts";
import { farewell } from "./farewell.ts";
import type { Fleet, Placement } from "./fleet.ts";
import type { FleetEvent } from "./fleet-event.ts";
import { Leash } from "./leash.ts";
import { type Admission, Member } from "./member.ts";
import { publish } from "./publish.ts";
import { retire } from "./retire.ts";
import { type After, after as realAfter } from "./timers.ts";
import { waitingLine } from "./waiting-line.ts";
import { wardOf } from "./ward.ts";

export interface FleetOptions {
  /** At least one; no URL twice. */
  readonly replicas: readonly { readonly connection: Connection; readonly driver: Driver }[];
  /** Most requests at a time on one replica; its cap moves between 1 and this. */
  readonly maxInFlight: number;
  /** A quarantined replica rests so long before it is probed; doubled each time, up to 64 times. */
  readonly probeIntervalMs: number;
  /** How often each server is asked how busy it is; 0: never. */
  readonly metricsIntervalMs: number;
  /** Pause before an adapter that the server does not see yet is offered again. */
  readonly loadRetryMs: number;
  /** Time limit of each call that is not a completion: loads, probes, metrics. Default 60,000. */
  readonly callTimeoutMs?: number;
  /** Called after each load, before the adapter counts as held; throws where it is not really used. */
  readonly canary?: Canary;
  /** Must not throw. */
  readonly onEvent?: (event: FleetEvent) => void;
  /** The passage of time; default the real one. */
  readonly after?: After;
}

/** See rollout/endpoint/fleet.ts. @throws EndpointError when there is no replica, or one twice */
export function createFleet(o: FleetOptions): Fleet {
  const members = o.replicas.map((replica) => new Member(replica, o.maxInFlight));
  checkUrls(members);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const after = o.after ?? realAfter;
  const book = adapterBook();
  /** Where each open sequence was last. */
  const last = new Map<string, string>();

  const candidates = ({ model, avoid }: Placement) =>
    notAvoided(
      members.filter(
        (member) =>
          member.state !== "quarantined" && (!book.published.has(model) || member.adapters.has(model)),
      ),
      avoid,
    );
  const line = waitingLine<Placement, Admission>({
    anyRoom: () => members.some(({ room }) => room),
    seat(placement) {
      const { group, sequence } = placement;
      const member = choose(candidates(placement), { group, last: last.get(sequence) });
      if (member) last.set(sequence, member.url);
      return member?.admit();
    },
  });

  const tell = (event: FleetEvent) => o.onEvent?.(event);
  const call = controlCalls({ after, timeoutMs: o.callTimeoutMs ?? 60_000, closed: closing.signal });
  const ward = wardOf({
    ...o,
    members,
    book,
    after,
    call,
    closed: closing.signal,
    tell,
    advance: line.advance,
  });
  const world: AdapterWorld = ward.world;

  return {
    replicas: members,
    published: book.published,
    async run(placement, work, signal) {
      signal.throwIfAborted();
      const over = book.use(placement.model);
      try {
        const admission = await line.enter(placement, signal);
        try {
          const result = await work(admission.member);
          ward.ended(admission, placement.model);
          return result;
        } catch (error) {
          ward.ended(admission, placement.model, error);
          throw error;
        }
      } finally {
        over();
      }
    },
    release: (sequence) => void last.delete(sequence),
    publish: (adapter, signal) => spread(signal, (each) => publish(world, adapter, each)),
    retire: (name, signal) => spread(signal, (each) => retire(world, name, each)),
    async close() {
      if (closing.signal.aborted) return;
      const error = new EndpointError("refused", { what: "the fleet of inference servers is closed" });
      closing.abort(error);
      line.close(error);
      await ward.end();
      await farewell(members, book, tell);
      for (const { connection } of members) connection.close();
    },
  };
}

/** A signal that many replicas may listen to at once. */
async function spread<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const leash = new Leash(signal);
  setMaxListeners(0, leash.signal);
  try {
    return await work(leash.signal);
  } finally {
    leash.release();
  }
}

function checkUrls(members: readonly Member[]): void {
  const urls = members.map(({ url }) => url);
  const twice = urls.find((url, i) => urls.indexOf(url) !== i);
  if (urls.length > 0 && twice === undefined) return;
  throw new EndpointError("refused", {
    what: twice === undefined ? "a fleet without a replica" : "a replica is listed twice",
    got: twice ?? "no URL",
    expected: "one or more different URLs",
    next: "List each server once.",
  });
}
