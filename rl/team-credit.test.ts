import fc from "fast-check";
import { expect, test } from "vitest";
import { toyTask } from "../reward/testing.ts";
import type { Segment, Sequence, Source } from "../rollout/trajectory.ts";
import { advantagesOf } from "./advantage.ts";
import { toRows } from "./rows.ts";
import { callsOf, equaliseCalls } from "./team-credit.ts";

const segment = (source: Source): Segment => ({
  ...{ source, tokens: [1, 2], text: "" },
  ...(source === "policy" ? { logprobs: [-1, -1], version: 0 } : {}),
});
const sequence = (seat: string, sources: readonly Source[]): Sequence => ({
  ...{ seat, segments: (["prompt", ...sources] as const).map(segment) },
});
/** A conversation of so many calls, each with so many searches. */
const conversation = (seat: string, calls: number, searches = 0): Sequence =>
  sequence(
    seat,
    Array.from({ length: calls }, (): Source[] => [
      "injected",
      ...Array.from({ length: searches }, (): Source[] => ["policy", "observation"]).flat(),
      "policy",
    ]).flat(),
  );
const member = (i: number, sequences: readonly Sequence[], id = "t") => ({
  ...{ task: { ...toyTask, id }, member: i, sequences, outcome: "answered" as const },
  ...{ temperature: 1, seconds: 0 },
});
const o = { seed: 1, step: 0, learnt: ({ outside }: Sequence) => !outside };

test("a call is all that is written but for what tools answer: corrections, second tries and restarts begin another", () => {
  expect(callsOf(sequence("s", ["policy", "observation", "policy", "injected", "policy"]))).toEqual([
    0, 0, 1,
  ]);
  expect(
    callsOf(sequence("s", ["injected", "policy", "policy", "observation", "injected", "policy"])),
  ).toEqual([0, 1, 2]);
  expect(callsOf(sequence("s", ["observation", "policy"]))).toEqual([0]);
  expect(callsOf(sequence("s", []))).toEqual([]);
});

const roles = ["planner", "drafter", "verifier"];
/** Episodes with as many calls of each role as drawn. */
const episodes = fc
  .array(fc.array(fc.nat(4), { minLength: roles.length, maxLength: roles.length }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((all) =>
    all.map((calls, i) =>
      member(
        i % 3,
        roles.map((seat, r) => conversation(seat, calls[r]!, r)),
        `t${Math.floor(i / 3)}`,
      ),
    ),
  );
type Episodes = ReturnType<typeof member>[];
/** Of each role the scales of its calls. */
function byRole(members: Episodes, scales: ReturnType<typeof equaliseCalls>): Map<string, number[]> {
  const out = new Map<string, number[]>();
  for (const { sequences } of members)
    for (const each of sequences) {
      const calls = new Map(callsOf(each).map((call, i) => [call, scales.get(each)![i]!]));
      if (calls.size > 0) out.set(each.seat, [...(out.get(each.seat) ?? []), ...calls.values()]);
    }
  return out;
}
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

test("weight: the calls of each role weigh the same together, and all of them as many as they are", () => {
  fc.assert(
    fc.property(episodes, (members) => {
      const of = byRole(members, equaliseCalls(members, "weight", o));
      const all = [...of.values()];
      for (const own of all) expect(sum(own)).toBeCloseTo(sum(all.map(sum)) / all.length, 9);
      expect(sum(all.map(sum))).toBeCloseTo(sum(all.map(({ length }) => length)), 9);
    }),
  );
});

test("sample: each role keeps as many whole calls as the role with the fewest has", () => {
  fc.assert(
    fc.property(episodes, (members) => {
      const all = [...byRole(members, equaliseCalls(members, "sample", o)).values()];
      const least = Math.min(...all.map(({ length }) => length));
      for (const own of all) {
        expect(sum(own)).toBe(least);
        expect(own.every((scale) => scale === 0 || scale === 1)).toBe(true);
      }
    }),
  );
});

test("either way it does not matter in what order the episodes stand; another step draws other calls", () => {
  fc.assert(
    fc.property(episodes, fc.constantFrom("weight", "sample"), (members, mode) => {
      const there = equaliseCalls(members, mode, o);
      const back = equaliseCalls(members.toReversed(), mode, o);
      for (const [each, scales] of there) expect(back.get(each)).toEqual(scales);
    }),
  );
  const many = Array.from({ length: 8 }, (_, i) => member(i, [conversation("a", 1), conversation("b", 4)]));
  const drawn = [0, 1].map((step) => [...equaliseCalls(many, "sample", { ...o, step }).values()]);
  expect(drawn[0]).not.toEqual(drawn[1]);
  expect(equaliseCalls(many, "none", o).size).toBe(0);
});

test("what others played, and what is frozen, neither counts nor is counted", () => {
  const expert: Sequence = { ...conversation("a", 1), outside: true };
  const scales = equaliseCalls(
    [member(0, [expert, conversation("b", 3), conversation("c", 2)])],
    "sample",
    o,
  );
  expect(scales.has(expert)).toBe(false);
  expect([...scales.values()].map(sum)).toEqual([2, 2]);
});

test("the group mean is over episodes: how many calls a role made moves no advantage, nor where the members stand", () => {
  const rewards = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 2, maxLength: 5 });
  const calls = fc.infiniteStream(fc.integer({ min: 1, max: 4 }));
  fc.assert(
    fc.property(rewards, calls, (list, stream) => {
      const next = () => stream.next().value as number;
      const group = (counts: () => number) => {
        const members = list.map((reward, i) => ({
          ...member(i, [conversation("planner", counts()), conversation("verifier", counts(), 1)]),
          ...{ reward, parts: {} },
        }));
        return { group: { task: toyTask, members }, advantages: advantagesOf("drGrpo", members) };
      };
      const rowsOf = (lesson: ReturnType<typeof group>) =>
        toRows([lesson], { kinds: () => [], maskCut: false }).map(({ advantages, mask }) => [
          ...new Set(advantages.filter((_, t) => mask[t] === 1)),
        ]);
      expect(rowsOf(group(next))).toEqual(rowsOf(group(() => 1)));
    }),
  );
});

test("rows: of whom the policy played, with their adapter, their share and their shaping; a dropped call stays as context", () => {
  const expert: Sequence = { ...conversation("a", 1), outside: true };
  const [planner, verifier, frozen] = [conversation("p", 2), conversation("v", 1), conversation("f", 1)];
  const members = [{ ...member(0, [expert, planner, verifier, frozen]), reward: 1, parts: {} }];
  const rows = toRows([{ group: { task: toyTask, members }, advantages: [2] }], {
    ...{ kinds: () => [], maskCut: false },
    roles: {
      adapterOf: (seat) => (seat === "v" ? "second" : "first"),
      learnt: ({ seat, outside }) => !outside && seat !== "f",
      shaping: (seat) => (seat === "v" ? 0.5 : 1),
      scales: new Map([
        [planner, [0, 1]],
        [verifier, [3]],
      ]),
    },
  });
  expect(rows.map(({ adapter }) => adapter)).toEqual(["first", "second"]);
  expect(rows[0]!.tokens).toHaveLength(10);
  expect(rows[0]!.mask).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
  expect(rows[0]!.advantages).toEqual(rows[0]!.mask.map((m) => 2 * m));
  expect(rows[1]!.advantages.slice(-2)).toEqual([1, 1]);
  expect(rows[1]!.scale).toEqual([0, 0, 0, 0, 3, 3]);
});
