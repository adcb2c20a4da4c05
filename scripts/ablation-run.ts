import { join } from "node:path";
import type { LimitFunction } from "p-limit";
import { evaluateCell, trainCell } from "./ablation-cell.ts";
import type { AblationPlan, Job } from "./ablation-folder.ts";
import { episodeKey, warmUpKey } from "./ablation-keys.ts";
import type { Ending } from "./ablation-results.ts";
import { cellOutput } from "./cell-output.ts";
import type { Extensions } from "./extensions.ts";
import type { Output } from "./output.ts";
import { showSeconds } from "./progress.ts";
import type { ShareEpisodes } from "./setup.ts";
import { type SharedEpisodes, sharedEpisodes } from "./shared-episodes.ts";

/** Runs every job that is not done, in order; one that fails is noted and the next one runs. */
export async function runJobs(
  out: string,
  plan: AblationPlan,
  o: {
    readonly output: Output;
    readonly signal: AbortSignal;
    readonly extensions?: Extensions;
    readonly jobs: readonly Job[];
    readonly limit: LimitFunction;
  },
): Promise<Map<Job, Ending>> {
  const { jobs, output, signal } = o;
  const endings = new Map<Job, Ending>(jobs.map((job) => [job, { status: "pending" }]));
  const episodes = sharedEpisodes(join(out, "episodes"));
  const warm = new WarmUps(jobs, plan);
  await Promise.all(
    jobs.map((job, i) =>
      o.limit(async () => {
        await warm.turn(job);
        if (signal.aborted) return;
        const { cell, seed } = job;
        const name = `${cell}, seed ${seed} (${i + 1} of ${jobs.length})`;
        const attempt = {
          ...{ signal, began: Date.now(), ...(o.extensions ? { extensions: o.extensions } : {}) },
          output: cellOutput(output, { cell, seed, alone: plan.atOnce === 1 }),
          donors: warm.donors(job),
          share: shareOf(job, { jobs, what: plan.what, episodes, warm: () => warm.over(job) }),
        };
        const start = performance.now();
        try {
          const status =
            plan.what === "train"
              ? await trainCell(job, attempt)
              : await evaluateCell(job, { ...attempt, policy: plan.sampler ?? plan.policy, step: plan.step });
          endings.set(job, { status });
          output.line(`${name}: ${status}, ${showSeconds((performance.now() - start) / 1e3)}`);
        } catch (error) {
          if (signal.aborted) return void endings.set(job, { status: "interrupted" });
          const message = error instanceof Error ? error.message : String(error);
          endings.set(job, { status: "failed", error: message });
          output.warn(`${name} failed: ${message}`);
        } finally {
          warm.over(job);
        }
        output.event("cell", { cell, seed, ...endings.get(job) });
      }),
    ),
  );
  const { played, reused } = episodes.counts;
  if (reused > 0)
    output.line(
      `batches of episodes that cells have in common: ${played} played, ${reused} taken from another cell`,
    );
  return endings;
}

/** Episodes are kept where another cell of the seed would play the same; either way the warm-up is over then. */
function shareOf(
  job: Job,
  o: {
    readonly jobs: readonly Job[];
    readonly what: AblationPlan["what"];
    readonly episodes: SharedEpisodes;
    readonly warm: () => void;
  },
): ShareEpisodes {
  const key = episodeKey(job.loaded.config, o.what);
  const users = o.jobs.filter(({ loaded }) => episodeKey(loaded.config, o.what) === key);
  const share: ShareEpisodes = users.length > 1 ? o.episodes.of(key) : (_batch, play) => play();
  return (batch, play) => {
    o.warm();
    return share(batch, play);
  };
}

/** Which runs start from one warm-up: the first of them makes it, and the others wait until it is there. */
class WarmUps {
  readonly #groups: readonly (readonly Job[])[];
  readonly #done = new Map<Job, { readonly promise: Promise<void>; readonly resolve: () => void }>();

  constructor(jobs: readonly Job[], { what }: AblationPlan) {
    const keys = new Map<string, Job[]>();
    for (const job of what === "train" ? jobs : []) {
      const key = warmUpKey(job.loaded.config);
      keys.set(key, [...(keys.get(key) ?? []), job]);
    }
    this.#groups = [...keys.values()];
    for (const job of jobs) {
      let resolve = () => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#done.set(job, { promise, resolve });
    }
  }

  #before(job: Job): readonly Job[] {
    const group = this.#groups.find((jobs) => jobs.includes(job)) ?? [];
    return group.slice(0, group.indexOf(job));
  }

  /** Waits for the one that warms up first. Jobs begin in order, so it has begun. */
  async turn(job: Job): Promise<void> {
    await Promise.all(this.#before(job).map((other) => this.#done.get(other)?.promise));
  }

  /** The warm-up of a run is saved, or the run has ended. */
  over(job: Job): void {
    this.#done.get(job)?.resolve();
  }

  donors(job: Job): string[] {
    const group = this.#groups.find((jobs) => jobs.includes(job)) ?? [];
    return group.filter((other) => other !== job).map(({ folder }) => folder);
  }
}
