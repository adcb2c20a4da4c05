import { money } from "../cost.ts";
import { percent, tokenCount } from "../table-words.ts";
import { compact } from "./format.ts";
import { cell, type Table } from "./tables.ts";
import type { Projection, TeamCost } from "./team-cost.ts";
import type { ReportedTeam } from "./team-report.ts";

/** Everything that is told of a team in tables, in order; those that there is nothing for are left out. */
export const teamTables = ({ cost, hacks, stages }: ReportedTeam): Table[] => [
  roleTable(cost),
  driverTable(cost),
  projectionTable(cost.projections),
  ...(hacks.length > 0 ? [hackTable(hacks)] : []),
  ...(stages.length > 0 ? [stageTable(stages)] : []),
];

function roleTable({ roles, otherTokens, sampledTokens, episodes }: TeamCost): Table {
  return {
    caption: `Tokens and calls by role, in ${episodes} episodes of training`,
    head: ["role", "tokens", "share", "a call", "calls", "an episode"],
    rows: [
      ...roles.map(({ role, calls, callsPerEpisode, tokens, tokensPerCall, share }) =>
        [
          role,
          `${tokens}`,
          unbroken(percent(share)),
          compact(tokensPerCall),
          `${calls}`,
          compact(callsPerEpisode),
        ].map((text) => cell(text)),
      ),
      ...(otherTokens > 0
        ? [["no role's call", `${otherTokens}`, "", "", "", ""].map((text) => cell(text))]
        : []),
    ],
    note: `${sampledTokens} tokens were sampled in all.${otherTokens > 0 ? " No role's call: episodes that were cut short, and compressions." : ""}`,
  };
}

/** A line of the account: its name, its value, and what more is to say. */
export type DriverRow = readonly [name: string, value: string, small?: string];

/** The lines of the account that there is something for. */
export function driverRows(cost: TeamCost): DriverRow[] {
  const { rejectionRate, unparsableRate, tasks, cache, hours, tokensPerSecond } = cost;
  const row = <T>(value: T | undefined, of: (value: T) => DriverRow): DriverRow[] =>
    value === undefined ? [] : [of(value)];
  return [
    ["tokens sampled", tokenCount(cost.sampledTokens), `${compact(cost.tokensPerEpisode)} an episode`],
    ...row(rejectionRate, (rate) => ["verdicts that rejected", percent(rate)]),
    ...row(unparsableRate, (rate) => ["verdicts that could not be read", percent(rate)]),
    ["wrong drafts rejected", `${cost.catches}`],
    ["wrong drafts passed", `${cost.misses}`],
    ["right drafts rejected", `${cost.falseAlarms}`],
    ...row(tasks, ({ duplicateRate, sampled, different }) => [
      ...(["duplicate tasks", percent(duplicateRate), `${sampled} sampled, ${different} different`] as const),
    ]),
    ...row(cache, ({ rate, valid, tried }) => [
      ...(["cached episodes that held", percent(rate), `${valid} of ${tried}`] as const),
    ]),
    ...row(hours.total, (total) => ["time in all", hoursText(total)]),
    ["of it, sampling", hoursText(hours.sampling)],
    ["of it, updates", hoursText(hours.updating)],
    ...row(tokensPerSecond, (speed) => ["sampled tokens a second", compact(speed)]),
  ];
}

const driverTable = (cost: TeamCost): Table => ({
  caption: "What the bill is made of",
  head: ["", "value"],
  rows: driverRows(cost).map(([name, value, small]) => [cell(name), cell(value, small)]),
  note: cost.cache
    ? "A duplicate task is a group on a question that was sampled before; a cached episode holds if it was right when it was verified again."
    : "A duplicate task is a group on a question that was sampled before.",
});

function projectionTable(projections: readonly Projection[]): Table {
  const priced = projections.some(({ cost }) => cost);
  return {
    caption: "What 15,000 tasks of eight episodes would take at this run's speed",
    head: ["", "tokens", "time", "trajectories", "tokens each", ...(priced ? ["cost"] : [])],
    rows: projections.map(({ name, tokens, hours, trajectories, tokensPerTrajectory, cost }) => [
      ...[name, tokenCount(tokens), hours === undefined ? "–" : hoursText(hours)].map((text) => cell(text)),
      ...[`${trajectories}`, compact(tokensPerTrajectory)].map((text) => cell(text)),
      ...(priced ? [cell(cost ? `${money(cost.amount)} ${cost.currency}` : "–")] : []),
    ]),
    note: `Time of steps on this machine, with this policy; a model of another size has another speed.${
      priced ? " Prices: each token that is read counts once, in this run's proportion to those written." : ""
    }`,
  };
}

const hackTable = (hacks: ReportedTeam["hacks"]): Table => ({
  caption: "Detectors of hacks: share of a step's episodes that show the sign, weighted by how strongly",
  head: ["detector", "mean", "highest", "last", "threshold", "steps found"],
  rows: hacks.map(({ name, mean, highest, at, last, threshold, action, found }) => [
    ...[cell(name), cell(compact(mean)), cell(compact(highest), `step ${at}`)],
    ...[cell(compact(last)), cell(threshold === undefined ? "–" : `${threshold}`, action), cell(`${found}`)],
  ]),
  note: hacks.map(({ name, measures }) => `${name}: ${measures}.`).join(" "),
});

/** As many digits of a fingerprint as tell adapters of a run apart. */
const digits = 8;

function stageTable(stages: ReportedTeam["stages"]): Table {
  const adapters = [...new Set(stages.flatMap(({ sha256 }) => Object.keys(sha256)))];
  return {
    caption: "Stages: who learns, and the weights of each adapter as the stage began (sha256)",
    head: ["from step", "learn", ...adapters],
    rows: stages.map(({ from, learn, sha256 }) => [
      cell(`${from}`),
      cell(learn.join(", ")),
      ...adapters.map((adapter) => cell(sha256[adapter]?.slice(0, digits) ?? "–")),
    ]),
    note: "Weights that are the same from one stage to the next did not learn in between.",
  };
}

const unbroken = (text: string) => text.replaceAll(" ", "\u00a0");

/** "0.137 h", "64 h (2.7 days)". */
export function hoursText(hours: number): string {
  const days = hours >= 48 ? ` (${(hours / 24).toFixed(1)}\u00a0days)` : "";
  return `${hours >= 48 ? Math.round(hours) : compact(hours)}\u00a0h${days}`;
}
