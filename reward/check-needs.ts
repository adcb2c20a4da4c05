import { ConfigError } from "../core/errors.ts";
import type { Task } from "../datasets/task.ts";
import type { Need } from "./parts.ts";
import type { Plan } from "./plan.ts";

/** What a reward is about to score. */
export interface Ground {
  /** Needs that the environment cannot meet. */
  readonly lacks: readonly Need[];
  /** Name of the environment, for people. */
  readonly environment: string;
  /** Questions by where they come from; those of the synthetic world need no look. */
  readonly questions: readonly { readonly name: string; readonly tasks: readonly Task[] }[];
}

const lacking: Record<Exclude<Need, "supportingIds">, string> = {
  tags: "it writes no tags of the protocol",
  searches: "its searches are its own, and not recorded",
};

/** @throws ConfigError for a part that the environment or the questions cannot give */
export function checkNeeds({ needs }: Pick<Plan, "needs">, ground: Ground): void {
  for (const [need, part] of needs) {
    if (need === "supportingIds") checkGold(part, ground);
    else if (ground.lacks.includes(need))
      throw new ConfigError({
        what: `the reward part \`${part}\` cannot be computed in the environment \`${ground.environment}\``,
        where: "reward",
        got: lacking[need],
        next: "Take the part out of weights, gates and keep, or out of `process.of` and `repetition.of`.",
      });
  }
}

function checkGold(part: string, { questions }: Ground): void {
  for (const { name, tasks } of questions) {
    const without = tasks.filter(({ supportingIds = [] }) => supportingIds.length === 0);
    if (without.length === 0) continue;
    const ids = without.slice(0, 5).map(({ id }) => id);
    throw new ConfigError({
      what: `the reward part \`${part}\` needs the ids of each question's gold passages`,
      where: name,
      got: `${without.length} of ${tasks.length} questions without \`supporting_ids\`: ${ids.join(", ")}${without.length > ids.length ? ", …" : ""}`,
      next: `Add \`supporting_ids\`, or take \`${part}\` out of the weights (reward.process.of: [novelSearch, freshQuery, supported] does without).`,
    });
  }
}
