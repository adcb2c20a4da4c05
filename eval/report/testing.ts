/** Toys for tests of reports: a run folder without a training. */
import { join } from "node:path";
import { stringify } from "yaml";
import { writeFileAtomic } from "../../core/files.ts";
import { toyTask, toyTrajectory } from "../../reward/testing.ts";
import { openRunDb, type StepRecord, type TrajectoryRecord } from "../../track/run-db.ts";
import { evalFolder } from "../../track/run-folder.ts";
import type { EvalMode, EvalResult } from "../evaluate.ts";
import { metricsOf } from "../metrics.ts";
import type { EvalRecord } from "../record.ts";
import { writeRecords } from "../record-file.ts";

/** A record of question `place`; its hops are 1, 2, 3, 1 … */
export function toyRecord(place: number, right: boolean, over: Partial<EvalRecord> = {}): EvalRecord {
  const score = right ? 1 : 0;
  return {
    ...{
      id: `q${place}`,
      sample: 0,
      place,
      question: `who wrote book ${place}?`,
      goldenAnswers: ["Ada Lovelace"],
    },
    ...{ dataset: "toy", hops: (place % 3) + 1, outcome: "answered", valid: true },
    ...{
      prediction: right ? "Ada Lovelace" : "Jane Austen",
      em: score,
      f1: score,
      coverEm: score,
      reward: score,
    },
    ...{ turns: 2, searches: right ? 2 : 1, invalidActions: 0, policyTokens: 12 },
    segments: [
      { source: "prompt", text: "<question> who? </question>" },
      { source: "policy", text: "<search> book </search>" },
      { source: "observation", text: "<information> a book </information>" },
      { source: "policy", text: `<answer> ${right ? "Ada Lovelace" : "Jane Austen"} </answer>` },
    ],
    ...over,
  };
}

/** `n` records of which the first `right` are right. */
export const toyRecords = (n: number, right: number): EvalRecord[] =>
  Array.from({ length: n }, (_, place) => toyRecord(place, place < right));

/** Writes an evaluation's folder as `evaluate` leaves it, or without its result. */
export function writeEvaluation(
  folder: string,
  records: readonly EvalRecord[],
  o: { step: number; mode?: EvalMode; benchmark?: string; questions?: number; unfinished?: boolean },
): EvalResult {
  const { step, mode = "greedy", benchmark = "dev", questions = records.length } = o;
  const samples = 1;
  writeRecords(join(folder, "records.jsonl"), records);
  writeJson(join(folder, "manifest.json"), { benchmark, step, mode, samples, questions });
  const metrics = metricsOf(records, { questions, samples, emAt: [2], maxInfraShare: 0.05 });
  const result = { step, mode, benchmark, ...metrics };
  if (!o.unfinished) writeJson(join(folder, "result.json"), result);
  return result;
}

/** One step of groups of two: `right` says of each group how many of its members are. */
export function toyStep(
  step: number,
  right: readonly number[],
  over: Partial<StepRecord["metrics"]> = {},
): StepRecord {
  const trajectories = right.flatMap((rights, group) =>
    [0, 1].map((member): TrajectoryRecord => {
      const good = member < rights;
      const parts = { exactMatch: Number(good), answers: 1 + ((group + step) % 2) };
      return {
        trajectory: {
          ...toyTrajectory(["<answer> x </answer>"], { member, task: { ...toyTask, id: `t${group}` } }),
          ...{ parts, reward: good ? 1 : 0.1, prediction: "x" },
        },
        ...{ group, verdict: rights === 1 ? "kept" : rights === 0 ? "allWrong" : "allRight" },
      };
    }),
  );
  const em = right.reduce((a, b) => a + b, 0) / (2 * right.length);
  const share = (n: number) => right.filter((rights) => rights === n).length / right.length;
  const metrics = {
    ...{ em, reward: 0.1 + 0.9 * em, "reward/exactMatch": em, "reward/answers": 1.5, entropy: 1 / step },
    ...{ zero_std_frac_all_right: share(2), zero_std_frac_all_wrong: share(0), zero_std_frac_tie: 0 },
    ...{ policy_tokens: 20, total_tokens: 21, turns: 1, searches: 0, episodes: trajectories.length },
    ...{
      "em/hops_1": em,
      "searches/hops_1": 0,
      "outcome/answered": trajectories.length,
      seconds_total: step,
    },
    ...over,
  } as StepRecord["metrics"];
  return { phase: "rl", step, metrics, trajectories };
}

/** A run of three steps with evaluations before and after. */
export function writeToyRun(
  folder: string,
  o: {
    status?: string;
    error?: string;
    name?: string;
    evaluations?: boolean;
    alarm?: string;
    intervention?: string;
    warmUpOnly?: boolean;
  } = {},
): { readonly steps: readonly StepRecord[]; readonly results: readonly EvalResult[] } {
  const { status = "done", name = "toy", evaluations = true } = o;
  writeFileAtomic(
    join(folder, "config.yaml"),
    stringify({
      run: { name, seed: 7 },
      model: { path: "/models/Base-1B", training: "lora" },
      rl: { preset: "dmi", steps: 3 },
    }),
  );
  writeJson(join(folder, "meta.json"), { forager: "0.1.0", attempts: 1 });
  if (status !== "")
    writeJson(join(folder, "summary.json"), { status, error: o.error, seconds: 75, weightsSha256: "abc" });
  const steps = [toyStep(1, [0, 1, 1, 0]), toyStep(2, [1, 1, 2, 0]), toyStep(3, [2, 2, 2, 1])];
  const db = openRunDb(folder);
  db.commit({ phase: "sft", step: 1, metrics: { loss: 2.5 }, trajectories: [] });
  if (!o.warmUpOnly) for (const step of steps) db.commit(step);
  if (o.intervention !== undefined) db.event("rl", 2, "intervention", { says: o.intervention });
  if (o.alarm !== undefined) for (const step of [1, 2]) db.event("rl", step, "alarm", o.alarm);
  const results = evaluations
    ? [
        [0, 12],
        [3, 36],
      ].map(([step = 0, right = 0]) => {
        const path = evalFolder(join(folder, "evals"), "dev", step, "greedy");
        const result = writeEvaluation(path, toyRecords(40, right), { step });
        db.event("rl", step, "eval", result);
        return result;
      })
    : [];
  db.close();
  return { steps, results };
}

export const writeJson = (path: string, value: unknown): void =>
  writeFileAtomic(path, `${JSON.stringify(value)}\n`);
