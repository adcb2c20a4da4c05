import { DataError } from "../core/errors.ts";
import { zip } from "../core/zip.ts";
import { goldOf } from "../reward/answers.ts";
import type { RewardLab } from "../reward/lab.ts";
import type { LabGroup, Lesson } from "../reward/lab-group.ts";
import type { Normalizer } from "../reward/normalize.ts";
import { atStep, scoreGroups } from "../reward/score-all.ts";
import type { Scored } from "../reward/scored.ts";
import { advantagesOf } from "../rl/advantage.ts";
import type { RlConfig } from "../rl/config.ts";
import { judge } from "../rl/filter.ts";
import { creditTurns } from "../rl/turn-credit.ts";
import type { GroupStore, StoredGroup, StoredMember } from "../track/stored-groups.ts";
import type { Remade } from "./rescore-reward.ts";
import { tallyTurns } from "./rescore-turns.ts";

export interface RescoreOptions {
  readonly remade: Pick<Remade, "plan" | "algorithm" | "train" | "rl">;
  /** What the run itself learnt with. */
  readonly ran: Pick<RlConfig, "overlong">;
  readonly normalizer: Normalizer;
  /** Groups that a step learns from at most. */
  readonly tasksPerStep: number;
  readonly lab: RewardLab;
  readonly signal: AbortSignal;
  readonly onGroup?: ((group: LabGroup) => void) | undefined;
  readonly onEpisodes?: ((n: number) => void) | undefined;
}

/** Scores every stored group of a run under another reward and shows it to the lab; a step at a time. */
export async function rescoreGroups(store: GroupStore, o: RescoreOptions): Promise<void> {
  const { train, algorithm, rl } = o.remade;
  for (const { step, groups, failed } of store.steps()) {
    o.signal.throwIfAborted();
    o.lab.leave("infrastructure failed", failed);
    const scorable = groups.flatMap((group) => scorableOf(group, store, o));
    const { groups: scored, failed: unjudged } = await scoreGroups(
      atStep(train, step - 1), // the updates that had been made when it was sampled
      scorable.map(({ task, members }) => ({ task, members: members.map(({ trajectory }) => trajectory) })),
      o.signal,
    );
    o.lab.leave("the judge failed", unjudged.length);
    let places = o.tasksPerStep;
    for (const [stored, { members }] of zip(scorable, scored)) {
      const judged = stored.verdict === "hack" ? "hack" : judge(members, algorithm);
      const surplus = judged === "kept" && places-- <= 0;
      // No reward makes a group younger.
      const verdict = surplus
        ? "surplus"
        : judged === "kept" && stored.verdict === "stale"
          ? "stale"
          : judged;
      const advantages = verdict === "kept" ? advantagesOf(algorithm.advantage, members) : undefined;
      const credited = advantages && { advantages, ...creditTurns(rl, advantages, members) };
      const after = { verdict, ...(advantages && { advantages }), ...tallyTurns(members, credited, rl) };
      const group = compared(stored, members, after, o.ran);
      o.lab.add(group);
      o.onGroup?.(group);
    }
    o.onEpisodes?.(failed + groups.reduce((n, { members }) => n + members.length, 0));
  }
}

/** The group with the members that both rewards can be asked about; nothing where there is none. */
function scorableOf(
  group: StoredGroup,
  store: GroupStore,
  { lab, remade, normalizer }: RescoreOptions,
): StoredGroup[] {
  const { task } = group;
  const { answers, dropped } = goldOf(task.goldenAnswers, normalizer);
  if (dropped > 0) lab.emptyGold(task.id, answers.length);
  if (answers.length === 0) {
    lab.leave("no gold answer is left", group.members.length);
    return [];
  }
  if ((task.supportingIds ?? []).length === 0) {
    const part = remade.plan.needs.get("supportingIds");
    if (part !== undefined)
      throw noGoldPassages(group, store, {
        what: `the reward part \`${part}\``,
        next: `Take \`${part}\` out of the weights (reward.process.of: [novelSearch, freshQuery, supported] does without).`,
      });
    if (remade.rl.turnCredit > 0)
      throw noGoldPassages(group, store, { what: "rl.turnCredit", next: "Set rl.turnCredit to 0." });
  }
  const members = group.members.filter(({ reward }) => reward !== undefined);
  lab.leave("the run gave no reward", group.members.length - members.length);
  return members.length === 0 ? [] : [{ ...group, members }];
}

function noGoldPassages(
  { task, step }: StoredGroup,
  { withTasks }: GroupStore,
  { what, next }: { readonly what: string; readonly next: string },
): DataError {
  return new DataError({
    what: `${what} needs the ids of each question's gold passages`,
    where: `step ${step}, task ${task.id}`,
    got: withTasks ? "a question without `supporting_ids`" : "a run that was recorded without them",
    next,
  });
}

/** @param scored members in the order of the stored ones, perhaps fewer */
function compared(
  stored: StoredGroup,
  scored: readonly Scored[],
  after: Lesson,
  ran: RescoreOptions["ran"],
): LabGroup {
  const { step, group, task, verdict } = stored;
  const byMember = new Map(stored.members.map((each) => [each.trajectory.member, each]));
  const pairs = scored.map((now) => ({ now, was: byMember.get(now.member) as StoredMember }));
  const learned =
    verdict === "kept" && pairs.every(({ was }) => was.advantage !== undefined)
      ? { advantages: pairs.map(({ was }) => was.advantage as number) }
      : undefined;
  const played = pairs.map(({ was: { trajectory, turnCredits } }) => ({ ...trajectory, turnCredits }));
  const turnAdvantages = pairs.map(({ was }) => was.turnAdvantages ?? []);
  return {
    ...{ step, group },
    taskId: task.id,
    question: task.question,
    goldenAnswers: task.goldenAnswers,
    members: pairs.map(({ now, was }) => ({
      member: now.member,
      before: { reward: was.reward as number, parts: was.parts, prediction: was.prediction },
      after: { reward: now.reward, parts: now.parts, prediction: now.prediction },
    })),
    lessons: {
      before: { verdict, ...learned, ...tallyTurns(played, learned && { ...learned, turnAdvantages }, ran) },
      after,
    },
  };
}
