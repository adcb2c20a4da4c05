import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../core/files.ts";
import type { Task } from "../datasets/task.ts";
import type { Rolled } from "../rollout/groups.ts";
import type { Group, Trajectory } from "../rollout/trajectory.ts";
import type { ShareEpisodes } from "./setup.ts";

/** Episodes that several cells of an ablation would play alike, kept in files: the first that asks plays them. */
export interface SharedEpisodes {
  /** For runs with one key: same policy, same way of playing. */
  of(key: string): ShareEpisodes;
  /** Batches played and batches that were there already. */
  readonly counts: { readonly played: number; readonly reused: number };
}

export function sharedEpisodes(folder: string): SharedEpisodes {
  const underWay = new Map<string, Promise<Rolled>>();
  const counts = { played: 0, reused: 0 };

  async function playAndKeep(file: string, play: () => Promise<Rolled>): Promise<Rolled> {
    const rolled = await play();
    counts.played++;
    // What infrastructure broke is played anew by whoever asks next.
    const whole = rolled.leftOut.length + rolled.tooFew.length + rolled.retried.length === 0;
    if (whole) writeFileAtomic(file, JSON.stringify(rolled));
    return rolled;
  }

  return {
    counts,
    of: (key) => async (batch, play) => {
      const name = JSON.stringify([key, batch.draws, batch.tasks.map(({ id }) => id)]);
      const file = join(folder, `${createHash("sha256").update(name).digest("hex").slice(0, 24)}.json`);
      // Another cell may be playing them now; should it fail, this one plays them itself.
      await underWay.get(file)?.catch(() => undefined);
      if (existsSync(file)) {
        counts.reused++;
        return withTasks(JSON.parse(readFileSync(file, "utf8")) as Rolled, batch.tasks);
      }
      const played = playAndKeep(file, play).finally(() => underWay.delete(file));
      underWay.set(file, played);
      return played;
    },
  };
}

/** With the asker's own tasks: its scorer may leave out other gold answers. */
function withTasks({ groups, ...rest }: Rolled, tasks: readonly Task[]): Rolled {
  const known = new Map(tasks.map((task) => [task.id, task]));
  const own = <T extends Trajectory>(trajectory: T): T => ({
    ...trajectory,
    task: known.get(trajectory.task.id) ?? trajectory.task,
  });
  return {
    ...rest,
    groups: groups.map((group): Group => {
      const members = group.members.map(own);
      return { task: known.get(group.task.id) ?? group.task, members };
    }),
  };
}
