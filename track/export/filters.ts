import { isPolicyOutcome, type Outcome } from "../../rollout/trajectory.ts";
import type { Candidate } from "./store.ts";

export interface Filters {
  readonly minReward?: number | undefined;
  readonly maxReward?: number | undefined;
  /** Outcomes to keep; all that are the policy's own when absent. */
  readonly outcomes?: readonly string[] | undefined;
  /** Most tokens of a sequence. */
  readonly maxTokens?: number | undefined;
  readonly fromStep?: number | undefined;
  readonly toStep?: number | undefined;
  /** Only groups that the run trained on. */
  readonly keptOnly?: boolean | undefined;
  /** True for an episode of a question that a benchmark asks too. */
  readonly inBenchmark?: ((candidate: Candidate) => boolean) | undefined;
  /** Of episodes of one question that say the same, keep the first. */
  readonly dedupe?: boolean | undefined;
  /** Most episodes of one question: those with the most reward, of these the latest. */
  readonly perQuestion?: number | undefined;
}

/** Why an episode was left out, and how many were; in the order in which the rules are asked. */
export type Counts = Readonly<Record<string, number>>;

export interface Selection {
  readonly chosen: readonly Candidate[];
  readonly seen: number;
  readonly leftOut: Counts;
}

type Rule = (candidate: Candidate, f: Filters) => boolean;

/** Rules by the reason that they give; true leaves out. First match wins. */
const rules: Readonly<Record<string, Rule>> = {
  infrastructure: ({ outcome }) => !isPolicyOutcome(outcome as Outcome),
  unscored: ({ reward }) => reward === null,
  step: ({ step }, { fromStep, toStep }) =>
    step < (fromStep ?? 0) || step > (toStep ?? Number.POSITIVE_INFINITY),
  "not trained on": ({ verdict }, { keptOnly }) => keptOnly === true && verdict !== "kept",
  outcome: ({ outcome }, { outcomes }) => outcomes !== undefined && !outcomes.includes(outcome),
  reward: ({ reward }, { minReward, maxReward }) =>
    reward! < (minReward ?? Number.NEGATIVE_INFINITY) || reward! > (maxReward ?? Number.POSITIVE_INFINITY),
  length: ({ tokens }, { maxTokens }) => tokens > (maxTokens ?? Number.POSITIVE_INFINITY),
  benchmark: (candidate, { inBenchmark }) => inBenchmark?.(candidate) ?? false,
};

/** Chooses episodes; what is left out is counted under the first reason that holds. */
export function select(candidates: Iterable<Candidate>, filters: Filters): Selection {
  const counts = new Map<string, number>();
  const leave = (reason: string) => counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const digests = new Set<string>();
  let seen = 0;
  let chosen: Candidate[] = [];
  for (const candidate of candidates) {
    seen++;
    const reason = Object.keys(rules).find((name) => rules[name]!(candidate, filters));
    if (reason !== undefined) leave(reason);
    else if (filters.dedupe && digests.has(candidate.digest)) leave("duplicate");
    else {
      digests.add(candidate.digest);
      chosen.push(candidate);
    }
  }
  if (filters.perQuestion !== undefined) {
    const best = new Set(bestOfEach(chosen, filters.perQuestion));
    for (const candidate of chosen) if (!best.has(candidate)) leave("per question");
    chosen = chosen.filter((candidate) => best.has(candidate));
  }
  return { chosen, seen, leftOut: Object.fromEntries(counts) };
}

/** The best `limit` episodes of each question; ties go to the later step, then to the earlier place. */
function bestOfEach(candidates: readonly Candidate[], limit: number): Candidate[] {
  return [...groupBy(candidates, ({ taskId }) => taskId).values()].flatMap((all) =>
    all
      .toSorted(
        (a, b) => b.reward! - a.reward! || b.step - a.step || a.group - b.group || a.member - b.member,
      )
      .slice(0, limit),
  );
}

export function groupBy<T>(items: Iterable<T>, key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = key(item);
    const group = groups.get(name);
    if (group) group.push(item);
    else groups.set(name, [item]);
  }
  return groups;
}
