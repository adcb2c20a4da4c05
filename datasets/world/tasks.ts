import { ConfigError } from "../../core/errors.ts";
import { type Rng, rng } from "../../core/rng.ts";
import type { TaskSource } from "../batch.ts";
import { type Curriculum, drawHops, type HopMix, uniformMix } from "../curriculum.ts";
import { unguided } from "../guide.ts";
import type { Task } from "../task.ts";
import type { Split, World } from "../world.ts";

export interface WorldTasks {
  readonly world: World;
  readonly split: Split;
  /** Questions to draw. */
  readonly n: number;
  /** Default: as many of one, two and three hops. */
  readonly hopMix?: HopMix;
  readonly seed: number;
}

/**
 * A fixed set of n questions about one split, all different in what they ask.
 * @throws ConfigError when the split does not hold that many.
 */
export function worldTasks({ world, split, n, hopMix = uniformMix, seed }: WorldTasks): Task[] {
  return drawTasks(world, split, hopMix, n, rng(seed, "world tasks", split));
}

export interface WorldStream {
  readonly world: World;
  readonly split: Split;
  readonly curriculum: Curriculum;
  readonly seed: number;
}

/** An endless source: every step and every refill draws its own questions. Repeats over steps are by chance alone. */
export function worldSource({ world, split, curriculum, seed }: WorldStream): TaskSource {
  return {
    batch: (step, size, refill = 0, { harder } = unguided) => {
      const mix = curriculum(step, harder);
      return drawTasks(world, split, mix, size, rng(seed, "world stream", split, step, refill));
    },
  };
}

function drawTasks(world: World, split: Split, mix: HopMix, n: number, draw: Rng): Task[] {
  const [from, to] = world.splits[split];
  const asked = new Set<string>();
  return drawHops(mix, n, draw).map((hops) => {
    for (let tries = 0; tries < 1000; tries++) {
      const { task } = world.question(draw, from + draw.int(to - from), hops);
      const content = task.id.split("#")[0] as string;
      if (asked.size < asked.add(content).size) return task;
    }
    throw new ConfigError({
      where: `${world.name}, ${split}`,
      what: `too few different questions of ${hops} ${hops === 1 ? "hop" : "hops"}`,
      got: `${n} questions asked of ${to - from} clusters`,
      expected: "about 200 one-hop questions a cluster at most",
      next: "Ask for fewer questions or more clusters.",
    });
  });
}
