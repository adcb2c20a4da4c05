import { ConfigError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import type { Task } from "../datasets/task.ts";
import type { Setup } from "./setup.ts";

/** Questions to look at: those of a benchmark in its recorded order, or those that training draws. */
export interface Split {
  readonly name: string;
  readonly benchmark: boolean;
  /** The first `n`, or as many as there are. */
  first(n: number): readonly Task[];
}

/** An endless source of training questions is looked through this far. */
const far = 2000;

/**
 * A split by name; without one the first benchmark, or training when there is none.
 * @throws ConfigError for a name that the config does not have
 */
export function splitOf(setup: Setup, name?: string): Split {
  const { benchmarks } = setup;
  const wanted = name ?? benchmarks[0]?.name ?? "train";
  const found = benchmarks.find((each) => each.name === wanted);
  if (found) return { name: wanted, benchmark: true, first: (n) => found.tasks.slice(0, n) };
  if (wanted === "train") return { name: wanted, benchmark: false, first: (n) => drawn(setup, n) };
  const names = ["train", ...benchmarks.map((each) => each.name)];
  const close = nearest(wanted, names);
  throw new ConfigError({
    what: `there is no split \`${wanted}\``,
    where: "--split",
    expected: `one of ${names.join(", ")}`,
    ...(close ? { next: `Did you mean \`${close}\`?` } : {}),
  });
}

/** What training draws, step after step; of a file each question once. */
function drawn({ source, trainTasks, config }: Setup, n: number): readonly Task[] {
  if (trainTasks) return source.batch(0, Math.min(n, trainTasks.length));
  const size = config.rollout.tasksPerStep;
  const steps = Array.from({ length: Math.ceil(n / size) }, (_, step) => source.batch(step, size));
  return steps.flat().slice(0, n);
}

/** Every question of a split that can be named by its id. */
export function allOf(setup: Setup, split: Split): readonly Task[] {
  const most = split.benchmark ? Number.POSITIVE_INFINITY : (setup.trainTasks?.length ?? far);
  return split.first(most);
}

/** One question by its id, in one split or, without a name, in every one. @throws ConfigError when it is nowhere */
export function questionById(setup: Setup, id: string, name?: string): { task: Task; split: Split } {
  const names = name === undefined ? [...setup.benchmarks.map((each) => each.name), "train"] : [name];
  const splits = names.map((each) => splitOf(setup, each));
  for (const split of splits) {
    const task = allOf(setup, split).find((each) => each.id === id);
    if (task) return { task, split };
  }
  const some = splits.flatMap((split) => split.first(3).map((task) => task.id));
  throw new ConfigError({
    what: "there is no question with this id",
    where: `--question ${id}`,
    expected: `an id of ${names.join(" or ")}, such as ${some.slice(0, 3).join(", ")}`,
    next: "`forager rollout` names the id of each question that it plays.",
  });
}

/** A whole number of 1 or more. @throws ConfigError */
export function checkCount(option: string, value: number, most = 100_000): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new ConfigError({
    what: `--${option} is wrong`,
    got: `${value}`,
    expected: `a whole number from 1 to ${most}`,
  });
}
