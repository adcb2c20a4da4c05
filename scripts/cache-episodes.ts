import { setMaxListeners } from "node:events";
import { DataError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import { zip } from "../core/zip.ts";
import type { Task } from "../datasets/task.ts";
import { goldOf, scoreAnswer } from "../reward/answers.ts";
import { Facts } from "../reward/facts.ts";
import { normalizerOf } from "../reward/normalize.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { type Counts, type Filters, select } from "../track/export/filters.ts";
import { jsonlWriter } from "../track/export/jsonl.ts";
import type { ChatForm } from "../track/export/sft.ts";
import type { Candidate, EpisodeStore } from "../track/export/store.ts";
import type { StoredTrajectory } from "../track/run-db.ts";
import type { FinishedRun } from "./finished-run.ts";
import type { Output } from "./output.ts";
import type { Perturb, Perturbed } from "./perturb.ts";
import type { Replay } from "./replay.ts";
import type { Setup } from "./setup.ts";
import { supervisedRows } from "./supervised-rows.ts";

export interface CacheOptions {
  readonly filters: Filters;
  /** New tasks from each verified episode. */
  readonly perturb: number;
  readonly form: ChatForm;
  readonly ids: boolean;
  readonly role?: readonly string[] | undefined;
  readonly out: string;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly output: Output;
}

/** What a cache came to. Shares are in [0, 1]. */
export interface CacheReport {
  readonly run: string;
  readonly partial: boolean;
  readonly out: string;
  readonly dryRun: boolean;
  /** Episodes that the filters left, and those of them that the team had verified and that are right. */
  readonly episodes: number;
  readonly verified: number;
  /** New tasks asked for, and those whose episode was verified again. */
  readonly perturbed: number;
  readonly valid: number;
  /** valid / perturbed; 0 where nothing was perturbed. */
  readonly cacheValidityRate: number;
  /** Dropped, by cause. */
  readonly invalid: Counts;
  /** Share of the run's groups whose question an earlier group had been asked. */
  readonly duplicateTaskRate: number;
  /** Share of the draws that came out as a question already asked, by the run or before in the cache. */
  readonly duplicatePerturbationRate: number;
  readonly rows: number;
  readonly tokens: number;
  readonly verifiedBy: string;
}

/** Played at once: what a server has to do, and an order that does not depend on how fast it does it. */
const atOnce = 16;
/** Draws of one new task, where the last one came out as a question already asked. A model is asked once. */
const mostDraws = 8;

interface Wanted {
  readonly from: StoredTrajectory;
  /** Which of its new tasks. */
  readonly k: number;
}

interface Job extends Perturbed {
  readonly from: StoredTrajectory;
}

/**
 * Perturbs the verified episodes of a run, has them played and verified again, and writes those that hold as rows for SFT.
 * @throws DataError where no episode was verified, or none of the new ones holds
 */
export async function growCache(
  { run, setup, store }: { run: FinishedRun; setup: Setup; store: EpisodeStore },
  who: { readonly perturb: Perturb; readonly draws?: number; readonly replay: Replay },
  o: CacheOptions,
): Promise<CacheReport> {
  const { config } = run;
  const { normalizer, extraction } = config.reward;
  const row = normalizerOf(normalizer);
  const { asked, duplicateTaskRate } = questionsOf(store.candidates());
  const benchmarks = new Set(
    setup.benchmarks.flatMap(({ tasks }) => tasks.map(({ question }) => plain(question))),
  );
  const { chosen } = select(store.candidates(), o.filters);
  const verified = chosen
    .map((candidate) => store.episode(candidate.row))
    .filter((episode) => isVerified(episode) && emOf(episode, row) === 1);
  if (verified.length === 0) throw nothing(run, "no episode was verified", `${chosen.length} episodes`);

  const invalid = new Map<string, number>();
  const drop = (cause: string) => invalid.set(cause, (invalid.get(cause) ?? 0) + 1);
  const writer = o.dryRun ? undefined : jsonlWriter(o.out);
  const bar = o.output.progress("playing", verified.length * o.perturb);
  let [valid, rows, tokens, index] = [0, 0, 0, 0];

  setMaxListeners(0, o.signal); // every open episode listens
  let [draws, duplicates] = [0, 0];
  const perturbed = async (from: StoredTrajectory, k: number, attempt: number): Promise<Job | string> => {
    draws++;
    const draw = rng(config.run.seed, "cache", from.step, from.group, from.member, k, attempt);
    const made = await who.perturb(taskOf(from), draw, o.signal);
    return typeof made === "string" ? made : { from, ...made };
  };
  /** In the order of the episodes: of two that ask the same the first stays. */
  const taken = async ({ from, k }: Wanted, first: Job | string): Promise<Job[]> => {
    let job = first;
    for (let attempt = 1; typeof job !== "string" && asked.has(plain(job.task.question)); attempt++) {
      duplicates++;
      job = attempt < (who.draws ?? mostDraws) ? await perturbed(from, k, attempt) : "duplicate";
    }
    const held = typeof job !== "string" && benchmarks.has(plain(job.task.question));
    if (typeof job === "string" || held) {
      drop(typeof job === "string" ? job : "asked by a benchmark");
      return [];
    }
    asked.add(plain(job.task.question));
    return [job];
  };
  const played = async (job: Job, at: number) => {
    const trajectory = await possibly(() => who.replay.play(job.task, at, o.signal));
    if (trajectory === undefined) return { job, cause: "words that the vocabulary lacks" };
    const facts = new Facts(trajectory, {
      gold: goldOf(job.task.goldenAnswers, row),
      normalizer: row,
      extraction,
    });
    const cause = isVerified(trajectory) ? undefined : failureOf(trajectory);
    if (cause !== undefined || facts.scores.em !== 1) return { job, cause: cause ?? "wrong answer" };
    const made = await possibly(async () =>
      supervisedRows(trajectory, { ...run, ...o, provenance: provenanceOf(job, run, who.replay) }),
    );
    return made ? { job, made } : { job, cause: "words that the vocabulary lacks" };
  };

  try {
    const wanted: readonly Wanted[] = verified.flatMap((from) =>
      Array.from({ length: o.perturb }, (_, k) => ({ from, k })),
    );
    for (let at = 0; at < wanted.length; at += atOnce) {
      o.signal.throwIfAborted();
      const batch = wanted.slice(at, at + atOnce);
      const firsts = await Promise.all(batch.map(({ from, k }) => perturbed(from, k, 0)));
      const fresh: Job[] = [];
      for (const [each, first] of zip(batch, firsts)) fresh.push(...(await taken(each, first)));
      for (const { made, cause } of await Promise.all(fresh.map((job) => played(job, index++)))) {
        if (made === undefined) {
          drop(cause);
          continue;
        }
        valid++;
        for (const each of made) {
          writer?.write(each);
          rows++;
          tokens += (each.input_ids as readonly number[] | undefined)?.length ?? 0;
        }
      }
      bar.tick(batch.length);
    }
    if (rows === 0 && writer) throw nothing(run, "no perturbed episode holds", words(invalid));
    writer?.finish();
  } catch (error) {
    writer?.abort();
    throw error;
  } finally {
    bar.done();
  }
  const count = verified.length * o.perturb;
  return {
    ...{ run: run.origin.run, partial: run.origin.partial, out: o.out, dryRun: o.dryRun },
    ...{ episodes: chosen.length, verified: verified.length, perturbed: count, valid },
    cacheValidityRate: valid / count,
    invalid: Object.fromEntries(invalid),
    duplicateTaskRate,
    duplicatePerturbationRate: duplicates / draws,
    ...{ rows, tokens, verifiedBy: who.replay.verifiedBy },
  };
}

const plain = (question: string) => question.trim().toLowerCase().split(/\s+/u).join(" ");

/** Questions that the run has asked, and how often it asked one again. */
function questionsOf(candidates: Iterable<Candidate>) {
  const asked = new Set<string>();
  const groups = new Set<string>();
  let again = 0;
  for (const { step, group, question } of candidates) {
    const key = `${step} ${group}`;
    if (group < 0 || groups.has(key)) continue;
    groups.add(key);
    if (asked.has(plain(question))) again++;
    asked.add(plain(question));
  }
  return { asked, duplicateTaskRate: groups.size === 0 ? 0 : again / groups.size };
}

/** It ended in an answer, and in a team whoever verifies had passed it. */
function isVerified({ outcome, ending }: Pick<StoredTrajectory, "outcome" | "ending">): boolean {
  if (outcome !== "answered") return false;
  const team = ending?.team;
  const last = team?.verdicts.at(-1);
  return team === undefined || (team.converged && (last === undefined || last.kind === "pass"));
}

function failureOf({ outcome, ending }: Trajectory): string {
  if (outcome === "turn_limit") return ending?.team ? "not accepted within the rounds" : "turn_limit";
  return outcome === "answered" ? "rejected by the verifier" : outcome;
}

const emOf = ({ prediction, goldenAnswers }: StoredTrajectory, row: ReturnType<typeof normalizerOf>) =>
  scoreAnswer(prediction ?? undefined, goldOf(goldenAnswers, row), row).em;

const taskOf = ({ taskId, question, goldenAnswers }: StoredTrajectory): Task => ({
  ...{ id: taskId, question, goldenAnswers, dataset: "", hops: 1 },
});

function provenanceOf({ from, changed }: Job, run: FinishedRun, { verifiedBy }: Replay) {
  const { step, group, member, taskId, question } = from;
  return {
    format: "forager-cache@1",
    run: run.origin.run,
    from: { step, group, member, question_id: taskId, question },
    changed,
    verified_by: `${verifiedBy}; exact match`,
  };
}

/** A small vocabulary cannot write every question. */
async function possibly<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DataError) return undefined;
    throw error;
  }
}

const words = (counts: ReadonlyMap<string, number>) =>
  [...counts].map(([cause, n]) => `${n} ${cause}`).join(", ");

const nothing = ({ folder }: FinishedRun, what: string, got: string) =>
  new DataError({
    what,
    where: folder,
    got,
    expected: "episodes that the team accepted and that are an exact match",
    next: "Train on, or ask for less with the filters.",
  });
