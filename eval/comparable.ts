import { DataError } from "../core/errors.ts";
import { shapesPart } from "../reward/identity.ts";
import { type Difference, manifestDifferences } from "./manifest.ts";
import type { EvalRecord } from "./record.ts";
import type { StoredEvaluation } from "./stored.ts";

/** Settings that make numbers of two evaluations different things, whatever is compared. */
export const isScorerKey = (key: string): boolean =>
  ["normalizer", "normalizerVersion", "extraction"].includes(key) || key.startsWith("judge.");
/** Settings that say nothing about the policy or what it was asked. */
const silentKeys = ["order", "questions", "episodesAtOnce", "benchmark", "step", "samples"];

/** Where the manifests differ, apart from what the comparison says elsewhere. */
export const differences = (a: StoredEvaluation, b: StoredEvaluation): Difference[] => [
  ...manifestDifferences(a.manifest, b.manifest).filter(({ key }) => !silentKeys.includes(key)),
  ...silentJudge(a, b),
];

/** Both have verdicts, but one is of a version that did not say whose. */
function silentJudge(a: StoredEvaluation, b: StoredEvaluation): Difference[] {
  const [judgeA, judgeB] = [a, b].map(({ manifest }) => manifest["judge.model"]?.toString());
  const judged = [a, b].every(({ records }) => records.some(({ parts }) => parts?.judge !== undefined));
  return judged && (judgeA === undefined) !== (judgeB === undefined)
    ? [{ key: "judge", a: judgeA, b: judgeB }]
    : [];
}

/**
 * The first difference that makes values of the metric two quantities. Rewards may differ in all but the metrics they
 * make: exact match is what it is under any weights. One evaluation without a judge has no verdicts that could be compared.
 */
function unlike(a: StoredEvaluation, b: StoredEvaluation, metric: string): Difference | undefined {
  const bothJudged = [a, b].every(({ manifest }) => manifest["judge.model"] !== undefined);
  return manifestDifferences(a.manifest, b.manifest).find((each) => {
    const said = each.a !== undefined && each.b !== undefined;
    if (each.key.startsWith("judge.")) return bothJudged || shapesPart(each.key, metric);
    return ((each.key === "mode" || isScorerKey(each.key)) && said) || shapesPart(each.key, metric);
  });
}

/** Ids of the questions that both were asked, and of those that one alone was. */
export interface SharedQuestions {
  readonly shared: ReadonlySet<string>;
  readonly onlyA: readonly string[];
  readonly onlyB: readonly string[];
}

/**
 * Refuses a comparison that would compare different things: an evaluation that does not count, another scorer, judge or
 * decoding mode, for the reward and its parts other settings of them, another question or gold under one id, and other
 * questions unless `intersection` asks for those in common. @throws DataError naming the difference
 */
export function checkComparable(
  a: StoredEvaluation,
  b: StoredEvaluation,
  { intersection, metric }: { readonly intersection: boolean; readonly metric: string },
): SharedQuestions {
  const where = `${a.folder} and ${b.folder}`;
  const refuse = (complaint: { what: string; got: string; next: string }) =>
    new DataError({ where, ...complaint });
  for (const { valid, folder } of [a, b])
    if (valid === false)
      throw refuse({
        what: "an evaluation that does not count cannot be compared",
        got: `too many episodes of ${folder} failed by infrastructure`,
        next: "Mend the cause and evaluate again: only the failed part is played again.",
      });
  const other = unlike(a, b, metric);
  if (other)
    throw refuse({
      what: `the evaluations differ in \`${other.key}\`, so their numbers are not of one kind`,
      got: `${other.a ?? "none"} and ${other.b ?? "none"}`,
      next:
        other.key === "mode"
          ? "Compare greedy with greedy or sampled with sampled: --mode chooses."
          : other.key.startsWith("reward.")
            ? "Compare em or f1, which no weights change, or evaluate one of them again under the other's reward."
            : "Evaluate one of them again as the other was.",
    });
  const [askedA, askedB] = [asked(a.records), asked(b.records)];
  for (const [id, { question, goldenAnswers }] of askedA) {
    const twin = askedB.get(id);
    const what = !twin
      ? undefined
      : twin.question !== question
        ? "question"
        : JSON.stringify(twin.goldenAnswers) !== JSON.stringify(goldenAnswers)
          ? "gold answers"
          : undefined;
    if (what)
      throw refuse({
        what: `the evaluations have other ${what} under one id`,
        got: `id ${id}`,
        next: "Evaluate one of them again on the other's benchmark.",
      });
  }
  const onlyA = [...askedA.keys()].filter((id) => !askedB.has(id));
  const onlyB = [...askedB.keys()].filter((id) => !askedA.has(id));
  const shared = new Set([...askedA.keys()].filter((id) => askedB.has(id)));
  if (onlyA.length + onlyB.length > 0 && !intersection)
    throw refuse({
      what: "the evaluations asked different questions",
      got: [
        `${shared.size} in common`,
        ...unfinished(a),
        ...unfinished(b),
        `${onlyA.length} in the first alone${some(onlyA)}`,
        `${onlyB.length} in the second alone${some(onlyB)}`,
      ].join("; "),
      next:
        shared.size > 0
          ? "Finish what is unfinished, or compare those in common with --force-intersection."
          : "Compare evaluations of one benchmark.",
    });
  if (shared.size === 0)
    throw refuse({
      what: "the evaluations have no question in common",
      got: `${askedA.size} and ${askedB.size} questions`,
      next: "Compare evaluations of one benchmark.",
    });
  return { shared, onlyA, onlyB };
}

const asked = (records: readonly EvalRecord[]) => new Map(records.map((record) => [record.id, record]));

const some = (ids: readonly string[]) =>
  ids.length === 0 ? "" : ` (${ids.slice(0, 3).join(", ")}${ids.length > 3 ? ", …" : ""})`;

function unfinished({ records, samples, questions, folder }: StoredEvaluation): string[] {
  const total = samples * questions;
  return records.length < total ? [`${folder} is unfinished, ${records.length} of ${total} episodes`] : [];
}
