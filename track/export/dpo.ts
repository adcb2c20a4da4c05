import type { Conversation } from "../../rollout/conversation.ts";
import { searchTool } from "../../rollout/conversation.ts";
import type { StoredTrajectory } from "../run-db.ts";
import { groupBy } from "./filters.ts";
import { type Origin, provenanceOf } from "./provenance.ts";
import { openAiMessages } from "./sft.ts";
import type { Candidate } from "./store.ts";

export interface PairOptions {
  /** Least difference in reward, > 0. */
  readonly margin: number;
  /** Most pairs of one group. */
  readonly perGroup: number;
  /** Least reward of the chosen, most of the rejected. */
  readonly minReward?: number | undefined;
  readonly maxReward?: number | undefined;
  /** Most pairs of one question. */
  readonly perQuestion?: number | undefined;
}

export interface Pair {
  readonly chosen: Candidate;
  readonly rejected: Candidate;
}

/**
 * Preference pairs within groups: the best member against the worst, the second best against the second worst, and so
 * on while the margin holds. Ties go to the earlier member. Of a question the pairs with the widest margin are kept.
 */
export function pairsOf(
  candidates: readonly Candidate[],
  o: PairOptions,
): { readonly pairs: readonly Pair[]; readonly groups: number; readonly withoutPair: number } {
  const groups = [...groupBy(candidates, ({ step, group }) => `${step} ${group}`).values()];
  const byGroup = groups.map((members) => pairsOfGroup(members, o));
  const all = byGroup.flat();
  const pairs =
    o.perQuestion === undefined
      ? all
      : [...groupBy(all, ({ chosen }) => chosen.taskId).values()].flatMap((each) =>
          each.toSorted((a, b) => marginOf(b) - marginOf(a)).slice(0, o.perQuestion),
        );
  return { pairs, groups: groups.length, withoutPair: byGroup.filter((each) => each.length === 0).length };
}

const marginOf = ({ chosen, rejected }: Pair) => chosen.reward! - rejected.reward!;

function pairsOfGroup(members: readonly Candidate[], o: PairOptions): Pair[] {
  const { minReward = Number.NEGATIVE_INFINITY, maxReward = Number.POSITIVE_INFINITY } = o;
  const best = members.toSorted((a, b) => b.reward! - a.reward! || a.member - b.member);
  const worst = members.toSorted((a, b) => a.reward! - b.reward! || a.member - b.member);
  return best
    .slice(0, Math.min(o.perGroup, Math.floor(best.length / 2)))
    .map((chosen, i): Pair => ({ chosen, rejected: worst[i]! }))
    .filter((pair) => marginOf(pair) >= o.margin && marginOf(pair) > 0)
    .filter(({ chosen, rejected }) => chosen.reward! >= minReward && rejected.reward! <= maxReward);
}

/** One side of a pair. */
export interface Side {
  readonly episode: StoredTrajectory;
  readonly conversation: Conversation;
}

/** A pair as TRL's conversational preference row; undefined when the two prompts are not the same ids. */
export function dpoRow(
  chosen: Side,
  rejected: Side,
  o: { readonly origin: Origin; readonly ids: boolean },
): Readonly<Record<string, unknown>> | undefined {
  const [a, b] = [chosen.conversation, rejected.conversation];
  const prompt = a.tokens.slice(0, a.promptTokens);
  if (a.promptTokens !== b.promptTokens || prompt.some((token, i) => token !== b.tokens[i])) return undefined;
  const messages = (each: Conversation["said"]) => openAiMessages(each, () => ({}));
  const ids = {
    prompt_ids: prompt,
    chosen_ids: a.tokens.slice(a.promptTokens),
    chosen_masks: a.mask.slice(a.promptTokens),
    rejected_ids: b.tokens.slice(b.promptTokens),
    rejected_masks: b.mask.slice(b.promptTokens),
  };
  const { step, group, member, ...shared } = provenanceOf(chosen.episode, 0, o.origin);
  const other = provenanceOf(rejected.episode, 0, o.origin);
  return {
    prompt: messages(a.opening),
    chosen: messages(a.said),
    rejected: messages(b.said),
    ...(a.layout === undefined ? { tools: [searchTool] } : {}),
    ...(o.ids ? ids : {}),
    provenance: {
      format: "forager-dpo@1",
      ...{ step, group, member, ...shared },
      ...{ layout: a.layout ?? null, tool_calls: a.layout === undefined, ended: a.ended },
      margin: chosen.episode.reward! - rejected.episode.reward!,
      rejected: {
        member: other.member,
        version: other.version,
        outcome: other.outcome,
        reward: other.reward,
        advantage: other.advantage,
        parts: other.parts,
        prediction: other.prediction,
      },
    },
  };
}
