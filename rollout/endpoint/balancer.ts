import { seedOf } from "../../core/rng.ts";

/** A replica that could run a request. */
export interface Candidate {
  readonly url: string;
  /** Requests under way. */
  readonly inFlight: number;
  /** May it take one more? */
  readonly room: boolean;
}

/** How many requests the preferred replica may be ahead of the least loaded one, for the sake of its cache. */
export const spillAhead = 8;

/**
 * Rendezvous hashing: the replica with the highest weight for a group is its home. Without that replica the group moves
 * to its second; no other group moves.
 */
export function weight(group: string, url: string): number {
  return seedOf(0, "replica", group, url);
}

/**
 * The replica for a request, undefined when none has room. It is where its sequence was last (its cache is there), else
 * the home of its group; but the least loaded one where that has no room or is more than `spillAhead` requests ahead.
 * The order of the candidates does not matter.
 */
export function choose<C extends Candidate>(
  candidates: readonly C[],
  { group, last }: { readonly group: string; readonly last: string | undefined },
): C | undefined {
  const byWeight = (a: C, b: C) =>
    weight(group, b.url) - weight(group, a.url) || (a.url < b.url ? -1 : a.url > b.url ? 1 : 0);
  const preferred = candidates.find(({ url }) => url === last) ?? first(candidates, byWeight);
  const least = first(
    candidates.filter(({ room }) => room),
    (a, b) => a.inFlight - b.inFlight || byWeight(a, b),
  );
  if (least === undefined || preferred === undefined) return undefined;
  return preferred.room && preferred.inFlight - least.inFlight <= spillAhead ? preferred : least;
}

/** Those that a request has not failed on, while there is one. */
export function notAvoided<C extends Candidate>(
  candidates: readonly C[],
  avoid: ReadonlySet<string> | undefined,
): readonly C[] {
  if (avoid === undefined || avoid.size === 0) return candidates;
  const rest = candidates.filter(({ url }) => !avoid.has(url));
  return rest.length > 0 ? rest : candidates;
}

function first<C>(list: readonly C[], order: (a: C, b: C) => number): C | undefined {
  return list.reduce<C | undefined>(
    (best, each) => (best === undefined || order(each, best) < 0 ? each : best),
    undefined,
  );
}
