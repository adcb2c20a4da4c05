import type { RunNumbers } from "../../track/run-numbers.ts";
import { detectableDifference } from "../statistics.ts";
import { decimal, rateText, signed } from "./format.ts";
import type { ReportedComparison } from "./report.ts";
import type { StoredEvaluation } from "./stored-evaluations.ts";

/** The result in a sentence or two, with what it can be believed to be. */
export function headlineOf(o: {
  readonly comparisons: readonly ReportedComparison[];
  readonly evaluations: readonly StoredEvaluation[];
  readonly run?: RunNumbers;
}): string[] {
  const comparison = o.comparisons[0];
  if (comparison) return compared(comparison);
  const result = o.evaluations[0]?.result;
  if (result) {
    const { benchmark, mode, step, n, valid } = result;
    return [
      `Exact match on ${benchmark} (${mode}, ${n} questions) is ${rateText(result)} at step ${step}.`,
      ...(valid ? [] : ["Not a measurement: too many episodes failed by infrastructure."]),
    ];
  }
  const rl = o.run?.steps.filter(({ phase, metrics }) => phase === "rl" && metrics.em !== undefined) ?? [];
  const [first, last] = [rl[0], rl.at(-1)];
  if (!first || !last) return ["Only the warm-up has been recorded; there is no evaluation."];
  const em = (step: typeof first) => `${decimal(step.metrics.em as number)} at step ${step.step}`;
  return [
    `Exact match of training's own episodes was ${em(first)}${first === last ? "" : ` and ${em(last)}`}.`,
    "There is no evaluation: each step asks other questions, so this is no measure of the policy on a benchmark.",
  ];
}

function compared({ benchmark, mode, steps, rows, valid }: ReportedComparison): string[] {
  const all = rows[0];
  if (!all || all.before.n === 0 || all.after.n === 0) return ["No question was answered without a failure."];
  const { before, after, change } = all;
  const n = before.n === after.n ? `${after.n}` : `${before.n} and ${after.n}`;
  const said = `Exact match on ${benchmark} (${mode}, ${n} questions) went from ${rateText(before)} at step ${steps[0]} to ${rateText(after)} at step ${steps[1]}: ${signed(change)}.`;
  if (!valid) return [said, "Not a measurement: too many episodes failed by infrastructure."];
  if (all.apart) return [said, "The 95 % intervals do not touch."];
  const least = detectableDifference((before.em + after.em) / 2, Math.min(before.n, after.n));
  return [
    said,
    `The 95 % intervals overlap. With so many questions, compared as if they were not the same ones, a difference below about ${decimal(least)} is noise.`,
  ];
}
