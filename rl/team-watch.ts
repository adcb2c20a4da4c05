import type { Scored } from "../reward/scored.ts";
import type { Auditor } from "../reward/team/audit.ts";
import { teamMetrics } from "../reward/team/metrics.ts";
import { hackFindings, type TeamRules } from "../reward/team/watch.ts";

/** What is looked for in a team's training episodes, and who audits some of them. */
export interface TeamWatch {
  readonly rules: TeamRules;
  readonly auditor?: Auditor;
}

/** Something about a step's episodes that its metrics cannot hold. */
export interface StepEvent {
  readonly name: "hack" | "audit";
  readonly data: unknown;
}

export interface Seen {
  /** `team/…`, `hack/NAME` (and `hack/NAME_episodes`), `audit/…`; nothing where no team played. */
  readonly metrics: Readonly<Record<string, number>>;
  /** A `hack` for each detector whose value reached its threshold, with example episodes; an `audit` for each audited one. */
  readonly events: readonly StepEvent[];
}

/** Looks at all episodes of a step, dropped ones included. */
export async function seenOf(
  watch: TeamWatch | undefined,
  episodes: readonly Scored[],
  step: number,
  signal: AbortSignal = new AbortController().signal,
): Promise<Seen> {
  if (!watch) return { metrics: {}, events: [] };
  const findings = hackFindings(episodes, watch.rules);
  const audit = await watch.auditor?.audit(episodes, step, signal);
  return {
    metrics: {
      ...teamMetrics(episodes, watch.rules.normalizer),
      ...Object.fromEntries(
        findings.flatMap(({ name, value, episodes }) => [
          [`hack/${name}`, value],
          [`hack/${name}_episodes`, episodes],
        ]),
      ),
      ...audit?.metrics,
    },
    events: [
      ...findings.flatMap(({ found, ...data }) => (found ? [{ name: "hack" as const, data }] : [])),
      ...(audit?.episodes ?? []).map((data) => ({ name: "audit" as const, data })),
    ],
  };
}
