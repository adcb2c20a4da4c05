/** Public toys for tests of fleets: requests that end when the test says so, or fail as it says. */
import { EndpointError, type EndpointFailure } from "./error.ts";
import type { Fleet, Placement, Replica } from "./fleet.ts";

export const never = () => new AbortController().signal;

/** The group is what stands before the first slash. */
export const place = (sequence: string, more: Partial<Placement> = {}): Placement => ({
  model: "base",
  group: sequence.split("/")[0] ?? sequence,
  sequence,
  ...more,
});

export const broken = (kind: EndpointFailure, expected?: string) =>
  new EndpointError(kind, { what: `a ${kind} failure`, ...(expected && { expected }) });

/** Url of the replica that ran it. */
export const where = async (replica: Replica) => replica.connection.url;

/** A request that ends when the test says so. */
export function held(fleet: Fleet, placement: Placement, signal = never()) {
  let end = (_error?: unknown) => {};
  const state: { at?: string } = {};
  const done = fleet.run(
    placement,
    (replica) => {
      state.at = replica.connection.url;
      return new Promise<string>((resolve, reject) => {
        end = (error) => (error === undefined ? resolve("done") : reject(error));
      });
    },
    signal,
  );
  // Whoever looks at the end does so later.
  done.catch(() => {});
  return { state, done, end: (error?: unknown) => end(error) };
}

/** Resolves to what a request that fails with `error` throws. */
export const fail = (fleet: Fleet, placement: Placement, error: unknown) =>
  fleet
    .run(placement, () => Promise.reject(error), never())
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
