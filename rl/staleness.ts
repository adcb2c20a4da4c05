import { InvariantError } from "../core/errors.ts";
import type { Scored } from "../reward/scored.ts";
import type { Collected, Judged } from "./collect.ts";
import type { Lease } from "./remote.ts";

/** Versions that sampled a group's policy tokens. */
function versionsOf({ group }: Judged): Set<number> {
  const versions = new Set<number>();
  for (const member of group.members)
    for (const { segments, outside } of member.sequences)
      for (const { source, version } of segments)
        if (!outside && source === "policy" && version !== undefined) versions.add(version);
  return versions;
}

/**
 * Drops the groups that are too old to learn from, or that several versions sampled. Staleness of a group is how many
 * versions have been published since the one that sampled it; its mean and maximum are over the groups kept.
 * @throws InvariantError for a version that no roll of this step was given
 */
export function dropStale(
  collected: Collected,
  o: { leases: readonly Lease[]; newest: number; maxStaleness: number },
): { collected: Collected; metrics: Record<string, number> } {
  const orders = new Map(o.leases.map((lease) => [lease.version, lease.order]));
  const ages: number[] = [];
  let dropped = 0;
  const judge = (judged: Judged): Judged => {
    if (judged.verdict !== "kept") return judged;
    const versions = [...versionsOf(judged)];
    const age = Math.max(
      0,
      ...versions.map((version) => o.newest - orderOf(version, orders, judged.group.members)),
    );
    if (versions.length <= 1 && age <= o.maxStaleness) {
      ages.push(age);
      return judged;
    }
    dropped++;
    return { ...judged, verdict: "stale" };
  };
  // A group that is both sampled and kept is judged once.
  const fresh = new Map(collected.sampled.map((judged) => [judged, judge(judged)]));
  return {
    collected: {
      ...collected,
      sampled: collected.sampled.map((judged) => fresh.get(judged)!),
      kept: collected.kept.map((judged) => fresh.get(judged)!).filter(({ verdict }) => verdict === "kept"),
    },
    metrics: {
      staleness_mean: ages.reduce((sum, age) => sum + age, 0) / Math.max(1, ages.length),
      staleness_max: Math.max(0, ...ages),
      stale_groups: dropped,
    },
  };
}

function orderOf(version: number, orders: ReadonlyMap<number, number>, members: readonly Scored[]): number {
  const order = orders.get(version);
  if (order !== undefined) return order;
  throw new InvariantError({
    what: "an episode was sampled by a version that its step was not given",
    where: `task ${members[0]?.task.id}`,
    got: String(version),
    expected: [...orders.keys()].join(", "),
  });
}
