import { RewardError } from "../core/errors.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Facts } from "./facts.ts";
import { turnCredits } from "./process.ts";

/**
 * What each turn of an episode was worth, [sequences][policy segments], each in [0, 1] (`turnCredits`). An episode's
 * searches are in the order made and do not say which turn made them: they are matched to the turns that have an observation behind
 * them, one each, of the episode's only sequence.
 * @throws RewardError where they cannot be matched; for a question without gold passages
 */
export function creditsOf(facts: Facts): number[][] {
  const { trajectory, searches, supportingIds } = facts;
  const { sequences } = trajectory;
  if (sequences.length > 1)
    throw unmatched(trajectory, `${sequences.length} sequences`, "one seat, whose turns made the searches");
  return sequences.map(({ segments }) => {
    const shown = segments.filter(
      ({ source }, i) => source === "policy" && segments[i + 1]?.source === "observation",
    );
    // What a full context had no room to show is the last search, and the last turn's.
    const hidden = segments.at(-1)?.source === "policy" ? 1 : 0;
    const extra = searches.length - shown.length;
    if (extra < 0 || extra > hidden)
      throw unmatched(
        trajectory,
        `searches: ${searches.length}, turns with an observation behind them: ${shown.length}`,
        "as many of one as of the other",
      );
    return turnCredits(segments, searches, { gold: supportingIds, supported: facts.supported });
  });
}

const unmatched = ({ task, member }: Trajectory, got: string, expected: string) =>
  new RewardError({
    what: "it cannot be told which turn made which search, so turns have no credit",
    where: `task ${task.id}, member ${member}`,
    ...{ got, expected },
    next: "Set rl.turnCredit to 0, or let the environment record one search for each observation it shows.",
  });
