import { existsSync } from "node:fs";
import { join } from "node:path";
import { money } from "../eval/cost.ts";
import type { EvalRecord } from "../eval/record.ts";
import { readRecords } from "../eval/record-file.ts";
import type { TeamCost } from "../eval/report/team-cost.ts";
import { driverRows, hoursText } from "../eval/report/team-tables.ts";
import { compareResults, comparisonTable } from "../eval/table.ts";
import { percent, tokenCount } from "../eval/table-words.ts";
import { teamLines } from "../rollout/print-team.ts";
import { evalFolder } from "../track/run-folder.ts";
import type { Output } from "./output.ts";
import { showSeconds } from "./progress.ts";
import type { RunRecord } from "./run-record.ts";
import type { Setup } from "./setup.ts";
import type { RunResult } from "./train-run.ts";

/** What a finished run says: before and after with intervals, one episode before and after, what to try next. */
export function closingWords(
  setup: Setup,
  record: RunRecord,
  result: RunResult,
  { output, team }: { readonly output: Output; readonly team: TeamCost | undefined },
): void {
  const { config } = setup;
  const steps = result.steps;
  for (const { name } of setup.benchmarks)
    for (const mode of config.eval.modes) {
      const of = (step: number) =>
        result.evals.find((e) => e.benchmark === name && e.mode === mode && e.step === step);
      const [before, after] = [of(0), of(steps)];
      if (before && after && steps > 0) {
        output.line();
        output.line(comparisonTable(compareResults(before, after)));
      }
    }
  const named = result.evals.filter(
    (e) => e.step > 0 && e.step !== steps && config.eval.evalSteps.includes(e.step) && e.mode === "greedy",
  );
  for (const e of named)
    output.line(
      `EM at step ${e.step} (${e.benchmark}, greedy): ${e.em.toFixed(3)} [${e.low.toFixed(3)}, ${e.high.toFixed(3)}], n ${e.n}`,
    );
  const pair = episodePair(setup, record, steps);
  if (pair) {
    output.line();
    output.line(`One question before and after: ${pair.before.question}`);
    output.line(`gold: ${pair.before.goldenAnswers.join(" | ")}`);
    for (const [label, episode] of [
      ["before", pair.before],
      ["after", pair.after],
    ] as const) {
      output.line(
        `${label} (${episode.em === 1 ? "right" : "wrong"}, ${episode.searches} ${episode.searches === 1 ? "search" : "searches"}):`,
      );
      for (const line of told(episode)) output.line(`  ${line}`);
    }
  }
  const folder = record.folder.path;
  if (team) for (const line of teamWords(team)) output.line(line);
  output.line();
  output.line(
    result.status === "interrupted"
      ? `Interrupted and saved. Continue with: npx forager train --resume ${folder}`
      : `weightsSha256 ${result.weightsSha256}`,
  );
  output.line(`total time ${showSeconds(record.seconds())}, warm-up and evaluations included`);
  if (result.status === "done") {
    output.line(`metrics of every step: ${join(folder, "metrics.jsonl")}`);
    output.line(`next: npx forager report ${folder}    (curves and intervals on one page, a model card)`);
    output.line(
      `      npx forager rollout ${join(folder, "config.yaml")} --policy ${folder} --print    (look at episodes)`,
    );
    output.line(`      npx forager play ${join(folder, "config.yaml")}    (take the policy's seat)`);
  }
}

/** An episode as people read it: a team's by its messages, anybody else's by who said what. */
const told = ({ team, segments }: EvalRecord): string[] =>
  team
    ? teamLines(team)
    : segments
        .slice(1)
        .map(({ source, text }) => `${source === "policy" ? "policy   " : "retrieved"} ${text.trim()}`);

/** What the team cost: by role, what drives it, and what the full scale would take. */
function teamWords(team: TeamCost): string[] {
  const [scale] = team.projections;
  return [
    "",
    `What ${team.episodes} episodes of the team cost:`,
    ...team.roles.map(
      ({ role, tokens, share, callsPerEpisode, tokensPerCall }) =>
        `  ${role.padEnd(10)} ${tokenCount(tokens)} tokens (${percent(share)}), ${callsPerEpisode.toFixed(2)} calls an episode, ${tokensPerCall.toFixed(1)} tokens a call`,
    ),
    ...driverRows(team).map(([name, value, small]) => `  ${name}: ${value}${small ? `, ${small}` : ""}`),
    ...(scale
      ? [
          `  projected: ${scale.trajectories} trajectories × ${scale.tokensPerTrajectory} tokens = ${tokenCount(scale.tokens)}${scale.hours === undefined ? "" : `, ${hoursText(scale.hours)} at this speed`}${scale.cost ? `, ${money(scale.cost.amount)} ${scale.cost.currency}` : ""}`,
        ]
      : []),
  ];
}

/** A question that was wrong before and is right after, the one with most hops and then the first; none without one. */
function episodePair(
  setup: Setup,
  record: RunRecord,
  steps: number,
): { before: EvalRecord; after: EvalRecord } | undefined {
  const name = setup.benchmarks[0]?.name;
  const mode = setup.config.eval.modes[0];
  if (name === undefined || mode === undefined) return undefined;
  const path = (step: number) => join(evalFolder(record.folder.evals, name, step, mode), "records.jsonl");
  if (steps === 0 || !existsSync(path(0)) || !existsSync(path(steps))) return undefined;
  const after = new Map(readRecords(path(steps)).records.map((r) => [r.id, r]));
  const pairs = readRecords(path(0)).records.flatMap((before) => {
    const now = after.get(before.id);
    return now && (now.em ?? 0) > (before.em ?? 0) ? [{ before, after: now }] : [];
  });
  return pairs.sort((a, b) => b.before.hops - a.before.hops || a.before.place - b.before.place)[0];
}
