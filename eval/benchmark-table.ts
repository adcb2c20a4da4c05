import { type Cells, markdownTable, textTable } from "./cells.ts";
import { money, moneyOf } from "./cost.ts";
import type { EvalResult } from "./evaluate.ts";
import { decimal, percent, rate } from "./table-words.ts";
import type { Rate } from "./wilson.ts";

/**
 * One benchmark in full, its modes side by side: exact match overall, EM@k, per hop, per data set, each with its interval;
 * then the other means that are there; then, of each mode with several samples, a table by k. Two modes fit 80 columns.
 */
export function benchmarkTable(results: readonly EvalResult[], { markdown = false } = {}): string {
  if (results.length === 0) return "";
  const table = markdown ? markdownTable : textTable;
  return [mainCells(results), ...results.flatMap(sampleCells)].map(table).join("\n\n");
}

function mainCells(results: readonly EvalResult[]): Cells {
  const [first] = results as readonly [EvalResult, ...EvalResult[]];
  const row = (label: string, pick: (result: EvalResult) => Rate | undefined) => {
    const rates = results.map(pick);
    const n = [...new Set(rates.map((each) => `${each?.n ?? 0}`))].join("/");
    return [label, n, ...rates.map((each) => (each ? rate(each) : "–"))];
  };
  const keys = (part: "emAt" | "byHops" | "byDataset") => [
    ...new Set(results.flatMap((result) => Object.keys(result[part]))),
  ];
  const plain = (label: string, value: (result: EvalResult) => string) => [label, "", ...results.map(value)];
  /** Nothing where none of them has it. */
  const some = <T>(
    label: string,
    pick: (result: EvalResult) => T | undefined,
    text: (value: T) => string,
  ) => {
    const values = results.map(pick);
    if (values.every((value) => value === undefined)) return [];
    return [[label, "", ...values.map((value) => (value === undefined ? "–" : text(value)))]];
  };
  const means = (label: string, pick: (result: EvalResult) => Mean | undefined) => {
    const values = results.map(pick);
    if (values.every((value) => value === undefined)) return [];
    const n = [...new Set(values.map((each) => `${each?.n ?? 0}`))].join("/");
    return [[label, n, ...values.map((each) => (each ? decimal(each.mean) : "–"))]];
  };
  const datasets = keys("byDataset");
  const hasMacro = results.some(({ macroEm }) => macroEm);
  // Results of earlier versions have pass@k alone.
  const old = results.filter(({ atK }) => atK === undefined);
  const ks = [...new Set(old.flatMap(({ passAt }) => Object.keys(passAt)))];
  const currency = results.find(({ cost }) => cost)?.cost?.currency;
  return [
    [`${first.benchmark}, step ${first.step}`, "n", ...results.map(({ mode }) => `EM ${mode}`)],
    row("all", (result) => result),
    ...keys("emAt").map((k) => row(`EM@${k}`, ({ emAt }) => emAt[k])),
    ...keys("byHops").map((hops) =>
      row(hops === "1" ? "1 hop" : `${hops} hops`, ({ byHops }) => byHops[hops]),
    ),
    ...(datasets.length > 1 ? datasets.map((name) => row(name, ({ byDataset }) => byDataset[name])) : []),
    ...(hasMacro ? [row("mean of data sets", ({ macroEm }) => macroEm)] : []),
    ...ks.flatMap((k) => some(`pass@${k}`, ({ passAt }) => passAt[k], decimal)),
    plain("F1", ({ f1 }) => decimal(f1)),
    ...means("judge", ({ judge }) => judge),
    ...means("passages found", ({ recall }) => recall),
    ...means("all of them found", ({ recall }) => recall && { n: recall.n, mean: recall.all }),
    plain("turns", ({ turns }) => turns.toFixed(2)),
    plain("searches", ({ searches }) => searches.toFixed(2)),
    plain("no search", ({ noSearch }) => percent(noSearch)),
    ...some(
      `${currency} a question`,
      ({ cost }) => cost,
      ({ perQuestion }) => money(perQuestion),
    ),
    ...some(`${currency} in all`, ({ cost }) => cost, moneyOf),
    ...some("of it the judge", ({ cost }) => cost?.judge, money),
    plain("failed episodes", ({ infra, valid }) => `${infra}${valid ? "" : " (invalid)"}`),
  ];
}

interface Mean {
  readonly n: number;
  readonly mean: number;
}

/** What k samples of a question give; nothing for one sample. */
function sampleCells({ mode, atK }: EvalResult): Cells[] {
  const rows = Object.entries(atK ?? {});
  if (rows.length === 0) return [];
  return [
    [
      [`k samples, ${mode}`, "n", "avg@k", "pass@k", "pass^k", "maj@k"],
      ...rows.map(([k, { n, avg, pass, all, maj }]) => [
        ...[`k = ${k}`, `${n}`],
        ...[avg, pass, all, maj].map(decimal),
      ]),
    ],
  ];
}
