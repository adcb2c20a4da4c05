import type { EpisodeNumbers, RunNumbers } from "../../track/run-numbers.ts";
import { clusteredMean } from "../statistics.ts";
import { wilson, z95 } from "../wilson.ts";
import type { Curve, Point } from "./report.ts";

/** A metric of training, and where it can be told how it spreads over a step's episodes. */
export interface Measure {
  readonly name: string;
  /** Name of the metric in run.db: the value that is shown. */
  readonly metric: string;
  /** The same of one episode, for the interval. */
  readonly of?: (episode: EpisodeNumbers) => number | undefined;
}

/** How one step's episodes spread. */
interface Spread {
  readonly groups: number;
  /** Half the width of the interval by the clustered standard error. */
  readonly half: number;
  /** Every value lies in [0, 1]. */
  readonly share: boolean;
}

/**
 * Curves over the steps of RL; a measure that no step has gives none. The value is the run's own metric. The interval
 * treats a group (one question) as the unit: Wilson's over the number of groups where all values of the run lie in
 * [0, 1], which is on the wide side for means of several episodes; else the mean's clustered standard error.
 */
export function trainingCurves(run: RunNumbers, measures: readonly Measure[]): Map<string, Curve> {
  const spreads = new Map(measures.map(({ metric }) => [metric, new Map<number, Spread>()]));
  for (const { step, episodes } of run.episodes())
    for (const { metric, of } of measures) {
      const spread = of && spreadOf(episodes, of);
      if (spread) spreads.get(metric)?.set(step, spread);
    }
  const rl = run.steps.filter(({ phase }) => phase === "rl");
  return new Map(
    measures.flatMap(({ name, metric }) => {
      const own = spreads.get(metric) ?? new Map<number, Spread>();
      const share = [...own.values()].every((spread) => spread.share);
      const points = rl.flatMap(({ step, metrics }): Point[] => {
        const value = metrics[metric];
        if (value === undefined) return [];
        const spread = own.get(step);
        return [{ step, value, ...(spread && intervalOf(value, spread, share)) }];
      });
      return points.length === 0 ? [] : [[metric, { name, kind: "line", points }] as const];
    }),
  );
}

function intervalOf(value: number, { groups: n, half }: Spread, share: boolean): Partial<Point> {
  if (share) return { ...wilson(Math.min(n, Math.max(0, value * n)), n), n };
  return { low: value - half, high: value + half, n };
}

function spreadOf(
  episodes: readonly EpisodeNumbers[],
  of: (episode: EpisodeNumbers) => number | undefined,
): Spread | undefined {
  const values: number[] = [];
  const groups: string[] = [];
  for (const episode of episodes) {
    const value = of(episode);
    if (value === undefined) continue;
    values.push(value);
    groups.push(String(episode.group));
  }
  const { clusters, standardError } = clusteredMean(values, groups);
  if (clusters < 2) return undefined;
  const share = values.every((value) => value >= 0 && value <= 1);
  return { groups: clusters, half: z95 * standardError, share };
}
