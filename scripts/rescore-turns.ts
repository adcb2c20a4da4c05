import type { TurnTally } from "../reward/lab-group.ts";
import type { RlConfig } from "../rl/config.ts";
import type { Lesson } from "../rl/rows.ts";
import { flips } from "../rl/turn-credit.ts";
import type { Trajectory } from "../rollout/trajectory.ts";

type Credited = Trajectory & { readonly turnCredits?: readonly (readonly number[])[] | undefined };

/**
 * What the turns of a group were worth and what that does to its tokens; nothing where they are not credited.
 * @param learned absent where nothing is learned from the group
 */
export function tallyTurns(
  members: readonly Credited[],
  learned: Omit<Lesson, "group"> | undefined,
  { overlong }: Pick<RlConfig, "overlong">,
): { readonly turns?: TurnTally } {
  const [first] = members;
  if (!first || members.some(({ turnCredits }) => turnCredits === undefined)) return {};
  const credits = members.flatMap(({ turnCredits = [] }) => turnCredits.flat());
  const lessons = learned ? [{ ...learned, group: { task: first.task, members } }] : [];
  return {
    turns: {
      turns: credits.length,
      credit: credits.reduce((sum, credit) => sum + credit, 0),
      ...flips(lessons, overlong === "mask"),
    },
  };
}
