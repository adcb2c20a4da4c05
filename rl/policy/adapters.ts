import { InvariantError } from "../../core/errors.ts";
import type { Params } from "../../engine/array.ts";
import type { Policy } from "./policy.ts";
import { weightsSha256 } from "./weights-hash.ts";

/**
 * Several sets of weights in one flat dictionary, each name behind `adapter:`. So whatever goes over all weights by name
 * (hashes, moments, checkpoints, the reference of a KL term) does not know how many sets there are.
 */
const separator = ":";

/**
 * The policy with a set of weights for each name; as it is for fewer than two. All sets begin as the policy's own, A
 * matrices included: what two adapters differ by is then what they learnt, and two roles that are put under one adapter
 * begin as they would have apart. (B is 0 in a fresh adapter, so no draw of A would make them play unlike.)
 */
export function withAdapters(policy: Policy, names: readonly string[]): Policy {
  const distinct = [...new Set(names)];
  if (distinct.length < 2) return policy;
  if (policy.adapters) throw new InvariantError({ what: "the policy has several adapters already" });
  const sets = Object.fromEntries(distinct.map((name) => [name, policy.trainable]));
  return { ...policy, trainable: joinParams(sets), adapters: distinct };
}

/** Sets of weights as one dictionary. */
export function joinParams(sets: Readonly<Record<string, Params>>): Params {
  return Object.fromEntries(
    Object.entries(sets).flatMap(([adapter, params]) =>
      Object.entries(params).map(([name, arr]) => [adapter + separator + name, arr]),
    ),
  );
}

/** One adapter's weights under their own names, in order. */
export function paramsOf(params: Params, adapter: string): Params {
  const prefix = adapter + separator;
  return Object.fromEntries(
    Object.entries(params).flatMap(([name, arr]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), arr]] : [],
    ),
  );
}

/** The policy as one of its adapters plays it. @throws InvariantError for one that it has not */
export function viewOf({ adapters, ...policy }: Policy, adapter: string): Policy {
  if (adapters?.includes(adapter)) return { ...policy, trainable: paramsOf(policy.trainable, adapter) };
  throw new InvariantError({
    what: "the policy has no such adapter",
    got: adapter,
    expected: adapters?.join(", ") ?? "one set of weights for all",
  });
}

/** Where any adapter will do: the first, or the policy itself. */
export const firstView = (policy: Policy): Policy =>
  policy.adapters ? viewOf(policy, policy.adapters[0]!) : policy;

/** Fingerprint of each adapter's own weights, without the base; {} where there is one set. */
export function adapterHashes({ adapters = [], trainable }: Policy): Record<string, string> {
  return Object.fromEntries(
    adapters.map((name) => [name, weightsSha256({ frozen: {}, trainable: paramsOf(trainable, name) })]),
  );
}
