import { ConfigError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import { type TaskSource, taskSource } from "./batch.ts";
import type { ListCurriculum } from "./config.ts";
import { drawShares, easyPlace, easyShare } from "./curriculum.ts";
import { type Guide, unguided } from "./guide.ts";
import type { Task } from "./task.ts";

/** Tasks of which a batch has a share. */
interface Pool {
  readonly tasks: readonly Task[];
  readonly share: number;
}

/**
 * Batches over a finite list, as `taskSource` gives them unless something says which tasks come next: easy ones first, a
 * band of measured solve rates, or a run's guide that asks for harder ones.
 * @param o.steps of the whole run
 * @throws ConfigError for a list without an easy task where easy ones come first
 */
export function guidedSource(
  tasks: readonly Task[],
  seed: number,
  { easyFirst, solveRate, steps }: ListCurriculum & { readonly steps: number },
): TaskSource {
  const plain = taskSource(tasks, seed);
  const sorted = [...tasks].sort((a, b) => (a.id < b.id ? -1 : 1));
  const easy = easyFirst ? easyOf(sorted, easyFirst.hops) : [];
  const place = easyFirst && easyPlace(easyFirst, steps);

  const pools = (step: number, { harder, solved }: Guide): Pool[] => {
    const e = place ? easyShare(place, step) : 0;
    const rest = (1 - e) * (1 - harder);
    const rate = ({ id }: Task) => {
      const count = solved.get(id);
      return count && count.right / count.episodes;
    };
    const inBand = (task: Task) => {
      const r = rate(task);
      return r === undefined || (r >= solveRate!.low && r <= solveRate!.high);
    };
    const bands: Pool[] = solveRate
      ? [
          { tasks: sorted.filter(inBand), share: rest * (1 - solveRate.outside) },
          { tasks: sorted.filter((task) => !inBand(task)), share: rest * solveRate.outside },
        ]
      : [{ tasks: sorted, share: rest }];
    return [
      { tasks: easy, share: e },
      { tasks: harder > 0 ? hardOf(sorted, rate) : [], share: (1 - e) * harder },
      ...bands,
    ];
  };

  return {
    measured: solveRate !== undefined,
    batch(step, size, refill = 0, guide = unguided) {
      const now = pools(step, guide);
      if (!solveRate && now[0]?.share === 0 && guide.harder === 0) return plain.batch(step, size, refill);
      const queues = now.map(({ tasks }, i) => rng(seed, "guided", step, i).shuffle(tasks));
      const all = rng(seed, "guided", step, "all").shuffle(sorted);
      const places = (r: number) =>
        drawShares(
          now.map(({ share }) => share),
          size,
          rng(seed, "guided places", step, r),
        );
      return take(queues, all, Array.from({ length: refill + 1 }, (_, r) => places(r)).flat()).slice(-size);
    },
  };
}

/** One task for each place, from the queue it names; where that is used up any other, and where all are, from the start. */
function take(queues: readonly (readonly Task[])[], all: readonly Task[], places: readonly number[]): Task[] {
  let used = new Set<Task>();
  const next = (queue: readonly Task[]) => queue.find((task) => !used.has(task));
  return places.map((place) => {
    let task = next(queues[place]!) ?? next(all);
    if (task === undefined) {
      used = new Set();
      task = next(queues[place]!) ?? all[0]!;
    }
    used.add(task);
    return task;
  });
}

function easyOf(tasks: readonly Task[], hops: readonly number[]): Task[] {
  const easy = tasks.filter((task) => hops.includes(task.hops));
  if (easy.length > 0) return easy;
  throw new ConfigError({
    what: "no question is an easy one",
    where: "data.train.easyFirst.hops",
    got: hops.join(", "),
    expected: `some of ${[...new Set(tasks.map((task) => task.hops))].sort((a, b) => a - b).join(", ")}`,
    next: "Name hop counts that the questions have, or leave easyFirst out.",
  });
}

/** The harder half by measured solve rate, where half of the list was measured; else the tasks of the most hops. */
function hardOf(tasks: readonly Task[], rate: (task: Task) => number | undefined): Task[] {
  const measured = tasks.flatMap((task) => {
    const r = rate(task);
    return r === undefined ? [] : [{ task, r }];
  });
  if (2 * measured.length >= tasks.length) {
    measured.sort((a, b) => a.r - b.r || (a.task.id < b.task.id ? -1 : 1));
    return measured.slice(0, Math.ceil(measured.length / 2)).map(({ task }) => task);
  }
  const most = tasks.reduce((n, task) => Math.max(n, task.hops), 0);
  return tasks.filter((task) => task.hops === most);
}
