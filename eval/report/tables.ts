import { money, moneyOf } from "../cost.ts";
import type { EvalResult } from "../evaluate.ts";
import { apart, type Rate } from "../wilson.ts";
import { hopsWord } from "./evaluation-figures.ts";
import { decimal, percent, signed } from "./format.ts";
import type { GroupCount, ReportedComparison, ReportedEvaluation } from "./report.ts";

/** A cell: its text, and a second line that is shown smaller. */
export interface Cell {
  readonly text: string;
  readonly small?: string;
}

/** A table for any format. The first column names its row. */
export interface Table {
  readonly caption: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** What is left out, if anything. */
  readonly note?: string;
}

export const cell = (text: string, small?: string): Cell =>
  small === undefined ? { text } : { text, small };

const rateCell = (rate: Rate | undefined): Cell =>
  rate === undefined || rate.n === 0
    ? cell("–")
    : cell(decimal(rate.em), `[${decimal(rate.low)}, ${decimal(rate.high)}]`);

export function comparisonRows({
  benchmark,
  mode,
  steps,
  rows,
  turns,
  searches,
  infra,
}: ReportedComparison): Table {
  const pair = (name: string, [a, b]: readonly [number, number], text: (value: number) => string) => [
    cell(name),
    cell(""),
    cell(text(a)),
    cell(text(b)),
    cell(""),
  ];
  const two = (value: number) => value.toFixed(2);
  return {
    caption: `${benchmark}, ${mode}: exact match before and after, 95 % Wilson intervals`,
    head: ["questions", "n", `step ${steps[0]}`, `step ${steps[1]}`, "change"],
    rows: [
      ...rows.map(({ label, before, after, change }) => [
        cell(label),
        cell(before.n === after.n ? `${after.n}` : `${before.n}/${after.n}`),
        rateCell(before),
        rateCell(after),
        before.n === 0 || after.n === 0
          ? cell("–")
          : cell(signed(change), apart(before, after) ? "apart" : "overlap"),
      ]),
      pair("turns", turns, two),
      pair("searches", searches, two),
      ...(infra[0] + infra[1] > 0 ? [pair("failed", infra, percent)] : []),
    ],
    note: "“apart”: the intervals do not touch; “overlap”: they do, so the change may be noise.",
  };
}

/** What else is to be told of a comparison, in sentences. */
export function comparisonNotes({ flips, valid }: ReportedComparison): string[] {
  return [
    ...(valid ? [] : ["Not a measurement: too many episodes failed by infrastructure."]),
    ...(flips
      ? [
          `Question by question: ${flips.gained} became right, ${flips.lost} became wrong, ${flips.bothRight} were right and ${flips.bothWrong} wrong both times.`,
        ]
      : []),
  ];
}

/** Every evaluation, one line each. */
export function evaluationRows(results: readonly ReportedEvaluation[]): Table {
  const keys = (part: "emAt" | "byHops") =>
    [...new Set(results.flatMap((result) => Object.keys(result[part])))].sort((a, b) => +a - +b);
  const [ks, hops] = [keys("emAt"), keys("byHops")];
  const costed = results.some(({ cost }) => cost);
  return {
    caption: "Every evaluation, 95 % Wilson intervals",
    head: [
      ...["benchmark", "mode", "step", "n", "EM"],
      ...ks.map((k) => `EM@${k}`),
      ...hops.map(hopsWord),
      ...["F1", "cover EM", "turns", "searches", "no search", "tokens"],
      ...(costed ? ["cost"] : []),
      "failed",
    ],
    rows: results.map((result) => [
      ...[result.benchmark, result.mode, `${result.step}`, `${result.n}`].map((text) => cell(text)),
      rateCell(result),
      ...ks.map((k) => rateCell(result.emAt[k])),
      ...hops.map((h) => rateCell(result.byHops[h])),
      ...[
        decimal(result.f1),
        decimal(result.coverEm),
        result.turns.toFixed(2),
        result.searches.toFixed(2),
      ].map((text) => cell(text)),
      ...[percent(result.noSearch), result.policyTokens.toFixed(1)].map((text) => cell(text)),
      ...(costed ? [costCell(result)] : []),
      cell(`${result.infra}`, result.valid ? result.partial && "unfinished" : "not a measurement"),
    ]),
  };
}

const costCell = ({ cost }: EvalResult): Cell =>
  cost ? cell(`${moneyOf(cost)} ${cost.currency}`, `${money(cost.perQuestion)} a question`) : cell("–");

