import type { Config } from "../configs/schema.ts";
import { adapterOf, compressorSeat, rolesOf } from "../env/team/team.ts";
import type { AdapterOf } from "../rl/policy/adapter-sampler.ts";
import type { TeamLearning } from "../rl/team-learning.ts";
import type { StageState } from "../rl/team-stages.ts";
import { createStages } from "../rl/team-stages.ts";
import { hasTeam, teamOf } from "./team.ts";

/** Adapters of the roles that the policy plays, in the order of the roles; none where nobody plays in a team. */
export function adaptersOf(config: Config): string[] {
  if (!hasTeam(config)) return [];
  const team = teamOf(config);
  const own = rolesOf(team).filter((role) => team.roles[role].player.kind === "policy");
  return [...new Set(own.map((role) => team.roles[role].adapter))];
}

/** The adapter of each seat, where the policy has several; else of none. */
export function seatAdapters(config: Config): AdapterOf {
  const adapters = adaptersOf(config);
  if (adapters.length < 2) return () => undefined;
  const team = teamOf(config);
  return (seat) => {
    const adapter = adapterOf(team, seat);
    return adapters.includes(adapter) ? adapter : undefined;
  };
}

/** Who compresses is the analyst, in a conversation of its own. */
export const roleOfSeat = (seat: string): string => (seat === compressorSeat ? "analyst" : seat);

/** How the team of a run learns, from where its schedule stands; undefined where there is no team. */
export function teamLearning(config: Config, from?: StageState): TeamLearning | undefined {
  if (!hasTeam(config)) return undefined;
  return {
    adapterOf: seatAdapters(config),
    roleOf: roleOfSeat,
    stages: createStages(config.rl.team?.stages ?? [], from),
  };
}
