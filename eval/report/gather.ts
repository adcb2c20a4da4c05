import { existsSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { DataError } from "../../core/errors.ts";
import { openRunNumbers, type RunNumbers } from "../../track/run-numbers.ts";
import { compareResults } from "../table.ts";
import { answerFigures, series } from "./evaluation-figures.ts";
import { beforeAndAfter, flipsOf, rightAndWrong } from "./example.ts";
import { evaluationFacts, readCircumstances, runFacts, teamCircumstances } from "./facts.ts";
import { groupCounts, runFigures } from "./figures.ts";
import { headlineOf } from "./headline.ts";
import type { Alarm, Example, Report, ReportedComparison, ReportedEvaluation } from "./report.ts";
import { isEvaluation, parseResult, type StoredEvaluation, storedEvaluations } from "./stored-evaluations.ts";
import { storedResult } from "./stored-results.ts";
import { teamReport } from "./team-report.ts";

/**
 * Everything there is to report of a run folder, of the folder of one evaluation, of a folder of evaluations
 * (`forager eval --out`, a run's evals/), or of what `forager ablate` or `forager search-value` wrote. Reads only; also a run that is in training, or was killed.
 * @throws DataError for a path that is none of them, and for damaged files; CheckpointError for a damaged run
 */
export function gatherReport(path: string): Report {
  if (!existsSync(path) || !statSync(path).isDirectory())
    throw notReportable(path, existsSync(path) ? "a file" : "nothing is there");
  if (existsSync(join(path, "run.db")) || existsSync(join(path, "meta.json"))) return ofRun(path);
  const result = storedResult(path);
  if (result) return result;
  const evaluations = storedEvaluations(path);
  if (evaluations.length === 0)
    throw notReportable(
      path,
      isEvaluation(path) ? "an evaluation without a record" : "a folder with neither in it",
    );
  return ofEvaluations(path, evaluations);
}

function notReportable(where: string, got: string): DataError {
  return new DataError({
    what: "there is nothing to report on",
    where,
    got,
    expected:
      "a run folder (with run.db), an evaluation's (with records.jsonl, or folders that have it), an ablation's (with ablation.json) or one of search-value (with search-value.json)",
    next: "Give the folder that `forager train`, `eval`, `ablate` or `search-value` printed.",
  });
}

function ofRun(path: string): Report {
  const run = openRunNumbers(path);
  try {
    const evaluations = evaluationsOfRun(path, run);
    if (run.steps.length === 0 && evaluations.length === 0)
      throw new DataError({
        what: "the run has recorded nothing yet",
        where: path,
        next: "Wait for its first step, or continue it with `forager train --resume`.",
      });
    const circumstances = readCircumstances(path);
    const { name, baseModel } = circumstances;
    const steps = run.steps.filter(({ phase }) => phase === "rl").at(-1)?.step ?? 0;
    const compared = comparisons(evaluations);
    const example = exampleOf(evaluations);
    const team = teamReport(run, teamCircumstances(path, circumstances));
    return {
      format: "forager-report",
      kind: "run",
      name,
      partial: [...unfinished(circumstances, steps), ...evaluations.flatMap(({ partial }) => partial ?? [])],
      headline: headlineOf({ comparisons: compared, evaluations, run }),
      facts: runFacts(circumstances, run),
      comparisons: compared,
      evaluations: evaluations.map(reported),
      figures: runFigures(run, evaluations),
      groups: groupCounts(run),
      ...(team ? { team } : {}),
      ...(example ? { example } : {}),
      alarms: [...alarmsOf(run), ...interventionsOf(run)],
      ...(baseModel === undefined ? {} : { baseModel }),
    };
  } finally {
    run.close();
  }
}

function ofEvaluations(path: string, evaluations: readonly StoredEvaluation[]): Report {
  const compared = comparisons(evaluations);
  const several = evaluations.some(({ result }) => result.step !== evaluations[0]?.result.step);
  const example = exampleOf(evaluations);
  return {
    format: "forager-report",
    kind: "evaluation",
    name: basename(resolve(path)),
    partial: evaluations.flatMap(({ partial }) => partial ?? []),
    headline: headlineOf({ comparisons: compared, evaluations }),
    facts: evaluationFacts(path),
    comparisons: compared,
    evaluations: evaluations.map(reported),
    figures: several
      ? answerFigures(evaluations, { all: [], byHops: [] }).filter(({ curves }) => curves.length > 0)
      : [],
    groups: [],
    ...(example ? { example } : {}),
    alarms: [],
  };
}

const reported = ({ result, partial }: StoredEvaluation): ReportedEvaluation =>
  partial === undefined ? result : { ...result, partial };

/** What was finished and recorded stands in run.db; evaluations in progress only in their folders. */
function evaluationsOfRun(path: string, run: RunNumbers): StoredEvaluation[] {
  const evals = join(path, "evals");
  const stored = existsSync(evals) ? storedEvaluations(evals) : [];
  const key = ({ result: { benchmark, mode, step } }: Pick<StoredEvaluation, "result">) =>
    JSON.stringify([benchmark, mode, step]);
  const there = new Set(stored.map(key));
  const events = run.events("eval").map(({ data }): StoredEvaluation => {
    const result = parseResult(data, join(path, "run.db"));
    return { result, searchesByHops: new Map(), records: () => [] };
  });
  return [...stored, ...events.filter((each) => !there.has(key(each)))].sort(
    ({ result: a }, { result: b }) =>
      a.benchmark.localeCompare(b.benchmark, "en") || a.mode.localeCompare(b.mode, "en") || a.step - b.step,
  );
}

function unfinished(
  { status, plannedSteps, error }: ReturnType<typeof readCircumstances>,
  steps: number,
): string[] {
  if (status === "done") return [];
  const of = plannedSteps === undefined ? `${steps} steps` : `${steps} of ${plannedSteps} steps`;
  if (status === "failed") return [`the run failed after ${of}${error ? `: ${error}` : ""}`];
  if (status === "interrupted") return [`the run was interrupted after ${of}`];
  return [`the run is not finished, or was killed: ${of}`];
}

/** First against last of each benchmark and mode that was evaluated twice, both finished. */
function comparisons(evaluations: readonly StoredEvaluation[]): ReportedComparison[] {
  const finished = evaluations.filter(({ partial }) => partial === undefined);
  return series(finished.map(({ result }) => result)).flatMap(([, results]) => {
    const [first, last] = [results[0], results.at(-1)];
    if (!first || !last || first === last) return [];
    const records = (wanted: typeof first) =>
      finished.find(({ result }) => result === wanted)?.records() ?? [];
    const flips = flipsOf(records(first), records(last));
    return [{ ...compareResults(first, last), ...(flips && sum(flips) > 0 ? { flips } : {}) }];
  });
}

const sum = (counts: object) => Object.values(counts).reduce((total: number, n: number) => total + n, 0);

/** From the first benchmark, greedy where it was: an episode before and after, else a right one and a wrong one. */
function exampleOf(evaluations: readonly StoredEvaluation[]): Example | undefined {
  const first = evaluations[0]?.result;
  const own = evaluations.filter(
    ({ result }) => result.benchmark === first?.benchmark && result.mode === first.mode,
  );
  const readable = own.flatMap(({ result, records }) => {
    const read = records();
    return read.length > 0 ? [{ label: `step ${result.step}`, records: read }] : [];
  });
  const [before, after] = [readable[0], readable.at(-1)];
  if (!before || !after) return undefined;
  const pair = before === after ? undefined : beforeAndAfter(before, after);
  return pair ?? rightAndWrong(after.records);
}

/** Alarms of the same subject as one, with how often they rang. */
function alarmsOf(run: RunNumbers): Alarm[] {
  const found = new Map<string, Alarm>();
  for (const { step, data } of run.events("alarm")) {
    const text = String(data);
    const subject = text.split(/[ :]/, 1)[0] as string;
    const known = found.get(subject);
    found.set(subject, {
      text: known?.text ?? text,
      steps: (known?.steps ?? 0) + 1,
      first: known?.first ?? step,
      last: step,
    });
  }
  return [...found.values()];
}

/** What the run did by itself, with the numbers it did it on. */
const interventionsOf = (run: RunNumbers): Alarm[] =>
  run.events("intervention").map(({ step, data }) => {
    const text = `intervention ${(data as { says: string }).says}`;
    return { text, steps: 1, first: step, last: step };
  });
