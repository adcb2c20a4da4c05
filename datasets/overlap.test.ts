import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OverlapSet, questionWords } from "./overlap.ts";
import type { Task } from "./task.ts";

const task = (id: string, question: string, answer = "x"): Task => ({
  id,
  question,
  goldenAnswers: [answer],
  dataset: "toy",
  hops: 1,
});
const normalize = (text: string) => text.toLowerCase().trim();
const set = (tasks: readonly Task[], near = 0.8) => new OverlapSet(tasks, { near, normalize });

describe("questionWords", () => {
  it("folds case and forms, drops punctuation, keeps accents, and counts unspaced scripts by characters", () => {
    expect(questionWords("  Who’s the ﬁrst U.S. President?")).toEqual([
      "who",
      "s",
      "the",
      "first",
      "u",
      "s",
      "president",
    ]);
    expect(questionWords("Röntgen né 1845")).toEqual(["röntgen", "né", "1845"]);
    expect(questionWords("東京はどこ? Tokyo")).toEqual(["東", "京", "は", "ど", "こ", "tokyo"]);
    expect(questionWords(" ?! ")).toEqual(["?!"]);
  });
});

describe("OverlapSet", () => {
  it("tells exact from normalised from near twins, the likest first, and whether the answers agree", () => {
    const benchmark = set([
      task("near", "who got the very first nobel prize in physics", "Röntgen"),
      task("exact", "Who got the first Nobel prize in physics?", "RÖNTGEN "),
      task("normalised", "who got the first  nobel prize, in physics", "Curie"),
      task("other", "who got the first nobel prize in chemistry ever awarded there", "Hoff"),
    ]);
    const found = benchmark.twins(task("t", "Who got the first Nobel prize in physics? ", "röntgen"));
    expect(found.map(({ other, kind, sameAnswer }) => [other.id, kind, sameAnswer])).toEqual([
      ["exact", "exact", true],
      ["normalised", "normalised", false],
      ["near", "near", true],
    ]);
    expect(found.map(({ similarity }) => similarity)).toEqual([1, 1, 8 / 9]);
  });

  it("does not call a question its own twin, and finds a second one of the same words", () => {
    const tasks = [task("a", "Where is Ashel?"), task("b", "Where is Ashel?"), task("c", "Who is Renn?")];
    const found = tasks.map((each) =>
      set(tasks)
        .twins(each)
        .map(({ other }) => other.id),
    );
    expect(found).toEqual([["b"], ["a"], []]);
  });

  it("keeps templates filled in anew apart from leaks", () => {
    const benchmark = set(
      [task("b", "Who is the father of the director of the film Modern Husbands?", "Ann")],
      0.7,
    );
    const [twin] = benchmark.twins(
      task("t", "Who is the father of the director of the film Young Husbands?", "Bob"),
    );
    expect(twin).toMatchObject({ kind: "near", similarity: 8 / 10, sameAnswer: false });
  });

  it("finds what comparing every pair finds, whatever the threshold", () => {
    const words = fc.array(fc.constantFrom(..."abcdefghij"), { minLength: 1, maxLength: 8 });
    const questions = fc.array(words, { minLength: 1, maxLength: 25 });
    fc.assert(
      fc.property(
        questions,
        questions,
        fc.constantFrom(0.3, 0.5, 0.6, 2 / 3, 0.75, 0.8, 1),
        (left, right, near) => {
          const make = (prefix: string, lists: string[][]) =>
            lists.map((list, i) => task(`${prefix}${i}`, list.join(" ")));
          const tasks = make("l", left);
          const index = set(tasks, near);
          for (const other of make("r", right)) {
            const mine = new Set(questionWords(other.question));
            const like = tasks.filter(({ question }) => {
              const theirs = new Set(questionWords(question));
              const shared = [...mine].filter((word) => theirs.has(word)).length;
              return shared / (mine.size + theirs.size - shared) >= near;
            });
            expect(
              index
                .twins(other)
                .map((twin) => twin.other.id)
                .sort(),
            ).toEqual(like.map(({ id }) => id).sort());
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
