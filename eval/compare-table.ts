import { type Cells, markdownTable, textTable } from "./cells.ts";
import type { ComparedEvaluations, ComparedSide, ShownDifference } from "./compare.ts";
import { money, moneyOf } from "./cost.ts";

export interface ShowOptions {
  readonly markdown: boolean;
  /** What the base and the other are called. */
  readonly names: readonly [base: string, other: string];
}

/** One comparison for people: the tested difference, what it may come from, the pairs, and the rest. */
export function showComparison(compared: ComparedEvaluations, { markdown, names }: ShowOptions): string {
  const title = `${compared.benchmark}, ${compared.mode}: ${names[1]} against ${names[0]}`;
  const table = markdown ? markdownTable : textTable;
  const blocks = [
    markdown ? `### ${title}` : title,
    bullets(circumstances(compared, names), markdown),
    table(mainTable(compared, names)),
    bullets(findings(compared, names), markdown),
    ...(compared.shown.length > 0 ? [table(shownTable(compared, names))] : []),
  ];
  return blocks.filter((block) => block !== "").join("\n\n");
}

const bullets = (lines: readonly string[], markdown: boolean) =>
  lines.map((line) => (markdown ? `- ${line}` : line)).join("\n");

function circumstances(
  { a, b, differ, questions }: ComparedEvaluations,
  names: ShowOptions["names"],
): string[] {
  const of = (side: ComparedSide, name: string) => {
    const samples = side.samples === 1 ? "" : `, ${side.samples} samples a question`;
    const failed = side.infra === 0 ? "" : `, ${side.infra} of ${side.episodes} episodes failed`;
    return `${name}: ${side.folder}, step ${side.step}${samples}${failed}`;
  };
  const settings = differ.map((each) => `${each.key} ${short(each.a)} → ${short(each.b)}`);
  const apart = [
    ...(questions.onlyA > 0 ? [`${questions.onlyA} asked in ${names[0]} alone`] : []),
    ...(questions.onlyB > 0 ? [`${questions.onlyB} asked in ${names[1]} alone`] : []),
    ...(questions.withoutValue > 0 ? [`${questions.withoutValue} without a value in both`] : []),
  ];
  return [
    of(a, names[0]),
    of(b, names[1]),
    settings.length > 0
      ? `they differ in: ${settings.join(", ")}`
      : "they differ in nothing that is recorded",
    ...([a, b].some(({ latency }) => latency)
      ? [`seconds an episode, median and 95th percentile: ${[a, b].map(seconds).join(" and ")}`]
      : []),
    ...([a, b].some(({ cost }) => cost)
      ? [`cost in all and a question: ${[a, b].map(spent).join(" and ")}`]
      : []),
    `ends: ${outcomes(a)} | ${outcomes(b)}`,
    ...(apart.length > 0 ? [`left out: ${apart.join(", ")}`] : []),
  ];
}

const seconds = ({ latency }: ComparedSide) =>
  latency ? `${latency.medianSeconds.toFixed(2)} (${latency.p95Seconds.toFixed(2)})` : "not said";

const spent = ({ cost }: ComparedSide) =>
  cost ? `${moneyOf(cost)} (${money(cost.perQuestion)}) ${cost.currency}` : "not said";

const outcomes = ({ outcomes }: ComparedSide) =>
  Object.entries(outcomes)
    .sort(([, x], [, y]) => y - x)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

const short = (value: string | undefined) =>
  value === undefined ? "(not said)" : /^[0-9a-f]{16,}$/.test(value) ? value.slice(0, 8) : value;

function mainTable(compared: ComparedEvaluations, names: ShowOptions["names"]): Cells {
  const { a, b, difference, metric, questions, split } = compared;
  return [
    [metric, "questions", names[0], names[1], "difference", "95 %"],
    [
      split.length > 0 ? "all" : "",
      `${questions.compared}`,
      `${number(a.mean, metric)} ${range(a, metric)}`,
      `${number(b.mean, metric)} ${range(b, metric)}`,
      signed(difference.difference, metric),
      difference.interval === "none" ? "–" : range(difference, metric),
    ],
    ...split.map((row) => shownRow(row, metric)),
  ];
}

