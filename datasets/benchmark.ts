import { DataError, InvariantError } from "../core/errors.ts";
import { seedOf } from "../core/rng.ts";
import type { Task } from "./task.ts";

/**
 * The order in which a benchmark is asked, so that EM@k means the same k questions every time: seeded, stratified
 * by data set × hops, and recorded as ids. Among the first k, for every k, each stratum has within one question of
 * its share. It does not depend on the order of `tasks`.
 * Source: Tijdeman (1980), The chairman assignment problem: the eligible stratum with the earliest deadline is next.
 * @throws DataError when two tasks have one id.
 */
export function benchmarkOrder(tasks: readonly Task[], seed: number): readonly string[] {
  const strata = stratify(tasks, seed);
  const n = tasks.length;
  const s = strata.length;
  if (s <= 1) return strata.flatMap(({ ids }) => ids);
  const unit = 2 * s - 2; // All of it in whole numbers: shares times n times unit.
  const taken = new Array<number>(s).fill(0);
  const order: string[] = [];
  for (let k = 1; k <= n; k++) {
    let best = -1;
    let earliest = Number.POSITIVE_INFINITY;
    strata.forEach(({ ids }, i) => {
      const got = taken[i] as number;
      if (got === ids.length || k * ids.length * unit - got * n * unit < n) return;
      const deadline = ((got + 1) * unit - 1) / ids.length;
      if (deadline < earliest) {
        earliest = deadline;
        best = i;
      }
    });
    const next = strata[best]?.ids[taken[best] as number];
    if (next === undefined) throw new InvariantError({ what: "no stratum is eligible", where: `place ${k}` });
    order.push(next);
    taken[best] = (taken[best] as number) + 1;
  }
  return order;
}

/** Ids of each data set × hops, in keyed order within, strata in keyed order too. */
function stratify(tasks: readonly Task[], seed: number): { readonly ids: string[] }[] {
  const seen = new Set<string>();
  const groups = new Map<string, string[]>();
  for (const { id, dataset, hops } of tasks) {
    if (seen.size === seen.add(id).size)
      throw new DataError({
        what: "two questions of the benchmark have one id",
        got: id,
        next: "Give every question its own id.",
      });
    const stratum = `${dataset} ${hops}`;
    groups.set(stratum, [...(groups.get(stratum) ?? []), id]);
  }
  return inKeyedOrder([...groups.keys()], seed, "stratum").map((stratum) => ({
    ids: inKeyedOrder(groups.get(stratum) ?? [], seed, "question"),
  }));
}

function inKeyedOrder(names: readonly string[], seed: number, purpose: string): string[] {
  return names
    .map((name) => ({ name, key: seedOf(seed, "benchmark", purpose, name) }))
    .sort((a, b) => a.key - b.key || (a.name < b.name ? -1 : 1))
    .map(({ name }) => name);
}

/** One number for an order of questions, as an evaluation's manifest names it. */
export function orderChecksum(ids: readonly string[]): number {
  return seedOf(0, "order", ids.join("/"));
}

/** The tasks in a recorded order; tasks that the record does not name are left out. @throws DataError when one is missing. */
export function inOrder(tasks: readonly Task[], order: readonly string[]): Task[] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  return order.map((id) => {
    const task = byId.get(id);
    if (task === undefined)
      throw new DataError({
        what: "a question of the recorded order is missing",
        got: id,
        expected: "the questions that the order was recorded with",
        next: "Use the same benchmark file, or record a new order.",
      });
    return task;
  });
}
