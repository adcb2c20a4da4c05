import type { Config } from "../configs/schema.ts";
import { ConfigError } from "../core/errors.ts";
import { rolesOf } from "../env/team/team.ts";
import { hasTeam, teamOf } from "./team.ts";

/** The option --role, of commands that write what roles of a team said. */
export const roleOption = {
  type: "string",
  describe: "of a team: what these roles said alone, e.g. planner,verifier",
} as const;

/** Its value as names. @throws ConfigError for a role that does not play in the config's environment */
export function roleNamesIn(given: string | undefined, config: Config): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const names = given.split(",").map((name) => name.trim());
  const { name: environment } = config.env;
  // The seats of an environment of the user's own are known once it is played.
  if (!hasTeam(config) && environment !== "researcher" && environment !== "agent") return names;
  const there: readonly string[] = hasTeam(config) ? rolesOf(teamOf(config)) : [];
  const odd = names.find((name) => !there.includes(name));
  if (odd === undefined) return names;
  throw new ConfigError({
    what: there.length === 0 ? "nobody plays in a team" : "no such role plays in the team",
    where: "--role",
    got: there.length === 0 ? `env.name: ${environment}` : `\`${odd}\``,
    expected: there.length === 0 ? "env.name: team" : there.join(", "),
    next: there.length === 0 ? "Leave --role out." : "Name some of these.",
  });
}
