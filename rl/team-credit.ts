import { rng } from "../core/rng.ts";
import type { Sequence, Trajectory } from "../rollout/trajectory.ts";
import type { TeamLearningConfig } from "./team-config.ts";

/**
 * The calls of a sequence: for each policy segment the number of its call, from 0. A call is what a role writes until it
 * hands its turn back: policy segments with a tool's observation between each and the next. The harness's words (a task of
 * the next round, a correction) begin another call, and so do a second try without any and a new sequence.
 */
export function callsOf({ segments }: Pick<Sequence, "segments">): number[] {
  const calls: number[] = [];
  let call = -1;
  segments.forEach(({ source }, i) => {
    if (source !== "policy") return;
    if (call < 0 || segments[i - 1]?.source !== "observation") call++;
    calls.push(call);
  });
  return calls;
}

/** What each policy segment's tokens are multiplied by in the loss; 0 for one that is left out. */
export type Scales = ReadonlyMap<Sequence, readonly number[]>;

interface Call {
  readonly role: string;
  readonly sequence: Sequence;
  readonly number: number;
  /** Names the call, whatever the order of the episodes. */
  readonly key: readonly (string | number)[];
}

/**
 * Makes the calls of each role count alike over a step. Roles that made none are in no mean. Nothing is ever cut out of
 * a sequence: a call that is left out stays as context.
 */
export function equaliseCalls(
  members: readonly Pick<Trajectory, "task" | "member" | "sequences">[],
  mode: TeamLearningConfig["equalise"],
  o: {
    readonly seed: number;
    readonly step: number;
    /** Sequences to learn from. */
    readonly learnt: (sequence: Sequence) => boolean;
    /** Default: each seat is a role. */
    readonly roleOf?: (seat: string) => string;
  },
): Scales {
  if (mode === "none") return new Map();
  const { roleOf = (seat) => seat } = o;
  const calls = members.flatMap(({ task, member, sequences }) =>
    sequences.flatMap((sequence, s): Call[] => {
      if (!o.learnt(sequence)) return [];
      const count = (callsOf(sequence).at(-1) ?? -1) + 1;
      return Array.from({ length: count }, (_, number) => ({
        ...{ role: roleOf(sequence.seat), sequence, number },
        key: [task.id, member, s, number],
      }));
    }),
  );
  const byRole = new Map<string, Call[]>();
  for (const call of calls) byRole.set(call.role, [...(byRole.get(call.role) ?? []), call]);
  const counts = [...byRole.values()].map(({ length }) => length);
  const scales = new Map<Call, number>();
  for (const [role, own] of byRole) {
    if (mode === "weight") for (const call of own) scales.set(call, calls.length / byRole.size / own.length);
    else for (const call of chosen(own, Math.min(...counts), [o.seed, o.step, role])) scales.set(call, 1);
  }
  const bySequence = new Map<Sequence, number[]>();
  for (const call of calls)
    bySequence.set(call.sequence, [...(bySequence.get(call.sequence) ?? []), scales.get(call) ?? 0]);
  return new Map(
    [...bySequence].map(([sequence, ofCalls]) => [sequence, callsOf(sequence).map((call) => ofCalls[call]!)]),
  );
}

/** A random choice that depends on each call's own name, and not on where it stands. */
function chosen(
  calls: readonly Call[],
  count: number,
  [seed, step, role]: readonly [number, number, string],
): Call[] {
  const drawn = calls.map((call) => ({ call, draw: rng(seed, "call", step, role, ...call.key)() }));
  return drawn
    .sort((a, b) => a.draw - b.draw)
    .slice(0, count)
    .map(({ call }) => call);
}
