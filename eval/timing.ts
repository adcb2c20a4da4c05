import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { quantileSorted } from "simple-statistics";
import { z } from "zod";
import type { Trajectory } from "../rollout/trajectory.ts";

/** Wall times, beside the records: a clock has no place in a file that is the same for the same evaluation. */
const timing = z.object({
  id: z.string(),
  sample: z.int(),
  /** Of the episode, waiting for its batch mates and the server included. */
  seconds: z.number(),
  /** Of each search that was executed; repeated ones are answered from memory. */
  searchMilliseconds: z.array(z.number()),
});
type Timing = z.infer<typeof timing>;

const fileIn = (folder: string) => join(folder, "timings.jsonl");

/** Appends the times of episodes. A kill may tear a line; that costs a time, never a record. */
export function appendTimings(folder: string, episodes: readonly Trajectory[]): void {
  const lines = episodes.map(({ task, member, seconds, ending }): string => {
    const searches = (ending?.searches ?? []).filter(({ repeated }) => !repeated);
    const searchMilliseconds = searches.map(({ milliseconds }) => round(milliseconds));
    const line: Timing = { id: task.id, sample: member, seconds: round(seconds), searchMilliseconds };
    return `${JSON.stringify(line)}\n`;
  });
  appendFileSync(fileIn(folder), lines.join(""));
}

export interface Latency {
  /** Episodes with a time. */
  readonly episodes: number;
  readonly medianSeconds: number;
  readonly p95Seconds: number;
  /** Absent where no search was executed. */
  readonly medianSearchMilliseconds?: number;
  readonly p95SearchMilliseconds?: number;
}

/** How long the episodes of an evaluation took; undefined where nobody wrote it down. */
export function readLatency(folder: string): Latency | undefined {
  const path = fileIn(folder);
  if (!existsSync(path)) return undefined;
  const latest = new Map<string, Timing>();
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const parsed = timing.safeParse(parse(line));
    if (parsed.success) latest.set(`${parsed.data.sample} ${parsed.data.id}`, parsed.data);
  }
  const all = [...latest.values()];
  if (all.length === 0) return undefined;
  const seconds = ascending(all.map((each) => each.seconds));
  const searches = ascending(all.flatMap(({ searchMilliseconds }) => searchMilliseconds));
  return {
    episodes: all.length,
    medianSeconds: quantileSorted(seconds, 0.5),
    p95Seconds: quantileSorted(seconds, 0.95),
    ...(searches.length === 0
      ? {}
      : {
          medianSearchMilliseconds: quantileSorted(searches, 0.5),
          p95SearchMilliseconds: quantileSorted(searches, 0.95),
        }),
  };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

const ascending = (values: readonly number[]) => [...values].sort((a, b) => a - b);
const round = (value: number) => Math.round(value * 1000) / 1000;
