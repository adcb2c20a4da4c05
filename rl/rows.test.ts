import { expect, test } from "vitest";
import { InvariantError } from "../core/errors.ts";
import { toyTask, toyTrajectory } from "../reward/testing.ts";
import type { Sequence, Trajectory } from "../rollout/trajectory.ts";
import { toRow, toRows } from "./rows.ts";

const sequence: Sequence = {
  seat: "researcher",
  segments: [
    { source: "prompt", text: "q", tokens: [5, 6] },
    { source: "policy", text: "a", tokens: [7, 8], logprobs: [-0.5, -1], version: 0 },
    { source: "observation", text: "o", tokens: [9] },
    { source: "injected", text: "i", tokens: [10] },
    { source: "policy", text: "b", tokens: [11], logprobs: [-2], version: 0 },
  ],
};

test("the mask is on policy tokens alone, everything else is zero there", () => {
  expect(toRow(sequence, { advantage: 0.75, temperature: 0.9 })).toEqual({
    tokens: [5, 6, 7, 8, 9, 10, 11],
    mask: [0, 0, 1, 1, 0, 0, 1],
    oldLogprobs: [0, 0, -0.5, -1, 0, 0, -2],
    advantages: [0, 0, 0.75, 0.75, 0, 0, 0.75],
    temperature: 0.9,
    version: 0,
  });
});

test("a masked row keeps its tokens and trains on none", () => {
  const row = toRow(sequence, { advantage: 1, temperature: 1, masked: true });
  expect(row.tokens).toHaveLength(7);
  expect(row.mask).toEqual([0, 0, 0, 0, 0, 0, 0]);
});

test("the very first token of a sequence has nothing before it and is not trained on", () => {
  const bare: Sequence = {
    seat: "s",
    segments: [{ source: "policy", text: "x", tokens: [3, 4], logprobs: [-1, -1], version: 0 }],
  };
  expect(toRow(bare, { advantage: 1, temperature: 1 }).mask).toEqual([0, 1]);
});

test("kinds cover every token, other where the policy did not write", () => {
  const row = toRow(sequence, {
    advantage: 1,
    temperature: 1,
    kinds: (segment) => segment.tokens.map(() => "think"),
  });
  expect(row.kinds).toEqual(["other", "other", "think", "think", "other", "other", "think"]);
});

test("rows of groups: each sequence of each member, its advantage on it; a cut episode counts in no loss", () => {
  const member = (outcome: "answered" | "length") =>
    toyTrajectory([], { outcome, sequences: [sequence, sequence] });
  const share = [
    { group: { task: toyTask, members: [member("answered"), member("length")] }, advantages: [0.5, -0.5] },
  ];
  const kinds = () => [];
  const of = (maskCut: boolean) => toRows(share, { kinds, maskCut }).map((row) => row.advantages[2]);
  expect(of(false)).toEqual([0.5, 0.5, -0.5, -0.5]);
  expect(of(true)).toEqual([0.5, 0.5, 0, 0]);
});

test("what no policy sampled is refused: demonstrations, and turns without log-probabilities", () => {
  const lessonOf = (over: Partial<Trajectory>) => {
    const members = [toyTrajectory([], { sequences: [sequence] }), toyTrajectory([], over)];
    return [{ group: { task: toyTask, members }, advantages: [1, -1] }];
  };
  const rows = (over: Partial<Trajectory>) => toRows(lessonOf(over), { kinds: () => [], maskCut: false });
  expect(rows({ sequences: [sequence] })).toHaveLength(2);
  // Its zeros look like log-probabilities of a policy that was sure.
  const shown = sequence.segments.map((each) =>
    each.logprobs ? { ...each, logprobs: each.logprobs.map(() => 0) } : each,
  );
  const demonstration = { sequences: [{ ...sequence, segments: shown }], unsampled: true } as const;
  expect(() => rows(demonstration)).toThrow(InvariantError);
  expect(() => rows(demonstration)).toThrow(/no policy sampled.*got a demonstration.*sft\.source/);
  const bare = sequence.segments.map(({ logprobs: _, ...each }) => each);
  expect(() => rows({ sequences: [{ ...sequence, segments: bare }] })).toThrow(
    /turns without log-probabilities/,
  );
  expect(rows({ sequences: [{ ...sequence, outside: true, segments: bare }] })).toHaveLength(1);
});
