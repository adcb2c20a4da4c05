import { ConfigError } from "../../core/errors.ts";
import { rng } from "../../core/rng.ts";
import type { TaskSource } from "../batch.ts";
import { drawShares } from "../curriculum.ts";
import { unguided } from "../guide.ts";
import type { Task } from "../task.ts";
import type { Split } from "../world.ts";
import type { Family } from "./family.ts";
import type { LevelMix } from "./load.ts";

/** The part of a family that tasks are drawn from. */
export type TaskMaker = Pick<Family, "name" | "levels"> & {
  task(key: { split: Split; level: number; index: number }): { readonly task: Task };
};

export interface FamilyTasks {
  readonly family: TaskMaker;
  readonly split: Split;
  readonly n: number;
  /** Levels, as many tasks of each as can be. */
  readonly difficulty: readonly number[];
}

/** Keys in a row that only bring questions again: then there are no others. */
const mostRepeats = 1000;

/** A fixed set of n tasks, no question twice: the first of the split, whoever asks. @throws ConfigError when there are not that many */
export function familyTasks({ family, split, n, difficulty }: FamilyTasks): Task[] {
  const levels = checkLevels(family, difficulty);
  const asked = new Set<string>();
  const next = levels.map(() => 0);
  return Array.from({ length: n }, (_, i) => {
    const at = i % levels.length;
    for (let repeats = 0; repeats < mostRepeats; repeats++) {
      const index = next[at] as number;
      next[at] = index + 1;
      const { task } = family.task({ split, level: levels[at] as number, index });
      if (asked.size < asked.add(task.question).size) return task;
    }
    throw new ConfigError({
      where: `${family.name}, ${split}`,
      what: `too few different tasks of difficulty ${levels[at]}`,
      got: `${n} tasks asked`,
      next: "Ask for fewer tasks, or for more levels of difficulty.",
    });
  });
}

export interface FamilyStream {
  readonly family: TaskMaker;
  readonly split: Split;
  /** Weights of the levels at a step: a curriculum. */
  readonly mix: LevelMix;
  /** The run's: it orders the batches. */
  readonly seed: number;
}

/** An endless source: every step and every refill draws its own tasks, none twice. Repeats over steps are by chance alone. */
export function familySource({ family, split, mix, seed }: FamilyStream): TaskSource {
  return {
    batch(step, size, refill = 0, { harder } = unguided) {
      const draw = rng(seed, "family stream", family.name, split, step, refill);
      const weights = mix(step, harder);
      checkLevels(
        family,
        weights.map((_, i) => i + 1),
      );
      const asked = new Set<string>();
      return drawShares(weights, size, draw).map((place) => {
        for (let repeats = 0; repeats < mostRepeats; repeats++) {
          const { task } = family.task({ split, level: place + 1, index: draw.int(2 ** 31) });
          if (asked.size < asked.add(task.question).size) return task;
        }
        throw new ConfigError({
          where: `${family.name}, ${split}`,
          what: `too few different tasks of difficulty ${place + 1} for one batch`,
          got: `${size} tasks asked`,
        });
      });
    },
  };
}

function checkLevels({ name, levels }: TaskMaker, difficulty: readonly number[]): readonly number[] {
  const odd = difficulty.find((level) => !Number.isInteger(level) || level < 1 || level > levels);
  if (odd === undefined && difficulty.length > 0) return [...new Set(difficulty)];
  throw new ConfigError({
    where: "difficulty",
    what: `${name} has no such difficulty`,
    got: odd === undefined ? "none" : String(odd),
    expected: `levels from 1 to ${levels}`,
  });
}
