import { type Limit, limitOf } from "./cap.ts";
import type { Connection } from "./connection.ts";
import type { Driver, ServerLoad } from "./driver.ts";
import type { Replica } from "./fleet.ts";
import { type Mutex, mutex } from "./mutex.ts";
import { type Health, healthy } from "./quarantine.ts";

/** A request's place on a replica. */
export interface Admission {
  readonly member: Member;
  readonly epoch: number;
  readonly capEpoch: number;
}

/** A replica as the fleet keeps it: what others may read, and what the fleet writes. */
export class Member implements Replica {
  readonly connection: Connection;
  readonly driver: Driver;
  /** Loads and unloads, one at a time. */
  readonly lock: Mutex = mutex();
  /** Adapters that we loaded and that it may hold still; those that are not published are unloaded before it loads. */
  readonly leftBehind = new Set<string>();
  health: Health = healthy;
  limit: Limit;
  load: ServerLoad | undefined;
  readonly adapters = new Set<string>();
  /** Grows when what was known of it is void: the end of a request from before says nothing about it. */
  epoch = 0;
  /** Grows when the cap is lowered: requests from before say nothing about the new one. */
  capEpoch = 0;
  inFlight = 0;
  /** The one request that a probing replica gets is under way. */
  #trial = false;

  constructor({ connection, driver }: { connection: Connection; driver: Driver }, maxInFlight: number) {
    this.connection = connection;
    this.driver = driver;
    this.limit = limitOf(maxInFlight);
  }

  get url(): string {
    return this.connection.url;
  }

  get state(): Replica["state"] {
    return this.health.state;
  }

  get cap(): number {
    return this.limit.cap;
  }

  /** May it take one more request? */
  get room(): boolean {
    if (this.state === "probing") return !this.#trial;
    return this.state === "healthy" && this.inFlight < this.cap;
  }

  admit(): Admission {
    this.inFlight++;
    if (this.state === "probing") this.#trial = true;
    return { member: this, epoch: this.epoch, capEpoch: this.capEpoch };
  }

  /** A request is over. true: it began under what is known now, so that its end says something. */
  leave({ epoch }: Admission): boolean {
    this.inFlight--;
    if (epoch !== this.epoch) return false;
    this.#trial = false;
    return true;
  }

  holds(name: string): void {
    this.adapters.add(name);
    this.leftBehind.delete(name);
  }

  /** Nothing is known of it any more: what it held it may hold still, or not. */
  forget(): void {
    this.epoch++;
    this.#trial = false;
    this.load = undefined;
    for (const name of this.adapters) this.leftBehind.add(name);
    this.adapters.clear();
  }
}
