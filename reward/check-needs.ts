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
  team: "no team plays in it",
  oneSeat: "several seats act in it, and its turns are not in one order",
};

/** What our environments cannot give; one of the user's own is believed to give everything. */
const lackingIn: Readonly<Record<string, readonly Need[]>> = {
  researcher: ["team"],
  agent: ["tags", "searches", "team"],
  team: ["tags", "oneSeat"],
};
export const lacksOf = (environment: string): readonly Need[] => lackingIn[environment] ?? [];

/** Where a part of the same purpose is. */
const instead: Readonly<Record<string, string>> = {
  team: "A team has parts of its own: `reward.preset: team`, or teamFormat for format and teamProcess for process.",
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
        next:
          (need === "tags" ? instead[ground.environment] : undefined) ??
          (need === "team"
            ? "Set env.name to team, or choose another preset or other weights."
            : "Take the part out of weights, gates and keep, or out of `process.of` and `repetition.of`."),
      });
  }
}

/** The same for the credit of turns (`rl.turnCredit`), which training alone asks for. @throws ConfigError */
export function checkTurnCredit({ lacks, environment, questions }: Ground): void {
  if (lacks.includes("searches"))
    throw new ConfigError({
      what: `turns cannot be credited in the environment \`${environment}\``,
      where: "rl.turnCredit",
      got: lacking.searches,
      next: "Set rl.turnCredit to 0.",
    });
  for (const set of questions) {
    const got = withoutGold(set);
    if (got !== undefined)
      throw new ConfigError({
        what: "a turn's credit needs the ids of each question's gold passages",
        where: `rl.turnCredit, ${set.name}`,
        got,
        next: "Add `supporting_ids`, or set rl.turnCredit to 0.",
      });
  }
}

/** Searches do not say which seat made them. @throws ConfigError */
export function checkCreditedSeats({
  name,
  seats,
}: {
  readonly name: string;
  readonly seats: readonly string[];
}): void {
  if (seats.length === 1) return;
  throw new ConfigError({
    what: `turns cannot be credited in the environment \`${name}\`: its searches do not say which seat made them`,
    where: "rl.turnCredit",
    got: `seats ${seats.join(", ")}`,
    expected: "one seat",
    next: "Set rl.turnCredit to 0.",
  });
}

function checkGold(part: string, { questions }: Ground): void {
  for (const set of questions) {
    const got = withoutGold(set);
    if (got === undefined) continue;
    throw new ConfigError({
      what: `the reward part \`${part}\` needs the ids of each question's gold passages`,
      where: set.name,
      got,
      next: `Add \`supporting_ids\`, or take \`${part}\` out of the weights (reward.process.of: [novelSearch, freshQuery, supported] does without).`,
    });
  }
}

/** How many questions have no ids of gold passages, and which; undefined where all have. */
function withoutGold({ tasks }: Ground["questions"][number]): string | undefined {
  const without = tasks.filter(({ supportingIds = [] }) => supportingIds.length === 0);
  if (without.length === 0) return undefined;
  const ids = without.slice(0, 5).map(({ id }) => id);
  return `${without.length} of ${tasks.length} questions without \`supporting_ids\`: ${ids.join(", ")}${without.length > ids.length ? ", …" : ""}`;
}
