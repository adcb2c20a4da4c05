import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RewardLab } from "./lab.ts";
import type { LabGroup, Lesson, Marks } from "./lab-group.ts";

/** Marks of an episode: its reward, exact match, and whether it answered. */
const marks = (
  reward: number,
  exactMatch = 0,
  more: Partial<Marks> & Record<string, unknown> = {},
): Marks => ({
  reward,
  prediction: "prediction" in more ? (more.prediction as string | undefined) : "x",
  parts: { exactMatch, answerTag: 1, ...(more.parts as object | undefined) },
});

const learned = (...advantages: number[]): Lesson => ({ verdict: "kept", advantages });

function group(
  pairs: readonly (readonly [Marks, Marks])[],
  over: Partial<LabGroup> & { lessons?: LabGroup["lessons"] } = {},
): LabGroup {
  return {
    ...{ step: 1, group: 0, taskId: "q", question: "who?", goldenAnswers: ["g"] },
    members: pairs.map(([before, after], member) => ({ member, before, after })),
    ...over,
  };
}

function lab(...groups: readonly LabGroup[]) {
  const counting = ["exactMatch", "answerTag"];
  const made = new RewardLab({ counting: { before: counting, after: counting }, examples: 2 });
  for (const each of groups) made.add(each);
  return made;
}

const kinds = (made: RewardLab) =>
  made.findings().warnings.map(({ kind, part, of }) => [part ? `${kind} ${part}` : kind, of].join(": "));

describe("what changes", () => {
  // Under the old reward member 0 is best and member 2 worst, under the new one the reverse.
  const flipped = group(
    [
      [marks(1, 1), marks(0, 1)],
      [marks(0.5), marks(0.5)],
      [marks(0), marks(1, 0, { prediction: "y" })],
    ],
    { lessons: { before: learned(0.5, 0, -0.5), after: learned(-0.5, 0, 0.5) } },
  );
  const droppedNow = group(
    [
      [marks(1, 1), marks(1, 1)],
      [marks(0), marks(1)],
    ],
    {
      ...{ step: 2, group: 3 },
      lessons: { before: learned(0.5, -0.5), after: { verdict: "tie" } },
    },
  );
  const { all, steps, largest, flips } = lab(flipped, droppedNow).findings();

  test("means, by part and in all", () => {
    expect(all).toMatchObject({ groups: 2, episodes: 5, otherAnswer: 1 });
    expect(all.reward).toEqual({ before: 0.5, after: 0.7 });
    expect(all.parts.exactMatch).toEqual({ before: 0.4, after: 0.4 });
  });

  test("advantages: correlation, signs, those that fall silent", () => {
    // Pairs: (.5, −.5), (0, 0), (−.5, .5), (.5, 0), (−.5, 0).
    expect(all.advantages).toMatchObject({ episodes: 5, flipped: 2, silenced: 2, woken: 0 });
    expect(all.advantages.correlation).toBeCloseTo(-0.5 / Math.sqrt(1 * 0.5), 12);
    expect(all.advantages.size).toEqual({ before: 0.4, after: 0.2 });
    expect(all.advantages.largest).toEqual({ before: 0.5, after: 0.5 });
  });

  test("groups by what becomes of them", () => {
    expect(all.verdicts).toEqual([
      { before: "kept", after: "kept", groups: 1 },
      { before: "kept", after: "tie", groups: 1 },
    ]);
  });

  test("a group without spread under one of the two has no best member there", () => {
    expect(all.best).toEqual({ groups: 1, flipped: 1 });
    expect(flips).toHaveLength(1);
    expect(flips[0]?.best).toEqual({
      before: { member: 0, prediction: "x", before: 1, after: 0 },
      after: { member: 2, prediction: "y", before: 0, after: 1 },
    });
  });

  test("each step has its own", () => {
    expect(steps.map(({ step, groups, reward }) => [step, groups, reward.after])).toEqual([
      [1, 1, 0.5],
      [2, 1, 1],
    ]);
  });

  test("the examples are the largest moves, with the question", () => {
    expect(largest.map(({ member, advantage }) => [member, advantage.before, advantage.after])).toEqual([
      [0, 0.5, -0.5],
      [2, -0.5, 0.5],
    ]);
    expect(largest[0]).toMatchObject({ question: "who?", goldenAnswers: ["g"], step: 1, group: 0 });
  });

  test("one tied for best that stays best is no flip", () => {
    const stays = group([
      [marks(1), marks(0.2)],
      [marks(1), marks(0.9)],
      [marks(0), marks(0)],
    ]);
    expect(lab(stays).findings().all.best).toEqual({ groups: 1, flipped: 0 });
  });

  test("the same reward changes nothing, whatever the group", () => {
    const reward = fc.double({ min: -2, max: 2, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.array(reward, { minLength: 2, maxLength: 8 }), { minLength: 1 }), (groups) => {
        const made = lab(
          ...groups.map((rewards, at) =>
            group(
              rewards.map((each) => [marks(each), marks(each)]),
              { step: at, lessons: { before: learned(...rewards), after: learned(...rewards) } },
            ),
          ),
        );
        const { all: same, largest: moved, flips: none } = made.findings();
        expect([same.advantages.flipped, same.advantages.silenced, same.best.flipped]).toEqual([0, 0, 0]);
        expect([moved, none]).toEqual([[], []]);
        expect(same.reward.after).toBe(same.reward.before);
        expect(same.advantages.correlation ?? 1).toBeCloseTo(1, 6);
        expect(made.findings().warnings.filter(({ of }) => of !== "both")).toEqual([]);
      }),
    );
  });
});

