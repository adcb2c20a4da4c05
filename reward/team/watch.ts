import type { Group } from "../../rollout/trajectory.ts";
import type { RewardConfig } from "../config.ts";
import { type Normalizer, normalizerOf } from "../normalize.ts";
import type { Scored } from "../scored.ts";
import type { HackAction, HackName, HacksConfig } from "./config.ts";
import { type TeamEpisode, teamEpisode } from "./episode.ts";
import { type Hack, hackNames, hacks } from "./hacks.ts";
import { LengthSpread } from "./lengths.ts";

/** What training does about a team's episodes beyond scoring each by itself. Evaluations do none of it. */
export interface TeamRules {
  readonly hacks: HacksConfig;
  /** λ of the entropy penalty on lengths; 0 is off. */
  readonly lengthEntropy: number;
  readonly normalizer: Normalizer;
}

export const teamRulesOf = ({ hacks: rules = {}, team, normalizer }: RewardConfig): TeamRules => ({
  ...{ hacks: rules, lengthEntropy: team.lengthEntropy, normalizer: normalizerOf(normalizer) },
});

/** One detector's look at a batch. */
export interface HackFinding {
  readonly name: HackName;
  readonly action: HackAction;
  /** Mean sign of the episodes in which the case arose, in [0, 1]. */
  readonly value: number;
  readonly threshold: number;
  /** The value has reached the threshold, and somebody shows the sign. */
  readonly found: boolean;
  /** Episodes that show the sign at all. */
  readonly episodes: number;
  /** Some of those that show it most, in the order given. */
  readonly examples: readonly { readonly task: string; readonly member: number }[];
}

interface Look extends HackFinding {
  /** Of each episode, [N]; 0 where the case did not arise. */
  readonly signs: readonly number[];
  readonly penalty: number;
}

const mostExamples = 5;

/** What the configured detectors say of these episodes; nothing of those that no team played. */
export const hackFindings = (members: readonly Scored[], rules: TeamRules): HackFinding[] =>
  looks(members, rules).map(({ signs: _, penalty: __, ...finding }) => finding);

function looks(members: readonly Scored[], { hacks: configured, normalizer }: TeamRules): Look[] {
  const names = hackNames.filter((name) => configured[name] !== undefined);
  if (names.length === 0) return [];
  const episodes = members.map((member) => teamEpisode(member, normalizer));
  if (episodes.every((episode) => episode === undefined)) return [];
  return names.map((name) => look(name, configured, members, episodes));
}

function look<N extends HackName>(
  name: N,
  configured: HacksConfig,
  members: readonly Scored[],
  episodes: readonly (TeamEpisode | undefined)[],
): Look {
  const rule = configured[name] as NonNullable<HacksConfig[N]>;
  const { threshold, action, penalty } = rule;
  const hack: Hack<N> = hacks[name];
  const signs = episodes.map((episode) => episode && hack.sign(episode, rule));
  const arose = signs.filter((sign) => sign !== undefined);
  const value = arose.length === 0 ? 0 : arose.reduce((sum, sign) => sum + sign, 0) / arose.length;
  const most = Math.max(0, ...arose);
  const examples = members.filter((_, i) => most > 0 && signs[i] === most).slice(0, mostExamples);
  return {
    ...{ name, action, value, threshold, penalty },
    found: most > 0 && value >= threshold,
    episodes: arose.filter((sign) => sign > 0).length,
    examples: examples.map(({ task, member }) => ({ task: task.id, member })),
    signs: signs.map((sign) => sign ?? 0),
  };
}

/** An episode with at least half the sign is dropped. */
const dropFrom = 0.5;

export interface Watched {
  /** The groups in the order given, each with the members that may be learned from. */
  readonly groups: readonly Group<Scored>[];
  /** Members that a detector took out, by task; recorded and counted, never learned from. */
  readonly dropped: readonly Group<Scored>[];
}

/**
 * Acts on a scored batch. A penalty is the rule's times the episode's sign, kept as the part `hacks` (≤ 0); the entropy
 * penalty as `lengthEntropy` (≤ 0), not taken from an episode past its rounds, whose reward stays 0. A dropped episode
 * leaves its group as a failed one does: kept in the baseline, what it gained by cheating would count against the honest.
 * Without rules the very groups that came.
 */
export function watchTeam(groups: readonly Group<Scored>[], rules: TeamRules): Watched {
  const members = groups.flatMap((group) => group.members);
  const acting = looks(members, rules).filter(({ found, action }) => found && action !== "log");
  const accounts = members.flatMap(({ ending }) => ending?.team ?? []);
  const spread = rules.lengthEntropy > 0 && accounts.length > 0 ? new LengthSpread(accounts) : undefined;
  if (acting.length === 0 && !spread) return { groups, dropped: [] };
  const penalising = acting.filter(({ action }) => action === "penalise");
  const dropping = acting.filter(({ action }) => action === "drop");
  let at = 0;
  const each = groups.map(({ task, members }) => {
    const judged = members.map((member) => {
      const i = at++;
      const hack = penalising.reduce((sum, { penalty, signs }) => sum - penalty * signs[i]!, 0);
      const team = member.ending?.team;
      const length = spread && team?.converged ? 0 - rules.lengthEntropy * spread.commonness(team) : 0;
      const parts = {
        ...(penalising.length > 0 && { hacks: hack }),
        ...(spread && { lengthEntropy: length }),
      };
      const drop = dropping.some(({ signs }) => signs[i]! >= dropFrom);
      return { drop, member: withParts(member, parts) };
    });
    const of = (dropped: boolean) =>
      judged.filter(({ drop }) => drop === dropped).map(({ member }) => member);
    return { kept: { task, members: of(false) }, dropped: { task, members: of(true) } };
  });
  return {
    groups: each.map(({ kept }) => kept),
    dropped: each.map(({ dropped }) => dropped).filter(({ members }) => members.length > 0),
  };
}

function withParts(member: Scored, parts: Readonly<Record<string, number>>): Scored {
  const values = Object.values(parts);
  if (values.length === 0) return member;
  const reward = values.reduce((sum, value) => sum + value, member.reward);
  return { ...member, parts: { ...member.parts, ...parts }, reward };
}