/** What k samples of a question give, of every evaluation that has several. */
export function sampleTable(results: readonly EvalResult[]): Table | undefined {
  const rows = results.flatMap(({ benchmark, mode, step, atK }) =>
    Object.entries(atK ?? {}).map(([k, { n, avg, pass, all, maj }]) =>
      [benchmark, mode, `${step}`, k, `${n}`, ...[avg, pass, all, maj].map(decimal)].map((text) =>
        cell(text),
      ),
    ),
  );
  if (rows.length === 0) return undefined;
  return {
    caption: "Several samples a question, over the questions with k valid ones",
    head: ["benchmark", "mode", "step", "k", "n", "avg@k", "pass@k", "pass^k", "maj@k"],
    rows,
  };
}

/** One evaluation in full: every slice of the questions. */
export function sliceRows(result: EvalResult): { readonly label: string; readonly rate: Rate }[] {
  const slices = (part: "emAt" | "byHops" | "byDataset", label: (key: string) => string) =>
    Object.entries(result[part]).map(([key, rate]) => ({ label: label(key), rate }));
  const datasets = slices("byDataset", (name) => name);
  return [
    { label: "all", rate: result },
    ...slices("emAt", (k) => `EM@${k}`),
    ...slices("byHops", hopsWord),
    ...(datasets.length > 1 ? datasets : []),
    ...(result.macroEm ? [{ label: "mean of data sets", rate: result.macroEm }] : []),
  ];
}

/** The other means of one evaluation; those that it does not have are left out. */
export function otherMeans(
  result: EvalResult,
): { readonly label: string; readonly n: number; readonly value: number }[] {
  const { n, atK, passAt, judge, recall } = result;
  const samples = Object.entries(atK ?? {}).flatMap(([k, at]) =>
    (
      [
        ["avg@", at.avg],
        ["pass@", at.pass],
        ["pass^", at.all],
        ["maj@", at.maj],
      ] as const
    ).map(([label, value]) => ({ label: label + k, n: at.n, value })),
  );
  return [
    { label: "F1", n, value: result.f1 },
    { label: "cover EM", n, value: result.coverEm },
    ...(samples.length > 0
      ? samples
      : Object.entries(passAt).map(([k, value]) => ({ label: `pass@${k}`, n, value }))),
    ...(judge ? [{ label: "judge", n: judge.n, value: judge.mean }] : []),
    ...(recall
      ? [
          { label: "passages found", n: recall.n, value: recall.mean },
          { label: "all of them found", n: recall.n, value: recall.all },
        ]
      : []),
  ];
}

export function sliceTable(results: readonly EvalResult[]): Table {
  const [first] = results;
  const labels = [...new Set(results.flatMap((result) => sliceRows(result).map(({ label }) => label)))];
  const means = results.map((result) => new Map(otherMeans(result).map((mean) => [mean.label, mean])));
  const others = [...new Set(means.flatMap((own) => [...own.keys()]))];
  const rate = (result: EvalResult, label: string) =>
    sliceRows(result).find((row) => row.label === label)?.rate;
  const n = (label: string) =>
    [...new Set(results.map((result) => `${rate(result, label)?.n ?? 0}`))].join("/");
  return {
    caption: `${first?.benchmark}, step ${first?.step}: exact match, 95 % Wilson intervals`,
    head: ["questions", "n", ...results.map(({ mode }) => mode)],
    rows: [
      ...labels.map((label) => [
        cell(label),
        cell(n(label)),
        ...results.map((result) => rateCell(rate(result, label))),
      ]),
      ...others.map((label) => [
        cell(label),
        cell([...new Set(means.map((own) => `${own.get(label)?.n ?? 0}`))].join("/")),
        ...means.map((own) => cell(own.has(label) ? decimal(own.get(label)?.value as number) : "–")),
      ]),
    ],
  };
}

export function outcomeTable(results: readonly EvalResult[]): Table {
  const names = [...new Set(results.flatMap(({ outcomes }) => Object.keys(outcomes)))].sort();
  return {
    caption: "How episodes ended, failures of infrastructure included",
    head: ["benchmark", "mode", "step", ...names],
    rows: results.map(({ benchmark, mode, step, outcomes }) =>
      [benchmark, mode, `${step}`, ...names.map((name) => `${outcomes[name] ?? 0}`)].map((text) =>
        cell(text),
      ),
    ),
  };
}

export const groupRows = (groups: readonly GroupCount[]): Table => ({
  caption: `Groups that training sampled (${groups[0]?.share.n ?? 0}), by what became of them, 95 % Wilson intervals`,
  head: ["verdict", "meaning", "groups", "share"],
  rows: groups.map(({ verdict, says, groups: n, share }) => [
    cell(verdict),
    cell(says),
    cell(`${n}`),
    rateCell(share),
  ]),
});
