import { describe, expect, test } from "vitest";
import { type PairOptions, pairsOf } from "./dpo.ts";
import { select } from "./filters.ts";
import type { Candidate } from "./store.ts";

let row = 0;
const candidate = (over: Partial<Candidate>): Candidate => ({
  ...{ row: ++row, step: 1, group: 0, member: 0, taskId: "q", question: "who?", goldenAnswers: ["Ada"] },
  ...{ outcome: "answered", verdict: "kept", reward: 1, tokens: 10, digest: String(row) },
  ...over,
});

describe("filters", () => {
  test("each rule leaves out what it names, and counts it once, under the first that holds", () => {
    const all = [
      candidate({}),
      candidate({ outcome: "infra(model)", reward: null, tokens: 99 }),
      candidate({ outcome: "cancelled", reward: null }),
      candidate({ reward: null }),
      candidate({ step: 9 }),
      candidate({ verdict: "allWrong" }),
      candidate({ outcome: "length" }),
      candidate({ reward: 0.1, tokens: 99 }),
      candidate({ reward: 2 }),
      candidate({ tokens: 21 }),
      candidate({ question: "asked" }),
      candidate({ digest: "twice" }),
      candidate({ digest: "twice" }),
    ];
    const { chosen, seen, leftOut } = select(all, {
      ...{ minReward: 0.5, maxReward: 1, outcomes: ["answered"], maxTokens: 20, toStep: 5, keptOnly: true },
      ...{ dedupe: true, inBenchmark: ({ question }) => question === "asked" },
    });
    expect(chosen).toEqual([all[0], all[11]]);
    expect(seen).toBe(all.length);
    expect(leftOut).toEqual({
      ...{ infrastructure: 2, unscored: 1, step: 1, "not trained on": 1, outcome: 1, reward: 2, length: 1 },
      ...{ benchmark: 1, duplicate: 1 },
    });
  });

  test("without filters only episodes without a reward are left out", () => {
    const all = [
      candidate({ reward: 0 }),
      candidate({ verdict: "tie" }),
      candidate({ outcome: "infra(timeout)" }),
    ];
    expect(select(all, {}).chosen).toEqual(all.slice(0, 2));
  });

  test("of one question the best are kept, of equals the latest; the order stays", () => {
    const all = [
      candidate({ taskId: "a", reward: 0.5, step: 1 }),
      candidate({ taskId: "a", reward: 1, step: 1 }),
      candidate({ taskId: "b", reward: 0 }),
      candidate({ taskId: "a", reward: 1, step: 3 }),
      candidate({ taskId: "a", reward: 1, step: 2 }),
    ];
    const { chosen, leftOut } = select(all, { perQuestion: 2 });
    expect(chosen).toEqual([all[2], all[3], all[4]]);
    expect(leftOut).toEqual({ "per question": 2 });
  });
});

describe("preference pairs", () => {
  const group = (rewards: readonly number[], group = 0, taskId = "q") =>
    rewards.map((reward, member) => candidate({ reward, member, group, taskId }));
  const pairs = (members: readonly Candidate[], o: Partial<PairOptions> = {}) => {
    const found = pairsOf(members, { margin: 0.1, perGroup: 1, ...o });
    return found.pairs.map(({ chosen, rejected }) => [chosen.member, rejected.member]);
  };

  test("best against worst; ties go to the earlier member", () => {
    expect(pairs(group([0.1, 1, 0, 1]))).toEqual([[1, 2]]);
  });

  test("more pairs of a group use each member once, while the margin holds", () => {
    expect(pairs(group([1, 0.5, 0, 0.9, 0.45]), { perGroup: 9 })).toEqual([
      [0, 2],
      [3, 4],
    ]);
    expect(pairs(group([1, 0.5, 0, 0.9, 0.45]), { perGroup: 9, margin: 0.5 })).toEqual([[0, 2]]);
  });

  test("no pair across groups, none without a difference, none beyond the wanted rewards", () => {
    const members = [...group([1, 1]), ...group([0, 0], 1)];
    expect(pairsOf(members, { margin: 0.1, perGroup: 1 })).toMatchObject({
      pairs: [],
      groups: 2,
      withoutPair: 2,
    });
    expect(pairs(group([0.5, 0]), { minReward: 1 })).toEqual([]);
    expect(pairs(group([1, 0.5]), { maxReward: 0.1 })).toEqual([]);
  });

  test("of one question the widest margins are kept", () => {
    const members = [...group([0.5, 0]), ...group([1, 0], 1), ...group([0.6, 0.3], 2, "other")];
    const { pairs: found } = pairsOf(members, { margin: 0.1, perGroup: 1, perQuestion: 1 });
    expect(found.map(({ chosen }) => chosen.group)).toEqual([1, 2]);
  });
});
