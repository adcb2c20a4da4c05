import { describe, expect, it } from "vitest";
import { rng } from "../../core/rng.ts";
import { makeWorld } from "../../datasets/world.ts";
import { expertHabits, expertPresets, type Habits } from "./habits.ts";
import { expertSeat, expertTurns } from "./turns.ts";

const world = makeWorld({ seed: 2, clusters: 20 });
const planned = (hops: number, i = 0) => world.question(rng(1, "test", hops, i), i % 18, hops);
const only = (habit: Partial<Habits>): Habits => ({ ...expertPresets.clean, ...habit });

const searchesOf = (turns: readonly string[]) => turns.filter((turn) => turn.includes("<search>")).length;
const answersOf = (turns: readonly string[]) =>
  Array.from(turns.join(" ").matchAll(/<answer> (.*?) <\/answer>/g), ([, answer]) => answer as string);

/** Share of 1,500 episodes for which something holds. */
function share(
  habits: Habits,
  hops: number,
  holds: (turns: readonly string[], gold: string) => boolean,
): number {
  let count = 0;
  for (let i = 0; i < 1500; i++) {
    const { task, plan } = planned(hops, i);
    const turns = expertTurns(plan, habits, rng(3, "expert", i));
    if (holds(turns, task.goldenAnswers[0] as string)) count++;
  }
  return count / 1500;
}

describe("a clean demonstrator", () => {
  it("searches once a hop, quotes each fact before its next action, and is right", () => {
    expect(expertTurns(planned(3).plan, expertHabits("clean"), rng(1))).toMatchInlineSnapshot(`
      [
        "<search> country tibebo </search>",
        "<think> country deribi </think> <search> president deribi </search>",
        "<think> president dasera </think> <search> employer dasera </search>",
        "<think> employer nafego </think> <answer> nafego </answer>",
      ]
    `);
    for (const hops of [1, 2, 3]) {
      const right = share(expertHabits("clean"), hops, (turns, gold) => {
        const thoughts = turns.join(" ").match(/<think> \S+ \S+ <\/think> <(search|answer)>/g) ?? [];
        return searchesOf(turns) === hops && thoughts.length === hops && answersOf(turns).join() === gold;
      });
      expect(right).toBe(1);
    }
  });

  it("says only what its pages say", () => {
    const text = new Map(world.passages.map((passage) => [passage.id, passage.text]));
    for (let i = 0; i < 100; i++) {
      const { plan } = planned(3, i);
      const turns = expertTurns(plan, expertHabits("clean"), rng(i));
      plan.hops.forEach(({ passageId }, hop) => {
        const thought = /<think> (.*?) <\/think>/.exec(turns[hop + 1] as string)?.[1];
        expect(text.get(passageId)).toContain(` ${thought} .`);
      });
    }
  });
});

