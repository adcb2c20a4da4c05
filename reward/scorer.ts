import { join } from "node:path";
import { ConfigError, RewardError } from "../core/errors.ts";
import type { Task } from "../datasets/task.ts";
import { isPolicyOutcome, type Trajectory } from "../rollout/trajectory.ts";
import { type Gold, goldOf } from "./answers.ts";
import type { RewardConfig } from "./config.ts";
import { Facts } from "./facts.ts";
import { scorerIdentity } from "./identity.ts";
import { openJudge } from "./judge.ts";
import { judgeOf } from "./judge-part.ts";
import { normalizerOf } from "./normalize.ts";
import { basicParts, basicsOf } from "./parts.ts";
import { type OwnPart, planOf } from "./plan.ts";
import type { Scored, Scorer } from "./scored.ts";
import { creditsOf } from "./turn-credit.ts";
import { reweighed, type Weighing, type WeightFactors, weigh, weighGroup } from "./weigh.ts";

export type { OwnPart } from "./plan.ts";

/**
 * Builds the scorer of a run. The basic parts and those that decide something are computed and kept raw; those with a
 * weight make the reward.
 * @param own parts of the user's own, by name
 * @throws ConfigError for a name without a part, an own part under one of our names, a judge that cannot be asked
 */
export function makeScorer(config: RewardConfig, own: Readonly<Record<string, OwnPart>> = {}): Scorer {
  const plan = planOf(config, own);
  const { options } = plan;
  const others = plan.parts.filter(([name]) => !Object.hasOwn(basicParts, name));
  const normalizer = normalizerOf(config.normalizer);
  const judge = plan.judged ? openJudge(judgeConfigOf(config)) : undefined;
  const judged = judge && judgeOf(judge, judgeConfigOf(config));
  const golds = new WeakMap<Task, Gold>();
  let last: { readonly task: Task; readonly gold: Gold } | undefined;
  const goldFor = (task: Task): Gold => {
    if (last?.task === task) return last.gold; // members of a group come one after the other
    const gold = golds.get(task) ?? goldOf(task.goldenAnswers, normalizer);
    golds.set(task, gold);
    last = { task, gold };
    return gold;
  };
  const factsOf = (trajectory: Trajectory) =>
    new Facts(trajectory, { gold: goldFor(trajectory.task), normalizer, extraction: config.extraction });

  const score = (trajectory: Trajectory, step: number, credited: boolean, weighing: Weighing): Scored => {
    checkScorable(trajectory);
    const facts = factsOf(trajectory);
    if (facts.gold.answers.length === 0)
      throw new RewardError({
        what: "a question without gold cannot be scored",
        where: `task ${trajectory.task.id}`,
        next: "Read the questions with the reward's normaliser: it leaves such questions out and names them.",
      });
    const parts: Record<string, number> = basicsOf(facts);
    for (const [name, part] of others) parts[name] = finite(name, part(facts, options), trajectory);
    if (judged) parts.judge = finite("judge", judged.value(facts), trajectory);
    const reward = weigh(parts, weighing, step, () => nameOf(trajectory));
    const { prediction } = facts;
    const judging = judged?.usage(facts);
    const plain = withScore(trajectory, parts, reward, prediction);
    const scored = judging === undefined ? plain : { ...plain, judging };
    return credited ? { ...scored, turnCredits: creditsOf(facts) } : scored;
  };

  const identity = scorerIdentity(config, plan);
  const scorerAt = (step: number, credited: boolean, weighing: Weighing): Scorer =>
    Object.assign((trajectory: Trajectory) => score(trajectory, step, credited, weighing), {
      at: (other: number) => scorerAt(other, credited, weighing),
      withTurnCredits: () => scorerAt(step, true, weighing),
      reweighed: (factors: WeightFactors) => scorerAt(step, credited, reweighed(weighing, factors)),
      identity,
      ...(weighing.combination === "gdpo" && {
        regroup: (members: readonly Scored[]) => {
          if (members.length < 2) return [...members];
          const where = `task ${members[0]?.task.id}`;
          const rewards = weighGroup(
            members.map(({ parts }) => parts),
            weighing,
            step,
            where,
          );
          return members.map((member, i) => ({
            ...member,
            parts: { ...member.parts, beforeGroup: member.reward },
            reward: rewards[i] as number,
          }));
        },
      }),
      ...(judge &&
        judged && {
          prepare: (trajectories: readonly Trajectory[], signal: AbortSignal) =>
            judged.prepare(trajectories.map(factsOf), signal),
          keepIn: (folder: string) => judge.keepIn(join(folder, "judge.jsonl")),
          close: () => judge.close(),
        }),
    });
  return scorerAt(0, false, plan.weighing);
}

/**
 * New keys stand before the spread: added behind it, an object costs V8 more than all the rest of scoring. They are set
 * once more because an episode that was scored before brings its own.
 */
function withScore(
  trajectory: Trajectory,
  parts: Record<string, number>,
  reward: number,
  prediction: string | undefined,
): Scored {
  if (prediction === undefined) {
    const scored = { parts, reward, ...trajectory };
    scored.parts = parts;
    scored.reward = reward;
    return scored;
  }
  const scored = { parts, reward, prediction, ...trajectory };
  scored.parts = parts;
  scored.reward = reward;
  scored.prediction = prediction;
  return scored;
}

function judgeConfigOf({ judge }: RewardConfig) {
  if (judge) return judge;
  throw new ConfigError({
    what: "the part `judge` needs a model that judges",
    where: "reward.judge",
    next: "Give its url and model, or take `judge` out.",
  });
}

const nameOf = ({ task, member }: Trajectory) => `task ${task.id}, member ${member}`;

function finite(name: string, value: number, trajectory: Trajectory): number {
  if (Number.isFinite(value)) return value;
  throw new RewardError({
    what: `the reward part \`${name}\` is not a finite number`,
    where: nameOf(trajectory),
    got: String(value),
  });
}

function checkScorable(trajectory: Trajectory): void {
  if (isPolicyOutcome(trajectory.outcome)) return;
  throw new RewardError({
    what: "an episode that ended by no doing of the policy has no reward",
    where: nameOf(trajectory),
    got: trajectory.outcome,
  });
}
