import type { AblationReport } from "../ablation-table.ts";
import type { EvalResult } from "../evaluate.ts";
import type { SearchValue } from "../search-value.ts";
import type { Comparison } from "../table.ts";
import type { Interval, Rate } from "../wilson.ts";
import type { ReportedTeam } from "./team-report.ts";

/** A value at a step, with its 95 % interval where one can be given. */
export interface Point extends Partial<Interval> {
  readonly step: number;
  readonly value: number;
  /** What the interval counts: groups of a training step, questions of an evaluation, seeds of an ablation's cell. */
  readonly n?: number;
}

export interface Curve {
  readonly name: string;
  /** `line`: a value each step. `points`: measured now and then, drawn with error bars. */
  readonly kind: "line" | "points";
  readonly points: readonly Point[];
  /** Name of the curve of the same figure whose colour it has: what it measures is the same. */
  readonly like?: string;
}

/** Sections of the report, in order. */
export const sections = {
  searches: "Searches and budgets",
  curves: "Learning curves",
  answers: "Exact match",
  reward: "Reward and its parts",
  signal: "Groups with and without signal",
  behaviour: "What the policy does",
  team: "Team",
  optimiser: "The updates",
  warmUp: "Warm-up",
} as const;

/** Curves that are shown together. */
export interface Figure {
  /** Unique, letters and dashes. */
  readonly id: string;
  readonly section: keyof typeof sections;
  readonly title: string;
  /** What the values are and what the intervals mean. */
  readonly caption: string;
  /** `share`: all values lie in [0, 1] and the axis shows all of it. */
  readonly range: "share" | "free";
  /** `stack`: the curves are shares of one whole, drawn on top of each other. */
  readonly form: "curves" | "stack";
  /** What `step` of its points counts, where that is not updates: "searches answered". */
  readonly axis?: string;
  readonly curves: readonly Curve[];
}

/** What became of the groups that training sampled. */
export interface GroupCount {
  readonly verdict: string;
  readonly says: string;
  readonly groups: number;
  /** Of all groups sampled, with Wilson's interval. */
  readonly share: Rate;
}

/** Questions of both evaluations, by whether they were right before and after. */
export interface Flips {
  readonly gained: number;
  readonly lost: number;
  readonly bothRight: number;
  readonly bothWrong: number;
}

export interface ReportedComparison extends Comparison {
  /** Absent where the records are gone, or a question has several samples. */
  readonly flips?: Flips;
}

export interface ReportedEvaluation extends EvalResult {
  /** How far it came, when it is not finished. */
  readonly partial?: string;
}

/** One episode as it is shown. */
export interface ShownEpisode {
  readonly label: string;
  readonly right: boolean;
  readonly outcome: string;
  readonly prediction: string | null;
  readonly turns: number;
  readonly searches: number;
  readonly segments: readonly { readonly source: string; readonly text: string }[];
}

/** Episodes to read, and how they were chosen. */
export interface Example {
  readonly title: string;
  readonly chosen: string;
  readonly episodes: readonly (ShownEpisode & {
    readonly question: string;
    readonly goldenAnswers: readonly string[];
  })[];
}

export interface Alarm {
  readonly text: string;
  readonly steps: number;
  readonly first: number;
  readonly last: number;
}

/** What `forager search-value` measured on one benchmark in one mode. */
export interface MeasuredSearch {
  readonly title: string;
  readonly benchmark: string;
  readonly mode: string;
  readonly value: SearchValue;
}

/** What a report may be of, in words. */
export const reportKinds = {
  run: "training run",
  evaluation: "evaluation",
  ablation: "ablation",
  "search-value": "value of search",
} as const;

/** Everything a report says, in data: each format is a rendering of this. The same run gives the same report. */
export interface Report {
  readonly format: "forager-report";
  readonly kind: keyof typeof reportKinds;
  readonly name: string;
  /** Why it is not the whole; empty for a run or evaluation that is finished. */
  readonly partial: readonly string[];
  /** The result in one or two sentences. */
  readonly headline: readonly string[];
  /** What made it, in order. */
  readonly facts: readonly { readonly name: string; readonly value: string }[];
  readonly comparisons: readonly ReportedComparison[];
  readonly evaluations: readonly ReportedEvaluation[];
  readonly figures: readonly Figure[];
  readonly groups: readonly GroupCount[];
  /** Where a team played: tokens and calls by role, what the bill is made of, hacks, stages. Curves are among the figures. */
  readonly team?: ReportedTeam;
  readonly example?: Example;
  readonly alarms: readonly Alarm[];
  /** Of an ablation: every cell against the base. Its curves are among the figures. */
  readonly ablation?: Omit<AblationReport, "curves">;
  /** Of `forager search-value`: one for each benchmark and mode. */
  readonly searchValue?: readonly MeasuredSearch[];
  /** Name of the base model's folder, where there is one. */
  readonly baseModel?: string;
}
