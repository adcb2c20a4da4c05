import { openStore } from "./open-store.ts";
import { hasTasks, type Metrics, type Phase, type StepMetrics } from "./run-db.ts";

/** The numbers of one scored episode of a step, without its texts and tokens. */
export interface EpisodeNumbers {
  /** Place of its group in the step. */
  readonly group: number;
  /** Of its question; absent in the store of an earlier version. */
  readonly hops?: number;
  readonly reward: number;
  readonly parts: Readonly<Record<string, number>>;
  readonly turns: number;
  readonly searches: number;
  /** Absent where the run keeps no tokens. */
  readonly policyTokens?: number;
  readonly totalTokens?: number;
}

/** What a run has recorded, read without changing anything and without loading what was said. */
export interface RunNumbers {
  /** Of every committed step, warm-up first. */
  readonly steps: readonly StepMetrics[];
  readonly events: (name: string) => readonly { readonly step: number; readonly data: unknown }[];
  /** Scored episodes of each RL step, in order, one step in memory at a time. */
  episodes(): Iterable<{ readonly step: number; readonly episodes: readonly EpisodeNumbers[] }>;
  /** Groups of each RL step by what became of them. */
  readonly verdicts: readonly { readonly step: number; readonly verdict: string; readonly groups: number }[];
  /** Groups sampled in RL, and how many different questions they are of. */
  readonly tasks: { readonly sampled: number; readonly different: number };
  close(): void;
}

interface Row {
  step: number;
  grp: number;
  hops: number | null;
  reward: number;
  parts: string;
  turns: number | null;
  searches: number | null;
  policy: number | null;
  total: number | null;
}

/** Ids and log-probabilities are stored four bytes each, so lengths tell token counts without reading them. */
const episodeRows = (
  hops: string,
) => `SELECT step, grp, ${hops} AS hops, reward, parts, json_extract(ending, '$.turns') AS turns,
  json_array_length(ending, '$.searches') AS searches, length(logprobs) / 4 AS policy, length(tokens) / 4 AS total
  FROM trajectories WHERE phase = 'rl' AND reward IS NOT NULL ORDER BY step, grp, member`;
const verdictRows = `SELECT step, verdict, count(DISTINCT grp) AS groups FROM trajectories
  WHERE phase = 'rl' AND grp >= 0 GROUP BY step, verdict ORDER BY step, verdict`;
const taskRow = `SELECT count(*) AS sampled, count(DISTINCT question) AS different FROM
  (SELECT DISTINCT step, grp, question FROM trajectories WHERE phase = 'rl' AND grp >= 0)`;

/** Opens a run's store to read it, also while it trains. @throws CheckpointError when there is none, or it is damaged */
export function openRunNumbers(folder: string): RunNumbers {
  const missing = {
    what: "the run has no store",
    next: "Give a run folder that `forager train` made, with its run.db.",
  };
  return openStore(folder, missing, (db) => {
    const steps = db.prepare("SELECT * FROM steps ORDER BY phase DESC, step").all() as {
      phase: Phase;
      step: number;
      metrics: string;
    }[];
    const hops = hasTasks(db) ? "json_extract(task, '$.hops')" : "NULL";
    return {
      steps: steps.map((row) => ({ ...row, metrics: JSON.parse(row.metrics) as Metrics })),
      events: (name) =>
        (
          db.prepare("SELECT step, data FROM events WHERE name = ? ORDER BY rowid").all(name) as {
            step: number;
            data: string;
          }[]
        ).map(({ step, data }) => ({ step, data: JSON.parse(data) as unknown })),
      *episodes() {
        let at: number | undefined;
        let episodes: EpisodeNumbers[] = [];
        for (const row of db.prepare(episodeRows(hops)).iterate() as IterableIterator<Row>) {
          if (at !== undefined && at !== row.step) {
            yield { step: at, episodes };
            episodes = [];
          }
          at = row.step;
          episodes.push(numbersOf(row));
        }
        if (at !== undefined) yield { step: at, episodes };
      },
      tasks: db.prepare(taskRow).get() as { sampled: number; different: number },
      verdicts: db.prepare(verdictRows).all() as { step: number; verdict: string; groups: number }[],
      close: () => db.close(),
    };
  });
}

const numbersOf = ({ grp, hops, reward, parts, turns, searches, policy, total }: Row): EpisodeNumbers => ({
  group: grp,
  ...(hops === null ? {} : { hops }),
  reward,
  parts: JSON.parse(parts) as Record<string, number>,
  turns: turns ?? 0,
  searches: searches ?? 0,
  ...(policy === null ? {} : { policyTokens: policy }),
  ...(total === null ? {} : { totalTokens: total }),
});
