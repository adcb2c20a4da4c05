import type { Connection } from "./connection.ts";
import type { Driver, ServerLoad } from "./driver.ts";

/** One server of a fleet, as the balancer sees it. */
export interface Replica {
  readonly connection: Connection;
  readonly driver: Driver;
  /** `probing`: quarantined, and one request is let through to see. */
  readonly state: "healthy" | "quarantined" | "probing";
  /** Requests under way. */
  readonly inFlight: number;
  /** Most requests at a time; lowered while the server's cache is full or it preempts. */
  readonly cap: number;
  readonly load: ServerLoad | undefined;
  /** Adapter names it holds. */
  readonly adapters: ReadonlySet<string>;
}

/** What a request may run on: which model, and what keeps related requests together. */
export interface Placement {
  readonly model: string;
  /** Requests of one group share a prompt prefix: they are kept on one replica while it has room. */
  readonly group: string;
  /** Requests of one sequence extend each other: they stay where its cache is. */
  readonly sequence: string;
  /** Replicas (URLs) that this request has failed on: avoided while there is another. */
  readonly avoid?: ReadonlySet<string>;
}

/**
 * Many servers as one. `run` waits for room (backpressure), picks a replica that holds the model, calls `work`, and
 * learns from how it ends. It does not retry: who knows the budget does.
 */
export interface Fleet {
  readonly replicas: readonly Replica[];
  run<T>(placement: Placement, work: (replica: Replica) => Promise<T>, signal: AbortSignal): Promise<T>;
  /** The sequence is over. */
  release(sequence: string): void;
  /**
   * Loads an adapter on every replica that is not quarantined, all or nothing: where one refuses, those that accepted
   * unload it and EndpointError is thrown. A replica that cannot be reached is quarantined and does not count; where
   * none is left, it waits for one to come back. Only "no adapter found" is tried again (the file system of a server may
   * lag). Both end with `signal`: EndpointError when its reason is a deadline, the reason itself otherwise.
   */
  publish(adapter: { name: string; path: string }, signal: AbortSignal): Promise<void>;
  /**
   * Forgets the adapter on every replica, once no request for it is under way. @throws EndpointError where a replica that
   * can be reached refuses to unload it: its folder must stay, for the server may read it again.
   */
  retire(name: string, signal: AbortSignal): Promise<void>;
  /** Adapters that are published now, name to folder: a replica that comes back loads them again. */
  readonly published: ReadonlyMap<string, string>;
  /** Stops its timers, takes retired adapters off replicas that still hold them, and closes the connections. */
  close(): Promise<void>;
}
