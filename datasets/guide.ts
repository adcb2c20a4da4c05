/** Episodes of one task, later ones weighing more, and how many of them were right. */
export interface SolveCount {
  readonly episodes: number;
  readonly right: number;
}

/** What a run's earlier steps say about which tasks come next. */
export interface Guide {
  /** Share of the tasks, 0 … 1, that are taken from the hardest ones whatever the mix says. */
  readonly harder: number;
  /** Of each task that was played, by its id. */
  readonly solved: ReadonlyMap<string, SolveCount>;
}

/** A run that has said nothing yet. */
export const unguided: Guide = { harder: 0, solved: new Map() };

/** What each earlier measurement of a task still weighs once there is a new one. */
const memory = 0.5;

/**
 * Solve counts of a run, step by step. What a later step measures halves the weight of the task's earlier steps: a policy
 * that learns soon answers what it could not. The same steps in the same order give the same numbers.
 */
export class SolveRates {
  readonly #counts = new Map<string, SolveCount>();

  get counts(): ReadonlyMap<string, SolveCount> {
    return this.#counts;
  }

  /** Adds one step's judged episodes. */
  add(episodes: Iterable<{ readonly taskId: string; readonly right: boolean }>): void {
    const step = new Map<string, { episodes: number; right: number }>();
    for (const { taskId, right } of episodes) {
      const count = step.get(taskId) ?? { episodes: 0, right: 0 };
      count.episodes++;
      if (right) count.right++;
      step.set(taskId, count);
    }
    for (const [taskId, now] of step) {
      const before = this.#counts.get(taskId);
      this.#counts.set(taskId, {
        episodes: now.episodes + memory * (before?.episodes ?? 0),
        right: now.right + memory * (before?.right ?? 0),
      });
    }
  }
}
