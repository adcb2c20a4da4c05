import { mean } from "simple-statistics";
import { ConfigError } from "../core/errors.ts";
import type { Normalizer } from "../reward/normalize.ts";
import { type AtKName, atKRows } from "./at-k.ts";
import { recallOf } from "./metrics.ts";
import type { AskedQuestion } from "./questions.ts";
import type { EvalRecord } from "./record.ts";

/** What two evaluations can be compared by: one number a question, or none. */
export interface CompareMetric {
  readonly name: string;
  /** Its values cannot leave [0, 1]. */
  readonly unit: boolean;
  readonly of: (question: AskedQuestion, normalizer: Normalizer) => number | undefined;
}

type Read = (record: EvalRecord) => number | undefined;

/** By name: a number of an episode, and whether it stays in [0, 1]. */
const rows: Readonly<Record<string, readonly [read: Read, unit: boolean]>> = {
  em: [({ em }) => em, true],
  f1: [({ f1 }) => f1, true],
  coverEm: [({ coverEm }) => coverEm, true],
  judge: [({ parts }) => parts?.judge, false],
  recall: [recallOf, true],
  reward: [({ reward }) => reward, false],
  turns: [({ turns }) => turns, false],
  searches: [({ searches }) => searches, false],
  noSearch: [({ searches }) => (searches === 0 ? 1 : 0), true],
  invalidActions: [({ invalidActions }) => invalidActions, false],
  policyTokens: [({ policyTokens }) => policyTokens, false],
  observationTokens: [({ observationTokens }) => observationTokens, false],
  cost: [({ cost }) => cost?.amount, false],
};

/** Shown in every comparison, where they have values. */
export const shownMetrics: readonly string[] = Object.keys(rows).filter(
  (name) => !["reward", "invalidActions"].includes(name),
);

const atNames: Readonly<Record<string, AtKName>> = {
  "avg@": "avg",
  "pass@": "pass",
  "pass^": "all",
  "maj@": "maj",
};

/**
 * A metric by name: a row above, `avg@K`, `pass@K`, `pass^K`, `maj@K`, or the name of a reward part. Samples of a question
 * are averaged; those without a value are left out.
 */
export function compareMetric(name: string): CompareMetric {
  const [, kind = "", digits = ""] = /^(avg@|pass[@^]|maj@)(.*)$/.exec(name) ?? [];
  const at = atNames[kind];
  if (at !== undefined) {
    const k = Number(digits);
    if (!/^[1-9]\d*$/.test(digits))
      throw new ConfigError({
        what: `\`${name}\` has no k`,
        where: "--metric",
        expected: `${kind}4, for example`,
      });
    return { name, unit: true, of: (question, normalizer) => atKRows[at](question, k, normalizer) };
  }
  const [read, unit] = rows[name] ?? [({ parts }: EvalRecord) => parts?.[name], false];
  return {
    name,
    unit,
    of: ({ samples }) => {
      const values = samples.map(read).filter((value) => value !== undefined);
      return values.length === 0 ? undefined : mean(values);
    },
  };
}

/** Names that have a value in these questions. */
export function metricNames(questions: readonly AskedQuestion[], samples: number): string[] {
  const records = questions.flatMap((question) => question.samples);
  const known = Object.entries(rows).filter(([, [read]]) => records.some((each) => read(each) !== undefined));
  const parts = new Set(records.flatMap((record) => Object.keys(record.parts ?? {})));
  const at = samples > 1 ? Object.keys(atNames).map((kind) => `${kind}${samples}`) : [];
  return [...new Set([...known.map(([name]) => name), ...parts, ...at])];
}
