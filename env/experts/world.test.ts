import { beforeAll, describe, expect, it } from "vitest";
import { rng } from "../../core/rng.ts";
import { questionOf, type Task } from "../../datasets/task.ts";
import { worldTasks } from "../../datasets/world/tasks.ts";
import { makeWorld } from "../../datasets/world.ts";
import { envConfig } from "../config.ts";
import type { Ending, Environment } from "../environment.ts";
import { researcher } from "../researcher.ts";
import { memoryRetriever } from "../search/memory.ts";
import { expertHabits } from "./habits.ts";
import { expertSeat } from "./turns.ts";

const world = makeWorld({ seed: 4, clusters: 40 });
const tasks = worldTasks({ world, split: "test", n: 240, seed: 1 });
let environment: Environment;

beforeAll(() => {
  const config = envConfig.parse({ topK: 2, shuffle: true, maxTurns: 4, passageFormat: "plain" });
  environment = researcher({ retriever: memoryRetriever(world.passages), config, seed: 1 });
});

async function play(task: Task, habits: string): Promise<{ ending: Ending; last: string }> {
  const expert = expertSeat(world.planned(task.id).plan, expertHabits(habits), rng(1, "expert", task.id));
  let last = "";
  const seat = {
    observe: expert.observe,
    act: async (options: Parameters<typeof expert.act>[0]) => {
      const act = await expert.act(options);
      last = act.text;
      return act;
    },
  };
  const ending = await environment.play(questionOf(task), { researcher: seat }, new AbortController().signal);
  return { ending, last };
}

describe("the world, its search and its demonstrators together", () => {
  it("shows a clean demonstrator each page it needs, first or second by chance, and the answer is right", async () => {
    let first = 0;
    let searches = 0;
    for (const task of tasks) {
      const { ending, last } = await play(task, "clean");
      expect(ending).toMatchObject({ outcome: "answered", turns: task.hops + 1, invalidActions: 0 });
      expect(last).toContain(`<answer> ${task.goldenAnswers[0]} </answer>`);
      ending.searches.forEach(({ passageIds }, i) => {
        const place = passageIds.indexOf(task.supportingIds?.[i] as string);
        expect(place).toBeGreaterThanOrEqual(0);
        if (place === 0) first++;
        searches++;
      });
    }
    // Rank gives nothing away: half of 480, give or take four standard deviations.
    expect(searches).toBe(480);
    expect(Math.abs(first / searches - 0.5)).toBeLessThan(4 * Math.sqrt(0.25 / searches));
  });

  it("lets hasty and random demonstrators end by the rules too", async () => {
    for (const habits of ["hasty", "random"]) {
      const endings = await Promise.all(tasks.map(async (task) => (await play(task, habits)).ending));
      expect(new Set(endings.map(({ outcome }) => outcome))).toEqual(new Set(["answered", "no_answer"]));
      expect(Math.max(...endings.map(({ turns }) => turns))).toBe(4);
      expect(Math.min(...endings.map(({ turns }) => turns))).toBe(1);
    }
  });
});