describe("mistakes", () => {
  it("guesses without a search", () => {
    const { plan } = planned(2);
    const turns = expertTurns(plan, only({ guess: 1 }), rng(1));
    expect(turns).toEqual([`<answer> ${plan.hops[0]?.subject} </answer>`]);
  });

  it("stops early at an entity found on the way, never before one hop is found", () => {
    const habits = only({ early: { 2: 1, 3: 1 } });
    expect(share(habits, 1, (turns) => searchesOf(turns) === 1)).toBe(1);
    expect(share(habits, 2, (turns) => searchesOf(turns) === 1)).toBe(1);
    expect(share(habits, 3, (turns) => searchesOf(turns) === 1)).toBeCloseTo(0.5, 1);
    const { plan } = planned(2);
    expect(answersOf(expertTurns(plan, habits, rng(1)))).toEqual([plan.hops[0]?.object]);
  });

  it("gives two answers in either order, one of them right", () => {
    const habits = only({ doubleAnswer: 1 });
    expect(
      share(habits, 2, (turns, gold) => answersOf(turns).length === 2 && answersOf(turns).includes(gold)),
    ).toBe(1);
    expect(share(habits, 2, (turns, gold) => answersOf(turns).at(-1) === gold)).toBeCloseTo(0.5, 1);
  });

  it("ends without an answer", () => {
    const turns = expertTurns(planned(1).plan, only({ noAnswer: 1, guess: 0 }), rng(1));
    expect(turns.at(-1)).toMatch(/^<think> \S+ \S+ <\/think>$/);
    expect(expertTurns(planned(1).plan, only({ noAnswer: 1, guess: 1 }), rng(1))).toEqual([""]);
  });

  it("asks a bad query once and does not think after it", () => {
    for (let i = 0; i < 200; i++) {
      const { plan } = planned(3, i);
      const turns = expertTurns(plan, only({ badQuery: 1 }), rng(i));
      const clean = expertTurns(plan, only({}), rng(i));
      const unthought = turns.filter((turn, t) => t > 0 && !turn.startsWith("<think>"));
      expect(unthought).toHaveLength(1);
      const changed = turns.filter((turn, t) => turn.split("<search>")[1] !== clean[t]?.split("<search>")[1]);
      expect(changed.length).toBeLessThanOrEqual(1); // a wrong relation can be the right one by chance
    }
  });

  it("of the random kind stops after one to three searches whatever the question, with true facts all the way", () => {
    for (const hops of [1, 2, 3])
      for (const n of [1, 2, 3])
        expect(share(only({ randomStop: 1 }), hops, (turns) => searchesOf(turns) === n)).toBeCloseTo(
          1 / 3,
          1,
        );
    const { plan } = planned(1);
    const longest = [...Array(20).keys()]
      .map((i) => expertTurns(plan, only({ randomStop: 1 }), rng(i)))
      .find((turns) => searchesOf(turns) === 3);
    expect(answersOf(longest ?? [])).toEqual([plan.beyond[1]?.object]);
  });
});

describe("presets", () => {
  it("hasty: two times in three stops at something found on the way", () => {
    const tooSoon = (hops: number) => share(expertHabits("hasty"), hops, (turns) => searchesOf(turns) < hops);
    expect(tooSoon(1)).toBeCloseTo(0.04, 1);
    expect(tooSoon(2)).toBeCloseTo(0.04 + 0.96 * 0.65, 1);
    expect(tooSoon(3)).toBeCloseTo(0.04 + 0.96 * 0.7, 1);
  });

  it("differ only where they differ: one seed draws the same slips for all", () => {
    for (let i = 0; i < 300; i++) {
      const { plan } = planned(1, i);
      const [hasty, again] = [
        expertTurns(plan, expertHabits("hasty"), rng(i)),
        expertTurns(plan, expertHabits("hasty"), rng(i)),
      ];
      expect(hasty).toEqual(again);
      const random = expertTurns(plan, expertHabits("random"), rng(i));
      expect(answersOf(random).length).toBe(answersOf(hasty).length);
    }
  });

  it("are known by name", () => {
    expect(() => expertHabits("toString")).toThrowErrorMatchingInlineSnapshot(
      `[ConfigError: unknown demonstrators: expected clean, hasty, random, got toString. Name one of these.]`,
    );
  });
});

describe("expertSeat", () => {
  it("says its turns, then has nothing more to say", async () => {
    const { plan } = planned(1);
    const seat = expertSeat(plan, expertHabits("clean"), rng(1));
    const options = { stop: ["</search>"], maxTokens: 50 };
    const first = await seat.act(options);
    expect(first).toMatchObject({ finish: "stop", tokens: 4 });
    expect(
      await seat.observe({ open: "<information>", body: " a b ", close: "</information>", maxTokens: 9 }),
    ).toEqual({
      tokens: 4,
      cut: 0,
    });
    expect(await seat.act(options)).toMatchObject({ finish: "eos", tokens: 8 });
    expect(await seat.act(options)).toEqual({ text: "", finish: "eos", tokens: 1 });
  });
});
