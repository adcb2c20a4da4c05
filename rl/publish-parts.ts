import type { Params } from "../engine/array.ts";
import type { Shelved } from "./adapter-shelf.ts";
import type { CanaryReading } from "./canary.ts";
import type { Lease } from "./remote.ts";

/** A set of weights that servers hold under one name. */
export interface Part {
  readonly entry: Shelved;
  readonly trainable: Params;
  readonly scores: number[] | undefined;
}

export interface Version {
  readonly version: number;
  readonly order: number;
  /** Of all adapters. */
  readonly trainable: Params;
  /** By adapter; undefined names the only one. */
  readonly parts: ReadonlyMap<string | undefined, Part>;
}

/** Nobody changes an array: what did not learn is the same object. */
export const same = (a: Params, b: Params): boolean => Object.keys(b).every((name) => a[name] === b[name]);

export function modelsOf(parts: Version["parts"]): Pick<Lease, "models"> {
  const named = [...parts].flatMap(([adapter, { entry }]) =>
    adapter === undefined ? [] : [[adapter, entry.name] as const],
  );
  return named.length === 0 ? {} : { models: Object.fromEntries(named) };
}

/** Of the adapter that is furthest from the trainer. */
export function metricsOf(readings: readonly CanaryReading[]): Record<string, number> {
  const [first, ...rest] = readings;
  if (!first) return {};
  const { meanAbs, previousMeanAbs } = rest.reduce((a, b) => (b.meanAbs > a.meanAbs ? b : a), first);
  const nearerPrevious = readings.some((reading) => reading.nearerPrevious);
  return {
    "canary/mean_abs": meanAbs,
    ...(previousMeanAbs === undefined
      ? {}
      : { "canary/previous_mean_abs": previousMeanAbs, "canary/nearer_previous": Number(nearerPrevious) }),
  };
}
