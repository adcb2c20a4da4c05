import { z } from "zod";
import { hackNames, hacks } from "../../reward/team/hacks.ts";
import { openRunNumbers, type RunNumbers } from "../../track/run-numbers.ts";
import { cacheValidity } from "./cache-validity.ts";
import { type TeamCost, teamCost } from "./team-cost.ts";

/** What a detector of hacks saw over a run. */
export interface HackSummary {
  readonly name: string;
  readonly measures: string;
  /** Means of steps, in [0, 1]. */
  readonly mean: number;
  readonly highest: number;
  /** Step of the highest. */
  readonly at: number;
  readonly last: number;
  /** From where its action is taken; absent where the config is gone. */
  readonly threshold?: number;
  readonly action?: string;
  /** Steps on which that was reached. */
  readonly found: number;
}

/** A stage of who learns. */
export interface StageSummary {
  /** Its first step, from 1. */
  readonly from: number;
  readonly learn: readonly string[];
  /** Fingerprint of each adapter as the stage began: it stands still while the adapter is frozen. */
  readonly sha256: Readonly<Record<string, string>>;
}

export interface ReportedTeam {
  readonly cost: TeamCost;
  readonly hacks: readonly HackSummary[];
  readonly stages: readonly StageSummary[];
}

/** `reward.hacks` as far as it is told here. */
export type HackRules = Readonly<
  Record<
    string,
    { readonly threshold?: number | undefined; readonly action?: string | undefined } | undefined
  >
>;

/** Everything about the team of a run; undefined where none played. */
export function teamReport(
  run: RunNumbers,
  o: Parameters<typeof teamCost>[1] & { readonly rules?: HackRules | undefined },
): ReportedTeam | undefined {
  const cost = teamCost(run.steps, { tasks: run.tasks, ...o });
  return cost && { cost, hacks: hackSummaries(run, o.rules ?? {}), stages: stagesOf(run) };
}

/** The account alone, of the run in this folder. */
export function teamCostOf(folder: string, o: Parameters<typeof teamCost>[1]): TeamCost | undefined {
  const run = openRunNumbers(folder);
  try {
    return teamCost(run.steps, { tasks: run.tasks, cache: cacheValidity(folder), ...o });
  } finally {
    run.close();
  }
}

function hackSummaries(run: RunNumbers, rules: HackRules): HackSummary[] {
  const found = run.events("hack").map(({ data }) => (data as { name: string }).name);
  return hackNames.flatMap((name): HackSummary[] => {
    const values = run.steps.flatMap(({ phase, step, metrics }) => {
      const value = metrics[`hack/${name}`];
      return phase !== "rl" || value === undefined ? [] : [{ step, value }];
    });
    const [first] = values;
    if (!first) return [];
    const highest = values.reduce((most, each) => (each.value > most.value ? each : most), first);
    const { threshold, action } = rules[name] ?? {};
    return [
      {
        ...{ name, measures: hacks[name].measures },
        mean: values.reduce((sum, { value }) => sum + value, 0) / values.length,
        ...{ highest: highest.value, at: highest.step, last: values.at(-1)?.value ?? 0 },
        ...(threshold === undefined ? {} : { threshold }),
        ...(action === undefined ? {} : { action }),
        found: found.filter((each) => each === name).length,
      },
    ];
  });
}

const stageShape = z.object({ learn: z.array(z.string()), sha256: z.record(z.string(), z.string()) });

const stagesOf = (run: RunNumbers): StageSummary[] =>
  run.events("stage").flatMap(({ step, data }) => {
    const parsed = stageShape.safeParse(data);
    return parsed.success ? [{ from: step + 1, ...parsed.data }] : [];
  });
