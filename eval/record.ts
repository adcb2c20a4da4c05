import { z } from "zod";
import type { TeamAccount } from "../env/team/account.ts";
import type { Scored } from "../reward/scored.ts";
import type { Segment, Sequence, Source, Trajectory } from "../rollout/trajectory.ts";

const source = z.enum(["prompt", "policy", "observation", "injected"]);

/** One line of records.jsonl: one episode of one question. No clock in it, so the same evaluation gives the same file. */
export const evalRecord = z.object({
  /** The question's id. */
  id: z.string(),
  /** Which sample of the question, from 0. */
  sample: z.int().min(0),
  /** Place of the question in the benchmark's recorded order, from 0. */
  place: z.int().min(0),
  question: z.string(),
  goldenAnswers: z.array(z.string()),
  dataset: z.string(),
  hops: z.int().min(1),
  outcome: z.string(),
  /** False when infrastructure failed: then there are no scores, and the record counts in no mean. */
  valid: z.boolean(),
  /** Why it failed. */
  failure: z.string().optional(),
  /** The judged answer as written; null when there is none. */
  prediction: z.string().nullable(),
  em: z.number().optional(),
  f1: z.number().optional(),
  coverEm: z.number().optional(),
  reward: z.number().optional(),
  /** Raw value of every reward part. Absent in older records. */
  parts: z.record(z.string(), z.number()).optional(),
  turns: z.int().min(0),
  searches: z.int().min(0),
  invalidActions: z.int().min(0),
  policyTokens: z.int().min(0),
  /** Tokens read over all turns, each reading the whole context anew. Absent in older records, and where nobody counts. */
  promptTokens: z.int().min(0).optional(),
  /** Tokens that its judge took, also when the verdict was in the cache. Absent where the server does not say. */
  judging: z.object({ promptTokens: z.int().min(0), completionTokens: z.int().min(0) }).optional(),
  /** At `eval.prices`, the judge included; `complete: false` when a judge's tokens are not known. */
  cost: z
    .object({
      amount: z.number().min(0),
      currency: z.string(),
      judge: z.number().min(0).optional(),
      complete: z.literal(false).optional(),
    })
    .optional(),
  /** Tokens of observations, as the policy read them. Absent in older records. */
  observationTokens: z.int().min(0).optional(),
  /** Gold passages of the question, and those of them that some search showed; absent where their ids are unknown. */
  goldPassages: z.int().min(1).optional(),
  goldFound: z.int().min(0).optional(),
  /** The team's account of its episode, where a team played it. */
  team: z.custom<TeamAccount>((value) => typeof value === "object" && value !== null).optional(),
  /** What was said, in order; `forager score` reads it. */
  segments: z.array(z.object({ source, text: z.string() })),
});
export type EvalRecord = z.infer<typeof evalRecord>;

/** @param place of the question in the recorded order */
export function recordOf(trajectory: Trajectory | Scored, place: number): EvalRecord {
  const { task, member, outcome, ending, failure, sequences } = trajectory;
  const segments = sequences.flatMap((sequence) => sequence.segments);
  const scored = "parts" in trajectory ? trajectory : undefined;
  return {
    id: task.id,
    sample: member,
    place,
    question: task.question,
    goldenAnswers: [...task.goldenAnswers],
    dataset: task.dataset,
    hops: task.hops,
    outcome,
    valid: scored !== undefined,
    ...(failure === undefined ? {} : { failure }),
    prediction: scored?.prediction ?? null,
    ...(scored && {
      em: scored.parts.exactMatch ?? 0,
      f1: scored.parts.f1 ?? 0,
      coverEm: scored.parts.coverMatch ?? 0,
      reward: scored.reward,
      parts: { ...scored.parts },
    }),
    turns: ending?.turns ?? 0,
    searches: ending?.searches.length ?? 0,
    invalidActions: ending?.invalidActions ?? 0,
    policyTokens: segments.reduce((n, segment) => n + written(segment), 0),
    ...readTokens(sequences),
    ...(scored?.judging && { judging: scored.judging }),
    observationTokens: count(segments, "observation"),
    ...goldOf(trajectory),
    ...(ending?.team && { team: ending.team }),
    segments: segments.map(({ source, text }) => ({ source, text })),
  };
}

/** Tokens of a policy segment, as we or its server counted them. */
const written = ({ source, tokens, usage }: Segment) =>
  source === "policy" ? tokens.length || (usage?.completionTokens ?? 0) : 0;

/** Nothing where a turn was neither given as ids nor counted by its server. */
function readTokens(sequences: readonly Sequence[]): Pick<EvalRecord, "promptTokens"> {
  let promptTokens = 0;
  for (const { segments } of sequences) {
    let context = 0;
    for (const { source, tokens, text, usage } of segments) {
      if (source === "policy") {
        if (usage === undefined && tokens.length === 0 && text !== "") return {};
        promptTokens += usage?.promptTokens ?? context;
      }
      context += tokens.length;
    }
  }
  return { promptTokens };
}

const count = (segments: readonly Segment[], wanted: Source) =>
  segments.reduce((n, { source, tokens }) => n + (source === wanted ? tokens.length : 0), 0);

/** Nothing without ids of gold passages, or where no search of the environment's own is recorded. */
function goldOf({ task, ending }: Trajectory): Pick<EvalRecord, "goldPassages" | "goldFound"> {
  const gold = new Set(task.supportingIds);
  if (gold.size === 0 || ending === undefined || ending.agent !== undefined) return {};
  const shown = new Set(ending.searches.flatMap(({ passageIds }) => passageIds));
  return { goldPassages: gold.size, goldFound: [...gold].filter((id) => shown.has(id)).length };
}
