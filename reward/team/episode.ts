import type { SearchRecord } from "../../env/environment.ts";
import type { TeamAccount } from "../../env/team/account.ts";
import type { Outcome, Trajectory } from "../../rollout/trajectory.ts";
import { type Gold, goldOf, scoreAnswer } from "../answers.ts";
import { type Normalizer, normalizers } from "../normalize.ts";
import { type Judgement, judgementsOf } from "./reading.ts";

/** A verdict, and whether the draft that it was given was right. */
export interface Marked extends Judgement {
  /** Undefined when there was no draft. */
  readonly right?: boolean;
}

/** A team's episode as detectors and metrics see it. */
export interface TeamEpisode {
  readonly team: TeamAccount;
  /** turn_limit: it went past its rounds. */
  readonly outcome: Outcome;
  readonly question: string;
  readonly hops: number;
  readonly searches: readonly SearchRecord[];
  /** The question's gold answers, normalised; empty when there are none. */
  readonly gold: Gold;
  readonly normalizer: Normalizer;
  readonly judgements: readonly Marked[];
}

/** Undefined for an episode that no team played. */
export function teamEpisode(
  { task, ending, outcome }: Trajectory,
  normalizer: Normalizer = normalizers.squad,
): TeamEpisode | undefined {
  const team = ending?.team;
  if (!team) return undefined;
  const gold = goldOf(task.goldenAnswers, normalizer);
  const right = (answer: string) => scoreAnswer(answer, gold, normalizer).em === 1;
  return {
    ...{
      team,
      outcome,
      question: task.question,
      hops: task.hops,
      searches: ending.searches,
      gold,
      normalizer,
    },
    judgements: judgementsOf(team).map((each) =>
      each.draft ? { ...each, right: right(each.draft.answer) } : each,
    ),
  };
}
