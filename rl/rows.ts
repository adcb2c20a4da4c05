import { InvariantError } from "../core/errors.ts";
import type { Group, Segment, Sequence, Trajectory } from "../rollout/trajectory.ts";
import type { AdapterOf } from "./policy/adapter-sampler.ts";
import type { Row } from "./row.ts";
import type { Scales } from "./team-credit.ts";
import type { TokenKind } from "./token-kinds.ts";

/** A group to learn from, with what its members are worth against each other. */
export interface Lesson<T extends Trajectory = Trajectory> {
  readonly group: Group<T>;
  /** Of each member, [G]. */
  readonly advantages: readonly number[];
  /** Of each turn, [G][sequences][policy segments]; absent where all turns of a member have the member's. */
  readonly turnAdvantages?: readonly (readonly (readonly number[])[])[];
}

/** What tells the seats of one environment apart in learning. */
export interface RoleRules {
  readonly adapterOf: AdapterOf;
  /** Is the sequence learnt from: played by this policy, by an adapter that is not frozen? */
  readonly learnt: (sequence: Sequence) => boolean;
  readonly scales: Scales;
  /** What the advantage of a seat's tokens is multiplied by. */
  readonly shaping: (seat: string) => number;
}

/**
 * Rows of a share of groups: one for each sequence of each member that the policy played, in order, with the member's
 * advantage on all of its policy tokens, or each turn's own. With `maskCut` an episode that was cut at a token limit counts
 * in no loss.
 */
export function toRows(
  share: readonly Lesson[],
  o: {
    readonly kinds: (segment: Segment) => readonly TokenKind[];
    readonly maskCut: boolean;
    readonly roles?: RoleRules | undefined;
  },
): Row[] {
  return share.flatMap(({ group: { members }, advantages, turnAdvantages }) =>
    members.flatMap((member, i) => {
      checkSampled(member);
      const { sequences, temperature, outcome } = member;
      const masked = o.maskCut && outcome === "length";
      return sequences.flatMap((sequence, s) => {
        if (sequence.outside || o.roles?.learnt(sequence) === false) return [];
        return toRow(sequence, {
          ...{ advantage: advantages[i]!, temperature, kinds: o.kinds, masked },
          ...(turnAdvantages ? { turns: turnAdvantages[i]![s]! } : {}),
          ...roleOf(sequence, o.roles),
        });
      });
    }),
  );
}

/** The policy gradient weighs what the policy itself sampled: without its log-probabilities there is no ratio. */
function checkSampled({ unsampled, sequences, task, member }: Trajectory): void {
  const own = sequences.flatMap(({ outside, segments }) =>
    outside ? [] : segments.filter(({ source }) => source === "policy"),
  );
  const bare = own.some(({ tokens, logprobs }) => logprobs?.length !== tokens.length);
  if (!unsampled && !bare) return;
  throw new InvariantError({
    what: "an episode that no policy sampled came into the policy gradient",
    where: `task ${task.id}, member ${member}`,
    got: unsampled ? "a demonstration, or an episode of a file" : "turns without log-probabilities",
    expected: "log-probabilities of whoever sampled it, for every token",
    next: "Learn from it by supervision: `sft.source`.",
  });
}

function roleOf(sequence: Sequence, roles: RoleRules | undefined) {
  if (!roles) return {};
  const { seat } = sequence;
  const adapter = roles.adapterOf(seat);
  const scales = roles.scales.get(sequence);
  return {
    shaping: roles.shaping(seat),
    ...(adapter === undefined ? {} : { adapter }),
    ...(scales === undefined ? {} : { scales }),
  };
}

/**
 * One sequence as a training row: concatenated segments, the mask 1 on policy tokens. The first token of a
 * sequence has nothing before it and is never trained on.
 */
export function toRow(
  sequence: Sequence,
  o: {
    advantage: number;
    /** Advantage of each policy segment, in place of the one for all. */
    turns?: readonly number[];
    temperature: number;
    masked?: boolean;
    kinds?: (segment: Segment) => readonly TokenKind[];
    adapter?: string;
    /** What the advantages are multiplied by. */
    shaping?: number;
    /** What each policy segment's tokens weigh; 0 takes it out of the loss. */
    scales?: readonly number[];
  },
): Row {
  const tokens: number[] = [];
  const mask: number[] = [];
  const oldLogprobs: number[] = [];
  const advantages: number[] = [];
  const kinds: TokenKind[] = [];
  const scale: number[] = [];
  const { shaping = 1 } = o;
  let turn = -1;
  for (const segment of sequence.segments) {
    if (segment.source === "policy") turn++;
    const weight = segment.source === "policy" ? (o.scales?.[turn] ?? 1) : 0;
    const own = weight > 0 && !o.masked;
    const advantage = shaping * (own && o.turns ? o.turns[turn]! : o.advantage);
    if (o.kinds) kinds.push(...(own ? o.kinds(segment) : segment.tokens.map(() => "other" as const)));
    segment.tokens.forEach((token, i) => {
      const trained = own && tokens.length > 0;
      tokens.push(token);
      mask.push(trained ? 1 : 0);
      oldLogprobs.push(trained ? segment.logprobs![i]! : 0);
      advantages.push(trained ? advantage : 0);
      if (o.scales) scale.push(trained ? weight : 0);
    });
  }
  // A group keeps one version (the pipeline drops others), so the first policy segment speaks for all.
  const version = sequence.segments.find((segment) => segment.source === "policy")?.version;
  return {
    ...{ tokens, mask, oldLogprobs, advantages, temperature: o.temperature },
    ...(version === undefined ? {} : { version }),
    ...(o.adapter === undefined ? {} : { adapter: o.adapter }),
    ...(o.scales ? { scale } : {}),
    ...(o.kinds ? { kinds } : {}),
  };
}
