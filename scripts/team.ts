import type { Config } from "../configs/schema.ts";
import { ConfigError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import type { NamedFamily } from "../datasets/families/families.ts";
import type { LoadedSource } from "../datasets/load.ts";
import type { Task } from "../datasets/task.ts";
import type { World } from "../datasets/world.ts";
import type { EnvConfig } from "../env/config.ts";
import { corrections } from "../env/team/call.ts";
import { type TeamConfig, teamConfig } from "../env/team/config.ts";
import { type TeamExpert, type TeamHabits, teamPresets } from "../env/team/experts/expert.ts";
import { familyExpert } from "../env/team/experts/families/expert.ts";
import { expertSeatOf } from "../env/team/experts/seats.ts";
import { worldExpert } from "../env/team/experts/world.ts";
import type { RoleName } from "../env/team/roles.ts";
import { compressorSeat, rolesOf, team } from "../env/team/team.ts";
import { normalizerOf } from "../reward/normalize.ts";
import { expertSampler } from "../rollout/demonstrate.ts";
import { chatPolicy } from "../rollout/endpoint/chat.ts";
import { endpointConfig } from "../rollout/endpoint/config.ts";
import type { EpisodeOptions } from "../rollout/episode.ts";
import { type ChatTemplate, wordingOf } from "../rollout/renderer.ts";
import type { Sampler } from "../rollout/sampler.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import type { Setup } from "./setup.ts";

export const hasTeam = ({ env }: Pick<Config, "env">): boolean => env.name === "team";

/** The section, with its defaults where the config says nothing. */
export const teamOf = ({ env }: { readonly env: EnvConfig }): TeamConfig => env.team ?? teamConfig.parse({});

/** What is new to a role comes when it has ended its turn: in a chat that is a user's turn. @throws ConfigError */
export function checkTeamPrompt({ rollout: { prompt } }: Config, chat: ChatTemplate | undefined): void {
  if (wordingOf(prompt, chat).format !== "chat" || prompt.observation === "user") return;
  throw new ConfigError({
    what: "roles of a team are shown what is new after their turns, which a chat has as a user's turn",
    where: "rollout.prompt.observation",
    got: prompt.observation,
    next: "Set rollout.prompt.observation to user.",
  });
}

/** The team's environment over a retriever. */
export function teamMaker(config: Config, tokenizer: Tokenizer): Setup["makeEnvironment"] {
  const countTokens = (text: string) => tokenizer.encode(text).length;
  const corrects = canWrite(tokenizer, corrections);
  const { normalize } = normalizerOf(config.reward.normalizer);
  return (retriever, changed = config.env) =>
    team({ retriever, config: changed, seed: config.run.seed, countTokens, normalize, corrects });
}

/** A small vocabulary refuses words that it does not have. */
function canWrite(tokenizer: Tokenizer, text: string): boolean {
  try {
    return tokenizer.encode(text).length > 0;
  } catch {
    return false;
  }
}

interface TeamDraws {
  readonly habits: TeamHabits;
  /** The run's. */
  readonly seed: number;
  readonly member: number;
}

/** The scripted team for one task of a world: what each role would write. */
export function worldTeam(world: World, task: Task, o: TeamDraws): TeamExpert {
  return worldExpert({
    plan: world.planned(task.id).plan,
    habits: o.habits,
    follow: (subject, relation) => world.fact(subject, relation),
    draw: drawsOf(task, o),
  });
}

/** The same for one task of a family. @throws DataError for a task of another one */
export const familyTeam = (family: NamedFamily, task: Task, o: TeamDraws): TeamExpert =>
  familyExpert(family, task.id, { habits: o.habits, draw: drawsOf(task, o) });

const drawsOf =
  (task: Task, { seed, member }: TeamDraws) =>
  (role: RoleName, round: number) =>
    rng(seed, "team expert", task.id, member, role, round);

/** What the scripted demonstrators can know: who made the tasks. */
type Known = Pick<LoadedSource, "world" | "family">;

/** The scripted team for tasks that the world or a family made; undefined for others. */
export function scriptedTeam({
  world,
  family,
}: Known): ((task: Task, o: TeamDraws) => TeamExpert) | undefined {
  if (world) return (task, o) => worldTeam(world, task, o);
  return family && ((task, o) => familyTeam(family, task, o));
}

/**
 * Who plays the roles that the policy does not; undefined where it plays them all.
 * @throws ConfigError for an expert of tasks that nothing generated, for a key that is not there
 */
export function teamPlayers(
  config: Config,
  o: { readonly tokenizer: Tokenizer; readonly train: Known; readonly contextTokens: number },
): EpisodeOptions["players"] {
  if (!hasTeam(config)) return undefined;
  const section = teamOf(config);
  const on = Object.fromEntries(rolesOf(section).map((role) => [role, true]));
  const outside = new Map<string, (task: Task, member: number) => Sampler>();
  for (const role of rolesOf(section)) {
    const make = playerOf(config, role, { ...o, on });
    if (!make) continue;
    outside.set(role, make);
    if (role === "analyst")
      outside.set(compressorSeat, playerOf(config, role, { ...o, on, seat: compressorSeat })!);
  }
  if (outside.size === 0) return undefined;
  return (seat, task, member) => outside.get(seat)?.(task, member);
}

function playerOf(
  config: Config,
  role: RoleName,
  o: {
    readonly tokenizer: Tokenizer;
    readonly train: Known;
    readonly contextTokens: number;
    readonly on: Readonly<Partial<Record<RoleName, boolean>>>;
    readonly seat?: string;
  },
): ((task: Task, member: number) => Sampler) | undefined {
  const { player } = teamOf(config).roles[role];
  const { tokenizer, train, contextTokens, on, seat = role } = o;
  const where = `env.team.roles.${role}.player`;
  if (player.kind === "policy") return undefined;
  if (player.kind === "endpoint") {
    const { url, model, maxTokens, apiKeyEnv } = player;
    const apiKey = apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv];
    if (apiKeyEnv !== undefined && !apiKey)
      throw new ConfigError({ what: `the environment variable ${apiKeyEnv} is not set`, where });
    const section = config.endpoint ?? endpointConfig.parse({ servers: [url] });
    const policy = chatPolicy({
      url,
      model,
      apiKey,
      config: section,
      maxTokens,
      prompt: config.rollout.prompt,
      onNotice: () => {},
    });
    return () => policy;
  }
  const scripted = scriptedTeam(train);
  if (!scripted)
    throw new ConfigError({
      what: "the scripted demonstrator knows the synthetic world and the task families alone",
      where,
      got: `data.train.kind: ${config.data.train.kind}`,
      next: "Set data.train.kind to world or family, or let the policy or an endpoint play the role.",
    });
  const { seed } = config.run;
  return (task, member) =>
    expertSampler(
      expertSeatOf(scripted(task, { habits: teamPresets.clean, seed, member }), seat, on),
      tokenizer,
      contextTokens,
    );
}
