import { RewardError } from "../core/errors.ts";
import type { TeamAccount } from "../env/team/account.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { type AnswerScores, type Gold, scoreAnswer } from "./answers.ts";
import { answersOf, type ExtractionName, extractions } from "./extract.ts";
import type { Normalizer } from "./normalize.ts";
import { hasWords, isSupported } from "./process.ts";

/** What the parts are computed from: one trajectory, read once, and only as far as a part asks. */
export class Facts {
  readonly trajectory: Trajectory;
  readonly gold: Gold;
  /** Every answer given, in order. */
  readonly answers: readonly string[];
  /** The judged one. */
  readonly prediction: string | undefined;
  readonly scores: AnswerScores;
  readonly normalizer: Normalizer;
  #observations: readonly string[] | undefined;

  constructor(
    trajectory: Trajectory,
    o: { readonly gold: Gold; readonly normalizer: Normalizer; readonly extraction: ExtractionName },
  ) {
    const { ending } = trajectory;
    const whole = ending?.agent ?? ending?.team;
    this.trajectory = trajectory;
    this.gold = o.gold;
    this.answers = whole ? said(whole.answer) : answersOf(trajectory);
    this.prediction = extractions[o.extraction](this.answers);
    this.scores = scoreAnswer(this.prediction, o.gold, o.normalizer);
    this.normalizer = o.normalizer;
  }

  /** Texts of the policy's turns, in order. */
  get turns(): string[] {
    return this.#texts("policy");
  }

  get searches() {
    return this.trajectory.ending?.searches ?? [];
  }

  /** The team's account. @throws RewardError for an episode that no team played */
  get team(): TeamAccount {
    const { ending, task, member } = this.trajectory;
    if (ending?.team) return ending.team;
    throw new RewardError({
      what: "an episode that no team played cannot be scored by what a team did",
      where: `task ${task.id}, member ${member}`,
      expected: "an ending with `team`",
    });
  }

  /** Ids of the gold passages. @throws RewardError for a question that has none */
  get supportingIds(): readonly string[] {
    const { supportingIds, id } = this.trajectory.task;
    if (supportingIds !== undefined && supportingIds.length > 0) return supportingIds;
    throw new RewardError({
      what: "a question without the ids of its gold passages cannot be scored by what was found",
      where: `task ${id}`,
      expected: "`supporting_ids`",
    });
  }

  /** Does the judged answer stand in an observation? */
  get supported(): boolean {
    const answer = this.normalizer.normalize(this.prediction ?? "");
    return answer !== "" && isSupported(answer, this.#seen());
  }

  /** Does a gold answer stand in an observation? */
  get retrieved(): boolean {
    return this.#seen().some((text) => this.gold.answers.some((gold) => hasWords(text, gold)));
  }

  /** Observations as the policy saw them, normalised. */
  #seen(): readonly string[] {
    this.#observations ??= this.#texts("observation").map((text) => this.normalizer.normalize(text));
    return this.#observations;
  }

  #texts(wanted: "policy" | "observation"): string[] {
    const texts: string[] = [];
    for (const { segments } of this.trajectory.sequences)
      for (const { source, text } of segments) if (source === wanted) texts.push(text);
    return texts;
  }
}

const said = (answer: string | undefined): string[] => (answer === undefined ? [] : [answer.trim()]);
