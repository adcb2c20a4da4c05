/** What every test of publishing starts with: toys of the file, and a world and a server that are new in each test. */
import assert from "node:assert/strict";
import type { ToyFleet, ToyServer } from "./fleet-toys.ts";
import type { Publisher, PublisherOptions } from "./publish.ts";
import { type PublishToys, PublishWorld, publishToys } from "./publish-toys.ts";

export let toys: PublishToys;
export let world: PublishWorld;
export let server: ToyServer;

/** Before all tests of a file. */
export async function openToys(): Promise<void> {
  toys = await publishToys();
}

/** After all. */
export const closeToys = (): Promise<void> => toys.dispose();

/** Before each. */
export function begin(): void {
  world = new PublishWorld(toys);
  server = toys.server();
}

/** After each: no adapter is left that nobody would unload. */
export function end(): void {
  assert.deepEqual(server.orphans(), []);
  world.remove();
}

export const open = (fleet: ToyFleet, over: Partial<PublisherOptions> = {}): Promise<Publisher> =>
  world.open(fleet, over);
export const held = (): string[] => [...server.held.keys()];
