import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantError } from "../core/errors.ts";
import type { Scored, Scorer } from "../reward/scored.ts";
import { toyTask } from "../reward/testing.ts";
import type { Segment } from "../rollout/trajectory.ts";
import { advantagesOf } from "./advantage.ts";
import { rlConfig } from "./config.ts";
import { scorerOf } from "./overlong.ts";
import { type Lesson, toRows } from "./rows.ts";
import { creditTurns, flips, turnCreditMetrics, turnTerms } from "./turn-credit.ts";

/** An episode whose turns are two tokens each, with an observation of three between them. */
function episode(reward: number, credits: readonly number[], over: Partial<Scored> = {}): Scored {
  const segments = credits.flatMap((_, i): Segment[] => [
    ...(i > 0 ? [{ source: "observation" as const, text: "o", tokens: [7, 8, 9] }] : []),
    { source: "policy", text: "p", tokens: [3 + i, 4], logprobs: [-1, -2], version: 0 },
  ]);
  return {
    ...{ task: toyTask, member: 0, outcome: "answered", temperature: 1, seconds: 0 },
    sequences: [{ seat: "s", segments: [{ source: "prompt", text: "q", tokens: [1, 2] }, ...segments] }],
    ...{ parts: { exactMatch: reward }, reward, turnCredits: [credits] },
    ...over,
  };
}

function lessonOf(members: readonly Scored[], turnCredit: number): Lesson<Scored> {
  const advantages = advantagesOf("drGrpo", members);
  return {
    group: { task: toyTask, members },
    advantages,
    ...creditTurns({ turnCredit }, advantages, members),
  };
}
const rowsOf = (members: readonly Scored[], turnCredit: number, maskCut = false) =>
  toRows([lessonOf(members, turnCredit)], { kinds: () => [], maskCut }).map((row) => row.advantages);

describe("by hand", () => {
  // Credits 1, 0 and 0: their mean is 1/3. Advantages of the episodes are ±1/2.
  const members = [episode(1, [1, 0]), episode(0, [0])];

  test("each turn has its episode's advantage plus its own term, and nothing else has any", () => {
    const third = 1 / 3;
    const expected = [
      [0, 0, 0.5 + 0.9 * (2 / 3), 0.5 + 0.9 * (2 / 3), 0, 0, 0, 0.5 - 0.9 * third, 0.5 - 0.9 * third],
      [0, 0, -0.5 - 0.9 * third, -0.5 - 0.9 * third],
    ];
    rowsOf(members, 0.9).forEach((row, i) => {
      expect(row).toHaveLength(expected[i]!.length);
      row.forEach((advantage, t) => {
        expect(advantage).toBeCloseTo(expected[i]![t]!, 12);
      });
    });
  });

  test("metrics: mean credit of a turn, share of tokens with another sign than their episode's", () => {
    const metrics = (turnCredit: number, overlong: "score" | "mask" = "score", scored = members) =>
      turnCreditMetrics({ turnCredit, overlong }, scored, [lessonOf(scored, turnCredit)]);
    expect(metrics(0.9)).toEqual({ turn_credit: 1 / 3, turn_credit_flip_frac: 0 });
    // 0.5 − 1.6 / 3 < 0: the second turn of the first member.
    expect(metrics(1.6)).toEqual({ turn_credit: 1 / 3, turn_credit_flip_frac: 2 / 6 });
    expect(metrics(0)).toEqual({});
    const cut = [episode(1, [1, 0], { outcome: "length" }), episode(0, [0])];
    expect(metrics(1.6, "mask", cut)).toEqual({ turn_credit: 1 / 3, turn_credit_flip_frac: 0 });
  });

  test("a step without turns or without groups to learn from invents no numbers", () => {
    const config = { turnCredit: 1, overlong: "score" } as const;
    expect(turnCreditMetrics(config, [], [])).toEqual({});
    expect(turnCreditMetrics(config, members, [])).toEqual({ turn_credit: 1 / 3 });
  });

  test("a cut member stays in the baseline of the others when it is masked out of the loss", () => {
    const cut = [episode(1, [1, 0], { outcome: "length" }), episode(0, [0])];
    const [masked, other] = rowsOf(cut, 0.9, true);
    expect(masked!.every((advantage) => advantage === 0)).toBe(true);
    expect(other).toEqual(rowsOf(members, 0.9)[1]);
  });

  test("the first token of a sequence is not trained on, and counts in no share", () => {
    const { sequences, ...rest } = episode(1, [1]);
    const bare = { ...rest, sequences: [{ seat: "s", segments: sequences[0]!.segments.slice(1) }] };
    expect(flips([lessonOf([bare, episode(0, [0, 0])], 1)], false).tokens).toBe(1 + 4);
  });
});

test("equal credits add exactly nothing, where the rounded mean of seven 0.1 is not 0.1", () => {
  expect(turnTerms([episode(1, Array(7).fill(0.1)), episode(0, [0.1])], 3).flat(2)).toEqual(Array(8).fill(0));
});

