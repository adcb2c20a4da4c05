import { afterAll, beforeAll, expect, test } from "vitest";
import type { Task } from "../datasets/task.ts";
import type { Environment } from "../env/environment.ts";
import { scriptedSampler, unbatched } from "../rollout/testing.ts";
import type { Extensions } from "./extensions.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

/** One turn, no search: answers are all there is. */
const quiz: Environment = {
  name: "quiz",
  seats: ["researcher"],
  async play(_question, seats) {
    await seats.researcher!.act({ stop: [], maxTokens: 8 });
    return { outcome: "answered", turns: 1, searches: [], invalidActions: 0, observationTokensCut: 0 };
  },
};
const own: Task = {
  id: "own1",
  question: "who wrote Dune",
  goldenAnswers: ["Frank Herbert"],
  dataset: "own",
  hops: 1,
};

/** One of each kind that defineForager takes. */
const extensions: Extensions = {
  environments: { quiz: () => quiz },
  rewards: {
    brief: (_trajectory, { prediction }) => (prediction === undefined ? 0 : 1 / prediction.split(" ").length),
  },
  datasets: { mine: async () => [own] },
  samplers: {
    fixed: async ({ tokenizer }) =>
      unbatched(scriptedSampler(tokenizer, () => "<answer> Frank Herbert </answer>")),
  },
};

let project: Project;
beforeAll(() => {
  project = toyProject(extensions);
});
afterAll(() => project.remove());

test("YAML names an environment, a reward part, a data set and a policy of the user's own", async () => {
  const { code, stderr, events } = await project.forager(
    ...["rollout", project.at("train.yaml"), "env.name=quiz", "reward.weights={ exactMatch: 1, brief: 0.5 }"],
    ...["reward.combination=sum", "eval.benchmarks=[{ name: mine, source: { kind: own, name: mine } }]"],
    ...["--policy", "fixed", "--json", "--quiet"],
  );
  expect(code, stderr).toBe(0);
  expect(events.at(-2)).toMatchObject({ event: "episode", id: "own1", turns: 1, reward: 1.25 });
});

test.each([
  ["env.name=quizz", /no environment `quizz`[\s\S]*researcher, team, quiz/],
  ["reward.weights={ breif: 1 }", /unknown reward part `breif`[\s\S]*Did you mean `brief`/],
  ["data.train={ kind: own, name: mien }", /no data set `mien`[\s\S]*Did you mean `mine`/],
])("%s is an error that lists the names", async (override, message) => {
  const { code, stderr } = await project.forager("train", project.at("train.yaml"), override, "--dry-run");
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
});
