import { type Cells, textTable } from "../eval/cells.ts";
import type { Findings } from "../reward/lab.ts";
import type { Change, Shift } from "../reward/lab-change.ts";
import type { BestFlip, MovedAdvantage } from "../reward/lab-examples.ts";
import { counted } from "../reward/lab-finding.ts";
import type { Both, Side } from "../reward/lab-group.ts";
import type { StepChange } from "../reward/lab-trends.ts";
import type { RescoredEvaluation } from "./rescore-evals.ts";

/** Most rows of the table of steps. */
const mostSteps = 20;

/** What another reward changes, for people: blocks of lines. */
export function showFindings(
  { all, steps, largest, flips, leftOut }: Findings,
  { every, evaluations }: { readonly every: boolean; readonly evaluations: readonly RescoredEvaluation[] },
): string {
  const blocks = [
    textTable(meansTable(all)),
    [...groupLines(all), ...advantageLines(all), ...turnLines(all), ...leftOutLines(leftOut)].join("\n"),
    ...(steps.length > 1 ? [stepsBlock(steps, every)] : []),
    ...(largest.length > 0 ? [`advantages that move most\n${largest.map(movedLines).join("\n")}`] : []),
    ...(flips.length > 0 ? [`another member is best\n${flips.map(flipLines).join("\n")}`] : []),
    ...(evaluations.length > 0 ? [`evaluations\n${textTable(evaluationsTable(evaluations))}`] : []),
  ];
  return blocks.join("\n\n");
}

function meansTable({ reward, parts }: Change): Cells {
  const row = (name: string, { before, after }: Shift) => [
    name,
    number(before),
    number(after),
    before === null || after === null ? "" : signed(after - before),
  ];
  return [
    ["mean", "own", "new", "change"],
    row("reward", reward),
    ...Object.entries(parts).map(([name, shift]) => row(`  ${name}`, shift)),
  ];
}

function groupLines({ verdicts, groups, best, otherAnswer, episodes }: Change): string[] {
  const moved = verdicts.filter(({ before, after }) => before !== after);
  const toKept = moved.filter(({ after }) => after === "kept");
  const fromKept = moved.filter(({ before }) => before === "kept");
  const others = moved.filter(({ before, after }) => before !== "kept" && after !== "kept");
  const causes = (rows: Change["verdicts"], name: (row: Change["verdicts"][number]) => string) =>
    rows.length === 0 ? "" : ` (${rows.map((row) => `${name(row)} ${row.groups}`).join(", ")})`;
  return [
    `groups learned from: ${keptText(verdicts)} of ${groups}`,
    `  kept → dropped ${sum(fromKept)}${causes(fromKept, ({ after }) => after)}`,
    `  dropped → kept ${sum(toKept)}${causes(toKept, ({ before }) => before)}`,
    ...(others.length > 0
      ? [`  other causes ${sum(others)}${causes(others, ({ before, after }) => `${before} → ${after}`)}`]
      : []),
    `another member is best: ${best.flipped} of ${best.groups} groups that have a best one under both`,
    `another answer is judged: ${otherAnswer} of ${episodes} episodes`,
  ];
}

function advantageLines({ advantages: a }: Change): string[] {
  if (a.episodes === 0) return ["advantages: neither learns from any group"];
  return [
    `advantages of ${a.episodes} episodes: correlation ${number(a.correlation)}; ${a.flipped} change sign, ${a.silenced} become 0, ${a.woken} are no longer 0`,
    `  mean size ${arrow(a.size)}, largest ${arrow(a.largest)}`,
  ];
}

const turnLines = ({ turnCredit }: Change): string[] =>
  turnCredit
    ? [
        `credit of a turn: mean ${arrow(turnCredit.mean)}; it turns round the advantage of ${arrow(turnCredit.flipped)} of the tokens`,
      ]
    : [];

const leftOutLines = (leftOut: Findings["leftOut"]) =>
  Object.entries(leftOut).map(([reason, n]) => `left out: ${counted(n, "episode")} (${reason})`);

function stepsBlock(steps: readonly StepChange[], every: boolean): string {
  const nth = every ? 1 : Math.ceil(steps.length / mostSteps);
  const shown = steps.filter((_, i) => i % nth === 0 || i === steps.length - 1);
  const table = textTable([
    ["step", "groups", "reward", "exact match", "kept", "correlation", "signs", "best"],
    ...shown.map(({ step, groups, reward, parts, verdicts, advantages, best }) => [
      `${step}`,
      `${groups}`,
      arrow(reward),
      arrow(parts.exactMatch ?? { before: null, after: null }),
      keptText(verdicts),
      number(advantages.correlation),
      `${advantages.flipped}`,
      `${best.flipped}`,
    ]),
  ]);
  return nth === 1 ? table : `${table}\none step in ${nth} is shown; --every-step shows all`;
}

function movedLines({ step, group, member, question, ...m }: MovedAdvantage): string {
  const { before, after } = m.prediction;
  const answer = before === after ? said(after) : `${said(before)} → ${said(after)}`;
  const verdict = m.verdict.before === m.verdict.after ? "" : `, ${m.verdict.before} → ${m.verdict.after}`;
  return [
    `  ${arrow(m.advantage)}  reward ${arrow(m.reward)}${verdict}  (step ${step}, group ${group}, member ${member})`,
    `    ${short(question)}  gold: ${short(m.goldenAnswers.join(" | "))}  answer: ${answer}`,
  ].join("\n");
}

function flipLines({ step, group, question, goldenAnswers, best }: BestFlip): string {
  const told = ({ member, prediction, before, after }: BestFlip["best"]["before"]) =>
    `member ${member} ${said(prediction)} (${arrow({ before, after })})`;
  return [
    `  ${told(best.before)} → ${told(best.after)}  (step ${step}, group ${group})`,
    `    ${short(question)}  gold: ${short(goldenAnswers.join(" | "))}`,
  ].join("\n");
}

const evaluationsTable = (evaluations: readonly RescoredEvaluation[]): Cells => [
  ["benchmark", "mode", "step", "episodes", "reward", "exact match", "f1"],
  ...evaluations.map(({ benchmark, mode, step, episodes, reward, parts }) => [
    benchmark,
    mode,
    `${step}`,
    `${episodes}`,
    arrow(reward),
    arrow(parts.exactMatch ?? { before: null, after: null }),
    arrow(parts.f1 ?? { before: null, after: null }),
  ]),
];

const keptText = (verdicts: Change["verdicts"]) => {
  const kept = (side: Side) => sum(verdicts.filter((row) => row[side] === "kept"));
  const [before, after] = [kept("before"), kept("after")];
  return before === after ? `${before}` : `${before} → ${after}`;
};
const sum = (rows: Change["verdicts"]) => rows.reduce((n, { groups }) => n + groups, 0);
const number = (x: number | null) => (x === null ? "–" : x.toFixed(3));
const signed = (x: number) => (Math.abs(x) < 5e-4 ? "0" : `${x > 0 ? "+" : "−"}${Math.abs(x).toFixed(3)}`);
const arrow = ({ before, after }: Shift | Both<number>) =>
  number(before) === number(after) ? number(before) : `${number(before)} → ${number(after)}`;
const said = (text: string | null) => (text === null ? "(none)" : `"${short(text)}"`);
const short = (text: string) => {
  const line = text.replaceAll(/\s+/gu, " ");
  return line.length > 70 ? `${line.slice(0, 69)}…` : line;
};
