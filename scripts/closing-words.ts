import { existsSync } from "node:fs";
import { join } from "node:path";
import type { EvalRecord } from "../eval/record.ts";
import { readRecords } from "../eval/record-file.ts";
import { compareResults, comparisonTable } from "../eval/table.ts";
import { evalFolder } from "../track/run-folder.ts";
import type { Output } from "./output.ts";
import { showSeconds } from "./progress.ts";
import type { RunRecord } from "./run-record.ts";
import type { Setup } from "./setup.ts";
import type { RunResult } from "./train-run.ts";

/** What a finished run says: before and after with intervals, one episode before and after, what to try next. */
export function closingWords(setup: Setup, record: RunRecord, result: RunResult, output: Output): void {
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
      for (const { source, text } of episode.segments.slice(1))
        output.line(`  ${source === "policy" ? "policy   " : "retrieved"} ${text.trim()}`);
    }
  }
  const folder = record.folder.path;
  output.line();
  output.line(
    result.status === "interrupted"
      ? `Interrupted and saved. Continue with: npx forager train --resume ${folder}`
      : `weightsSha256 ${result.weightsSha256}`,
  );
  output.line(`total time ${showSeconds(record.seconds())}, warm-up and evaluations included`);
  if (result.status === "done") {
    output.line(`metrics of every step: ${join(folder, "metrics.jsonl")}`);
    output.line(
      `next: npx forager rollout ${join(folder, "config.yaml")} --policy ${folder} --print    (look at episodes)`,
    );
    output.line(`      npx forager play ${join(folder, "config.yaml")}    (take the policy's seat)`);
  }
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
