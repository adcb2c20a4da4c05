import type { StoredTrajectory } from "../run-db.ts";

/** Where all rows of an export come from. */
export interface Origin {
  /** The run's name. */
  readonly run: string;
  /** The run is not done: more steps may follow. */
  readonly partial: boolean;
  /** Reward preset or weights, normaliser with its version, and which answer is judged. */
  readonly scorer: string;
  /** Fingerprint of the tokenizer that the ids belong to. */
  readonly tokenizer: string;
}

/** Where one row comes from: enough to find the episode in run.db again, and to know what judged it. */
export function provenanceOf(episode: StoredTrajectory, sequence: number, origin: Origin) {
  const { step, group, member, taskId, question, goldenAnswers, outcome, verdict } = episode;
  const { seat, segments } = episode.sequences[sequence]!;
  return {
    run: origin.run,
    partial: origin.partial,
    step,
    group,
    member,
    seat,
    sequence,
    version: segments.find(({ version }) => version !== undefined)?.version ?? null,
    question_id: taskId,
    question,
    golden_answers: goldenAnswers,
    outcome,
    verdict,
    reward: episode.reward,
    advantage: episode.advantage,
    parts: episode.parts,
    prediction: episode.prediction,
    scorer: origin.scorer,
    tokenizer: origin.tokenizer,
  };
}