describe("warnings", () => {
  const both = (...each: readonly Marks[]) => each.map((one) => [one, one] as const);

  test("a part that never varies, and one that never varies within a group", () => {
    const tag = (answerTag: number) => ({ parts: { answerTag } });
    const made = lab(
      group(both(marks(0, 0, tag(1)), marks(0, 0, tag(1)))),
      group(both(marks(0, 0, tag(0)), marks(0, 0, tag(0)))),
    );
    expect(kinds(made)).toEqual(["constantPart exactMatch: both", "constantInGroups answerTag: both"]);
    const varied = group(both(marks(1, 1, tag(1)), marks(0, 0, tag(0))));
    expect(kinds(lab(varied))).toEqual([]);
  });

  /** Eight, one of them apart. */
  const odd = (apart: Marks, others: Marks) => both(apart, ...Array.from({ length: 7 }, () => others));
  const zScores = learned(2.47, ...Array<number>(7).fill(-0.35));
  const tagOnly = odd(marks(0.1), marks(0, 0, { parts: { answerTag: 0 } }));
  const rightWrong = odd(marks(1, 1), marks(0, 0, { parts: { answerTag: 0 } }));

  test("a tag's difference as loud as right against wrong: under std-normalisation, not without", () => {
    const centred = (scale: number) => learned(0.875 * scale, ...Array<number>(7).fill(-0.125 * scale));
    const made = lab(
      group(tagOnly, { lessons: { before: centred(0.1), after: zScores } }),
      group(rightWrong, { lessons: { before: centred(1), after: zScores } }),
    );
    const { warnings } = made.findings();
    expect(warnings.map(({ kind, of }) => [kind, of])).toContainEqual(["amplifiedDifference", "new"]);
    expect(warnings.find(({ kind }) => kind === "amplifiedDifference")?.text).toMatch(
      /^1 group without right against wrong differs by 0\.10 \(`answerTag`\) and has advantages as large as right against wrong \(2\.47, 2\.47\)/,
    );
  });

  test("the same without any right answer to compare with", () => {
    const made = lab(group(tagOnly, { lessons: { before: learned(0.0875), after: zScores } }));
    expect(kinds(made)).toContain("amplifiedDifference: new");
  });

  test("a wrong answer above every right one", () => {
    const above = group(both(marks(0.25, 1), marks(0.4, 0), marks(0, 0, { parts: { answerTag: 0 } })));
    expect(kinds(lab(above))).toEqual(["wrongOverRight: both"]);
    expect(lab(above).findings().warnings[0]?.text).toMatch(/^in 1 of 1 group with right and wrong answers/);
    expect(kinds(lab(group(both(marks(0.5, 1), marks(0.4, 0, { parts: { answerTag: 0 } })))))).toEqual([]);
  });

  test("not answering that earns more than a wrong answer", () => {
    const silent = { prediction: undefined, parts: { answerTag: 0 } };
    const of = (paid: number) => lab(group(both(marks(1, 1), marks(0), marks(paid, 0, silent))));
    expect(kinds(of(0.2))).toEqual(["unansweredEarns: both"]);
    expect(kinds(of(0))).toEqual([]);
  });

  test("length that pays, among the wrong answers of one question", () => {
    const answer = (words: number, reward: number) => marks(reward, 0, { prediction: "w ".repeat(words) });
    const silent = marks(-9, 0, { prediction: undefined, parts: { answerTag: 0 } });
    const groups = (paid: (words: number) => number) =>
      Array.from({ length: 20 }, () =>
        group(both(marks(1, 1), silent, ...[1, 2, 5].map((words) => answer(words, paid(words))))),
      );
    expect(kinds(lab(...groups((words) => words / 10)))).toEqual(["lengthPays: both"]);
    expect(lab(...groups((words) => -words)).findings().warnings[0]?.text).toContain("the shorter earn more");
    expect(kinds(lab(...groups(() => 0.1)))).toEqual([]);
    // Fifty are needed to say so.
    expect(kinds(lab(...groups((words) => words / 10).slice(0, 10)))).toEqual([]);
  });

  test("reward that rises while exact match does not, and answers that are given up", () => {
    const step = (at: number, tagged: number) =>
      Array.from({ length: 10 }, (_, i) =>
        group(
          both(
            marks(1, 1),
            i < tagged ? marks(0.4) : marks(0, 0, { parts: { answerTag: 0 }, prediction: undefined }),
          ),
          { step: at },
        ),
      );
    const run = (tagged: (at: number) => number) =>
      lab(...Array.from({ length: 10 }, (_, at) => step(at + 1, tagged(at))).flat());
    expect(kinds(run((at) => at))).toEqual(["rewardWithoutMatch: both"]);
    expect(run((at) => at).findings().warnings[0]?.text).toBe(
      "over steps 1 to 10 the reward rises (0.50 → 0.68) while exact match does not (0.50 → 0.50); what rises is `answerTag`",
    );
    expect(kinds(run((at) => 9 - at))).toEqual(["answersAvoided: both"]);
    expect(kinds(run((at) => (at % 2) * 3))).toEqual([]);
  });

  test("questions that the normaliser leaves without a gold answer, and episodes left out", () => {
    const made = lab(group(both(marks(1, 1), marks(0, 0, { parts: { answerTag: 0 } }))));
    made.emptyGold("q7", 0);
    made.emptyGold("q7", 0);
    made.emptyGold("q8", 1);
    made.leave("no gold answer is left", 8);
    made.leave("infrastructure failed", 0);
    const { warnings, leftOut } = made.findings();
    expect(warnings.map(({ kind, text }) => [kind, text.includes("1 questions")])).toEqual([
      ["emptyGold", true],
      ["emptyAlias", true],
    ]);
    expect(leftOut).toEqual({ "no gold answer is left": 8 });
  });

  test("what was true of the run's own reward alone is said as such", () => {
    const [right, silent] = [marks(1, 1), marks(0, 0, { prediction: undefined, parts: { answerTag: 0 } })];
    const made = lab(
      group([
        [right, right],
        [marks(0), marks(0.1)],
        [{ ...silent, reward: 0.3 }, silent],
      ]),
    );
    expect(kinds(made)).toEqual(["unansweredEarns: own"]);
  });
});