const shownTable = ({ shown }: ComparedEvaluations, names: ShowOptions["names"]): Cells => [
  ["not tested", "questions", names[0], names[1], "difference", "95 %"],
  ...shown.map((row) => shownRow(row)),
];

const shownRow = ({ label, n, a, b, difference, low, high }: ShownDifference, metric = label) => [
  label,
  `${n}`,
  number(a, metric),
  number(b, metric),
  signed(difference, metric),
  low === high ? "–" : range({ low, high }, metric),
];

/** What the numbers say, in sentences. */
function findings(compared: ComparedEvaluations, names: ShowOptions["names"]): string[] {
  const { difference, p, adjustedP, tests, metric } = compared;
  const { pairs } = difference;
  const test = pairs ? "McNemar's exact test" : "sign-flip permutation test";
  const adjusted = tests > 1 ? `, ${pText(adjustedP)} after Holm over ${tests} comparisons` : "";
  const [base, other] = names;
  return [
    ...(pairs
      ? [
          `right in both ${pairs.both}, in ${base} alone ${pairs.onlyA}, in ${other} alone ${pairs.onlyB}, in neither ${pairs.neither}`,
        ]
      : []),
    `${test}: ${pText(p)}${adjusted}${pairs ? `; sign-flip permutation test: ${pText(difference.signFlip)}` : ""}`,
    verdictText(compared, names, metric),
  ];
}

function verdictText(
  { verdict, difference, questions, detectable, needed }: ComparedEvaluations,
  [base, other]: ShowOptions["names"],
  metric: string,
): string {
  const size = signed(difference.difference, metric);
  if (verdict !== "noise")
    return `${other} is ${verdict} than ${base} in ${metric}: ${size} ${range(difference, metric)}`;
  const shows =
    detectable === null
      ? ""
      : `; ${questions.compared} questions show differences from ${number(detectable, metric)} on`;
  const more =
    needed === null || needed <= questions.compared
      ? ""
      : `; one of this size needs about ${needed.toLocaleString("en")}`;
  return `noise: ${size} in ${metric} does not tell ${other} from ${base}${shows}${more}`;
}

/** Several others against one base, a line each. */
export function showSummary(
  all: readonly { readonly name: string; readonly compared: ComparedEvaluations }[],
  markdown: boolean,
): string {
  const first = all[0]?.compared;
  if (!first) return "";
  const rows = all.map(({ name, compared: { benchmark, mode, a, b, difference, adjustedP, verdict } }) => [
    name,
    `${benchmark}, ${mode}`,
    `${difference.n}`,
    number(a.mean, first.metric),
    number(b.mean, first.metric),
    signed(difference.difference, first.metric),
    difference.interval === "none" ? "–" : range(difference, first.metric),
    pText(adjustedP).replace(/^p = /, ""),
    verdict,
  ]);
  const head = [
    "",
    "benchmark",
    "questions",
    "base",
    first.metric,
    "difference",
    "95 %",
    "p (Holm)",
    "verdict",
  ];
  return (markdown ? markdownTable : textTable)([head, ...rows]);
}

/** What a metric's values look like: money is small and has no fixed number of digits. */
const number = (value: number, metric: string) =>
  metric === "cost"
    ? money(value)
    : (Math.abs(value) >= 100 ? value.toFixed(1) : value.toFixed(3)).replace("-", "−");
const signed = (value: number, metric: string) =>
  value < 0 ? number(value, metric) : `+${number(value, metric)}`;
const range = ({ low, high }: { readonly low: number; readonly high: number }, metric: string) =>
  `[${number(low, metric)}, ${number(high, metric)}]`;
const pText = (p: number) => (p < 0.0001 ? "p < 0.0001" : `p = ${p.toFixed(4)}`);
