import { roleNames } from "../../env/team/roles.ts";
import type { Normalizer } from "../normalize.ts";
import type { Scored } from "../scored.ts";
import { teamEpisode } from "./episode.ts";
import { fullEntropy, LengthSpread } from "./lengths.ts";
import { revisionsOf } from "./parts.ts";

/**
 * What the episodes of one step say of the team, `team/…`: means over the episodes, unless the name ends in `_rate`, a
 * share of the verdicts or drafts it speaks of, absent where there is none. Nothing where no team played.
 * - episodes: their number
 * - rounds, revisions, converged, aborted, conclusion_changed, compressions, overruns: as in the account
 * - calls/ROLE, tokens/ROLE: of each role that spoke in any episode; violations/KIND: texts that were no message
 * - rejection_rate, unparsable_rate: of all verdicts
 * - catches, misses, false_alarms: rejections of a wrong draft, approvals of a wrong one, rejections of a right one
 * - catch_rate: of the wrong drafts that were read, those rejected; false_alarm_rate: of the right ones
 * - first_draft_em, accepted_em: of the first draft and of the accepted one, over the episodes that have one
 * - length_entropy/ROLE: how its lengths spread, 1 as much as eight half octaves
 * @param normalizer what makes a draft right; the reward's
 */
export function teamMetrics(members: readonly Scored[], normalizer?: Normalizer): Record<string, number> {
  const episodes = members.flatMap((member) => teamEpisode(member, normalizer) ?? []);
  if (episodes.length === 0) return {};
  const teams = episodes.map(({ team }) => team);
  const calls = teams.flatMap((team) => team.calls);
  const verdicts = episodes.flatMap(({ judgements }) => judgements);
  const over = (values: readonly (number | boolean)[]) => sum(values) / episodes.length;
  const rate = (name: string, hits: number, of: number) => (of === 0 ? {} : { [`team/${name}`]: hits / of });
  const judged = (kind: string, right: boolean) =>
    verdicts.filter((each) => each.kind === kind && each.right === right).length;
  const [catches, falseAlarms, misses] = [judged("fail", false), judged("fail", true), judged("pass", false)];
  const kinds = [...new Set(calls.flatMap(({ violation }) => violation ?? []))].sort();
  const entropies = new LengthSpread(teams).entropies();
  const firsts = episodes.flatMap(({ judgements: [first] }) => first?.right ?? []);
  const accepted = episodes.flatMap(({ judgements }) => {
    const last = judgements.at(-1);
    return last?.kind === "pass" && last.right !== undefined ? [last.right] : [];
  });
  return {
    "team/episodes": episodes.length,
    "team/rounds": over(teams.map(({ rounds }) => rounds)),
    "team/revisions": over(teams.map(revisionsOf)),
    "team/converged": over(teams.map(({ converged }) => converged)),
    "team/aborted": over(teams.map(({ aborted }) => aborted)),
    "team/conclusion_changed": over(teams.map(({ conclusionChanged }) => conclusionChanged)),
    "team/compressions": over(teams.map(({ compressions }) => compressions.length)),
    "team/overruns": over(teams.map(({ overruns }) => overruns.length)),
    ...Object.fromEntries(
      roleNames.flatMap((role) => {
        const own = calls.filter((call) => call.role === role);
        if (own.length === 0) return [];
        return [
          [`team/calls/${role}`, own.length / episodes.length],
          [`team/tokens/${role}`, over(own.map(({ tokens }) => tokens))],
          [`team/length_entropy/${role}`, (entropies[role] ?? 0) / fullEntropy],
        ];
      }),
    ),
    ...Object.fromEntries(
      kinds.map((kind) => [
        `team/violations/${kind}`,
        over(calls.map(({ violation }) => violation === kind)),
      ]),
    ),
    ...rate("rejection_rate", verdicts.filter(({ kind }) => kind === "fail").length, verdicts.length),
    ...rate("unparsable_rate", verdicts.filter(({ kind }) => kind === "unparsable").length, verdicts.length),
    "team/catches": catches / episodes.length,
    "team/false_alarms": falseAlarms / episodes.length,
    "team/misses": misses / episodes.length,
    ...rate("catch_rate", catches, verdicts.filter(({ right }) => right === false).length),
    ...rate("false_alarm_rate", falseAlarms, verdicts.filter(({ right }) => right === true).length),
    ...rate("first_draft_em", sum(firsts), firsts.length),
    ...rate("accepted_em", sum(accepted), accepted.length),
  };
}

const sum = (values: readonly (number | boolean)[]): number =>
  values.reduce<number>((total, value) => total + Number(value), 0);
