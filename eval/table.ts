import { markdownTable, textTable } from "./cells.ts";
import { moneyOf } from "./cost.ts";
import type { EvalMode, EvalResult } from "./evaluate.ts";
import { decimal, percent, rate } from "./table-words.ts";
import { apart, type Rate } from "./wilson.ts";

/** One line of a before/after table. */
export interface ComparisonRow {
  readonly label: string;
  readonly before: Rate;
  readonly after: Rate;
  /** after − before. */
  readonly change: number;
  /** The 95 % intervals do not touch. */
  readonly apart: boolean;
}

export interface Comparison {
  readonly benchmark: string;
  readonly mode: EvalMode;
  readonly steps: readonly [before: number, after: number];
  readonly rows: readonly ComparisonRow[];
  readonly turns: readonly [number, number];
  readonly searches: readonly [number, number];
  /** Shares of episodes that infrastructure broke. */
  readonly infra: readonly [number, number];
  readonly valid: boolean;
}

/** The same benchmark and mode, before and after: overall, EM@k, per hop, per data set where there is more than one. */
export function compareResults(before: EvalResult, after: EvalResult): Comparison {
  const rows: ComparisonRow[] = [row("all", before, after)];
  const add = (part: "emAt" | "byHops" | "byDataset", label: (key: string) => string) => {
    for (const [key, rate] of Object.entries(after[part])) {
      const earlier = before[part][key];
      if (earlier) rows.push(row(label(key), earlier, rate));
    }
  };
  add("emAt", (k) => `EM@${k}`);
  add("byHops", (hops) => (hops === "1" ? "1 hop" : `${hops} hops`));
  if (Object.keys(after.byDataset).length > 1) add("byDataset", (name) => name);
  return {
    benchmark: after.benchmark,
    mode: after.mode,
    steps: [before.step, after.step],
    rows,
    turns: [before.turns, after.turns],
    searches: [before.searches, after.searches],
    infra: [before.infraShare, after.infraShare],
    valid: before.valid && after.valid,
  };
}

function row(label: string, before: Rate, after: Rate): ComparisonRow {
  const pick = ({ n, em, low, high }: Rate) => ({ n, em, low, high });
  const [b, a] = [pick(before), pick(after)];
  return { label, before: b, after: a, change: a.em - b.em, apart: apart(b, a) };
}

/** The comparison for people, as lines of fixed-width text. */
export function comparisonTable({
  benchmark,
  mode,
  steps,
  rows,
  turns,
  searches,
  infra,
  valid,
}: Comparison): string {
  const cells = [
    [
      `${benchmark}, ${mode}`,
      "n",
      `EM, step ${steps[0]}`,
      `EM, step ${steps[1]}`,
      "change",
      "95 % intervals apart",
    ],
    ...rows.map(({ label, before, after, change, apart }) => [
      label,
      before.n === after.n ? `${after.n}` : `${before.n}/${after.n}`,
      rate(before),
      rate(after),
      ...(before.n === 0 || after.n === 0 ? ["–", "–"] : [signed(change), apart ? "yes" : "no"]),
    ]),
    ["turns", "", turns[0].toFixed(2), turns[1].toFixed(2), "", ""],
    ["searches", "", searches[0].toFixed(2), searches[1].toFixed(2), "", ""],
    ...(infra[0] + infra[1] > 0
      ? [["failed episodes", "", percent(infra[0]), percent(infra[1]), "", ""]]
      : []),
  ];
  const warning = valid ? "" : "\nNot a measurement: too many episodes failed by infrastructure.";
  return textTable(cells) + warning;
}

/** Every evaluation of a run, one line each: EM at step s beside EM@k, greedy and sampled. */
export function evaluationTable(results: readonly EvalResult[], { markdown = false } = {}): string {
  const ks = [...new Set(results.flatMap(({ emAt }) => Object.keys(emAt)))].sort(
    (a, b) => Number(a) - Number(b),
  );
  const hops = [...new Set(results.flatMap(({ byHops }) => Object.keys(byHops)))].sort();
  const costed = results.some(({ cost }) => cost);
  const em = (value: Rate | undefined) => (value === undefined ? "–" : decimal(value.em));
  return (markdown ? markdownTable : textTable)([
    [
      ...["step", "benchmark", "mode", "n", "EM [95 %]"],
      ...ks.map((k) => `EM@${k}`),
      ...hops.map((h) => `${h} hop${h === "1" ? "" : "s"}`),
      ...["F1", "turns", "searches"],
      ...(costed ? ["cost"] : []),
      "failed",
    ],
    ...results.map((result) => [
      ...[`${result.step}`, result.benchmark, result.mode, `${result.n}`, rate(result)],
      ...ks.map((k) => em(result.emAt[k])),
      ...hops.map((h) => em(result.byHops[h])),
      ...[decimal(result.f1), result.turns.toFixed(2), result.searches.toFixed(2)],
      ...(costed ? [result.cost ? `${moneyOf(result.cost)} ${result.cost.currency}` : "–"] : []),
      result.valid ? `${result.infra}` : `${result.infra} (invalid)`,
    ]),
  ]);
}

/** One evaluation in one line, for the console. */
export function resultLine(result: EvalResult): string {
  const hops = Object.entries(result.byHops).map(([h, { em }]) => `${h}-hop ${decimal(em)}`);
  const failed = result.infra === 0 ? "" : `  failed ${result.infra}${result.valid ? "" : " (invalid)"}`;
  const cost = result.cost ? `  cost ${moneyOf(result.cost)} ${result.cost.currency}` : "";
  return (
    `eval ${result.benchmark} step ${result.step} ${result.mode}: EM ${rate(result)} n ${result.n}  ` +
    `${hops.join(" ")}  turns ${result.turns.toFixed(2)}  searches ${result.searches.toFixed(2)}${cost}${failed}`
  );
}

const signed = (value: number) => `${value < 0 ? "−" : "+"}${decimal(Math.abs(value))}`;
