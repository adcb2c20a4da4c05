import type { Sequence, Trajectory } from "../rollout/trajectory.ts";
import type { AdapterOf } from "./policy/adapter-sampler.ts";
import type { Lesson, RoleRules } from "./rows.ts";
import { equaliseCalls } from "./team-credit.ts";
import type { Stages } from "./team-stages.ts";
import type { Trainer } from "./trainer.ts";

/** What a policy of several adapters learns by. */
export interface TeamLearning {
  /** The adapter that a seat plays by; of a policy of one set of weights none. */
  readonly adapterOf: AdapterOf;
  /** The role that a seat is of, where one role has several; else the seat's own name. */
  readonly roleOf?: (seat: string) => string;
  readonly stages: Stages;
}

/** What one step's rows are made by, where seats are told apart; `done` steps have gone before. */
export function roleRules(
  { team, steering, config, seed }: Pick<Trainer, "team" | "steering" | "config" | "seed">,
  done: number,
  learning: readonly Lesson[],
): RoleRules | undefined {
  const section = config.team;
  if (!team && !section && !steering) return undefined;
  const adapterOf: AdapterOf = (seat) => team?.adapterOf(seat);
  const roleOf = (seat: string) => team?.roleOf?.(seat) ?? seat;
  const learns = (seat: string) => {
    if (steering?.learns(roleOf(seat), done) === false) return false;
    const adapter = adapterOf(seat);
    return adapter === undefined || team!.stages.learns(adapter);
  };
  const learnt = ({ seat, outside }: Sequence) => !outside && learns(seat);
  const scales = equaliseCalls(
    learning.flatMap(({ group }) => group.members),
    section?.equalise ?? "none",
    { seed, step: done, learnt, roleOf },
  );
  return { adapterOf, learnt, scales, shaping: (seat) => section?.shaping[roleOf(seat)] ?? 1 };
}

/** Policy tokens of the episodes that an adapter played; undefined is the one set of weights of all seats. */
export function tokensOf(
  episodes: readonly Trajectory[],
  adapter: string | undefined,
  adapterOf: AdapterOf,
): number {
  let n = 0;
  for (const { sequences } of episodes)
    for (const { seat, outside, segments } of sequences)
      if (!outside && adapterOf(seat) === adapter)
        for (const { source, tokens } of segments) if (source === "policy") n += tokens.length;
  return n;
}