test.each([
  ["none", undefined],
  ["one too few", [[1]]],
  ["a sequence too many", [[1, 0], []]],
  ["no number", [[1, Number.NaN]]],
])("credits that do not fit the turns (%s) are a bug, named with the episode", (_, turnCredits) => {
  const broken = { ...episode(1, [1, 0]), turnCredits } as Scored;
  expect(() => turnTerms([broken], 1)).toThrow(InvariantError);
  expect(() => turnTerms([broken], 1)).toThrow(/toy:1, member 0/);
});

const credit = fc.constantFrom(0, 0.5, 1);
const group = fc.array(fc.tuple(fc.constantFrom(0, 0.1, 1), fc.array(credit, { maxLength: 5 })), {
  ...{ minLength: 2, maxLength: 6 },
});
const weight = fc.double({ min: 0.01, max: 10, noNaN: true });
const made = (drawn: readonly (readonly [number, readonly number[]])[]) =>
  drawn.map(([reward, credits], member) => episode(reward, credits, { member }));

test("law: at weight 0 rows are those of a run without credits, bit for bit", () => {
  fc.assert(
    fc.property(group, (drawn) => {
      const members = made(drawn);
      const plain = members.map(({ turnCredits: _, ...member }) => member);
      expect(lessonOf(members, 0)).not.toHaveProperty("turnAdvantages");
      expect(rowsOf(members, 0)).toEqual(rowsOf(plain, 0));
    }),
  );
});

test("law: the terms of a group have mean 0 over its turns, and scale with the weight", () => {
  fc.assert(
    fc.property(group, weight, (drawn, w) => {
      const terms = turnTerms(made(drawn), w).flat(2);
      expect(terms.reduce((sum, term) => sum + term, 0)).toBeCloseTo(0, 9);
      const twice = turnTerms(made(drawn), 2 * w).flat(2);
      twice.forEach((term, i) => {
        expect(term).toBeCloseTo(2 * terms[i]!, 9);
      });
    }),
  );
});

test("law: of two turns of a group the one of more credit gains more, whichever episode it is in", () => {
  fc.assert(
    fc.property(group, weight, (drawn, w) => {
      const members = made(drawn);
      const credits = members.flatMap(({ turnCredits }) => turnCredits!.flat());
      const terms = turnTerms(members, w).flat(2);
      terms.forEach((a, i) => {
        terms.forEach((b, j) => {
          expect(Math.sign(a - b)).toBe(Math.sign(credits[i]! - credits[j]!));
        });
      });
    }),
  );
});

test("law: members in another order keep what is theirs", () => {
  fc.assert(
    fc.property(
      group.chain((drawn) =>
        fc.tuple(
          fc.constant(drawn),
          fc.shuffledSubarray([...drawn.keys()], { minLength: drawn.length, maxLength: drawn.length }),
        ),
      ),
      weight,
      ([drawn, order], w) => {
        const members = made(drawn);
        const straight = rowsOf(members, w);
        rowsOf(
          order.map((i) => members[i]!),
          w,
        ).forEach((row, at) => {
          const own = straight[order[at]!]!;
          expect(row).toHaveLength(own.length);
          row.forEach((advantage, t) => {
            expect(advantage).toBeCloseTo(own[t]!, 12);
          });
        });
      },
    ),
  );
});

test("the weight 0 leaves the scorer as it is; above, one that cannot credit turns is refused", () => {
  const plain: Scorer = (t) => ({ ...t, parts: {}, reward: 0 });
  expect(scorerOf({ score: plain, config: rlConfig.parse({}) })).toBe(plain);
  expect(() => scorerOf({ score: plain, config: rlConfig.parse({ turnCredit: 1 }) })).toThrow(
    /rl\.turnCredit.*scores episodes alone/s,
  );
});

test.each([{ turnCredit: -1 }, { turnCredit: Number.POSITIVE_INFINITY }, { turnCredit: "1" }])(
  "%j is refused",
  (config) => expect(rlConfig.safeParse(config).success).toBe(false),
);

test.each([{ preset: "rejection-sampling" }, { advantage: "correct" }])(
  "%j imitates whole episodes, so it goes with no credit",
  (config) => {
    expect(rlConfig.safeParse({ ...config, turnCredit: 0.1 }).error?.issues[0]).toMatchObject({
      path: ["turnCredit"],
      message: expect.stringMatching(/set turnCredit to 0, or choose another advantage/),
    });
    expect(rlConfig.safeParse(config).success).toBe(true);
  },
);

test("`rejection-sampling` with an advantage of its own may credit turns", () => {
  const config = { preset: "rejection-sampling", advantage: "drGrpo", turnCredit: 0.1 };
  expect(rlConfig.safeParse(config).success).toBe(true);
});
