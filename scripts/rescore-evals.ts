import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DataError } from "../core/errors.ts";
import { zip } from "../core/zip.ts";
import type { Task } from "../datasets/task.ts";
import type { PolicyOutcome } from "../env/environment.ts";
import type { EvalRecord } from "../eval/record.ts";
import { type EvaluationRef, findEvaluations, readEvaluation } from "../eval/stored.ts";
import { goldOf } from "../reward/answers.ts";
import { type Change, ChangeTally } from "../reward/lab-change.ts";
import type { Marks } from "../reward/lab-group.ts";
import type { Normalizer } from "../reward/normalize.ts";
import { atStep, scoreGroups } from "../reward/score-all.ts";
import type { Outcome, Trajectory } from "../rollout/trajectory.ts";
import { groupBy } from "../track/export/filters.ts";
import type { Remade } from "./rescore-reward.ts";

/** An evaluation of the run under another reward. */
export interface RescoredEvaluation extends Change {
  readonly benchmark: string;
  readonly mode: "greedy" | "sampled";
  readonly step: number;
}

/**
 * Why a run's evaluations cannot be scored anew: their records hold what was said, not what was searched.
 * @param own names of parts of the user's own that the reward names
 */
export function whyNotEvals(
  { plan }: Pick<Remade, "plan">,
  { agent, own }: { readonly agent: boolean; readonly own: readonly string[] },
): string | undefined {
  if (agent) return "their records do not say what the agent answered with";
  if (own[0] !== undefined) return `\`${own[0]}\` may look at more than their records hold`;
  const part = plan.needs.get("searches") ?? plan.needs.get("supportingIds");
  return part === undefined ? undefined : `\`${part}\` is made of searches, which their records do not hold`;
}

/** Every evaluation of a run that has records, in the order of benchmark, mode and step. */
export async function rescoreEvaluations(
  folder: string,
  o: {
    readonly remade: Pick<Remade, "plain">;
    readonly normalizer: Normalizer;
    readonly signal: AbortSignal;
  },
): Promise<RescoredEvaluation[]> {
  const evals = join(folder, "evals");
  if (
    !existsSync(evals) ||
    !readdirSync(evals).some((name) => existsSync(join(evals, name, "manifest.json")))
  )
    return [];
  const all: RescoredEvaluation[] = [];
  for (const ref of findEvaluations(folder)) {
    o.signal.throwIfAborted();
    const records = recordsOf(ref);
    const { benchmark, mode, step } = ref;
    if (records.length > 0) all.push({ benchmark, mode, step, ...(await changeOf(records, step, o)) });
  }
  return all;
}

/** None of an evaluation that has just begun. */
function recordsOf(ref: EvaluationRef): readonly EvalRecord[] {
  if (!existsSync(join(ref.folder, "records.jsonl"))) return [];
  try {
    return readEvaluation(ref).records;
  } catch (error) {
    if (error instanceof DataError && error.complaint.what === "the evaluation has no record yet") return [];
    throw error;
  }
}

async function changeOf(
  records: readonly EvalRecord[],
  step: number,
  { remade, normalizer, signal }: Parameters<typeof rescoreEvaluations>[1],
): Promise<Change> {
  const scored = records.filter(
    ({ valid, reward, goldenAnswers }) =>
      valid && reward !== undefined && goldOf(goldenAnswers, normalizer).answers.length > 0,
  );
  const questions = [...groupBy(scored, ({ id }) => id).values()];
  const { groups } = await scoreGroups(
    atStep(remade.plain, step),
    questions.map((own) => {
      const task = taskOf(own[0] as EvalRecord);
      return { task, members: own.map((record) => trajectoryOf(record, task)) };
    }),
    signal,
  );
  const tally = new ChangeTally();
  for (const [place, [own, { task, members }]] of zip(questions, groups).entries()) {
    const bySample = new Map(own.map((record) => [record.sample, record]));
    tally.add({
      ...{ step, group: place, taskId: task.id },
      question: task.question,
      goldenAnswers: task.goldenAnswers,
      members: members.map((now) => ({
        member: now.member,
        before: marksOf(bySample.get(now.member) as EvalRecord),
        after: { reward: now.reward, parts: now.parts, prediction: now.prediction },
      })),
    });
  }
  return tally.change();
}

const marksOf = ({ reward, parts, em, f1, coverEm, prediction }: EvalRecord): Marks => ({
  reward: reward as number,
  parts: parts ?? { exactMatch: em ?? 0, f1: f1 ?? 0, coverMatch: coverEm ?? 0 },
  ...(prediction === null ? {} : { prediction }),
});

const taskOf = ({ id, question, goldenAnswers, dataset, hops }: EvalRecord): Task => ({
  ...{ id, question, goldenAnswers, dataset, hops },
});

/** What a record holds of an episode: its texts, and the number of its policy tokens, here all of the first turn. */
function trajectoryOf(record: EvalRecord, task: Task): Trajectory {
  const { sample, outcome, segments, policyTokens, team, turns, invalidActions } = record;
  const first = segments.findIndex(({ source }) => source === "policy");
  return {
    task,
    member: sample,
    outcome: outcome as Outcome,
    ...(team && {
      ending: {
        ...{ outcome: outcome as PolicyOutcome, turns, invalidActions, team },
        ...{ searches: [], observationTokensCut: 0 }, // no part of a team's is made of them
      },
    }),
    sequences: [
      {
        seat: "researcher",
        segments: segments.map(({ source, text }, i) => ({
          ...{ source, text },
          tokens: new Array<number>(i === first ? policyTokens : 0).fill(0),
        })),
      },
    ],
    temperature: 0,
    seconds: 0,
  };
}
