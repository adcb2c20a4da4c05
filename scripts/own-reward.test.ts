import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { toyTask, toyTrajectory } from "../reward/testing.ts";
import { scriptedSampler, unbatched } from "../rollout/testing.ts";
import type { Extensions } from "./extensions.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

/** The parts of docs/own-reward/train.mjs, as docs/rewards.md shows them. */
let rewards: NonNullable<Extensions["rewards"]>;
let project: Project;
beforeAll(async () => {
  const path = pathToFileURL(`${packageRoot()}/docs/own-reward/train.mjs`).href;
  ({ rewards } = (await import(path)) as { rewards: NonNullable<Extensions["rewards"]> });
  project = toyProject({
    rewards,
    samplers: {
      fixed: async ({ tokenizer }) =>
        unbatched(
          scriptedSampler(tokenizer, (_request, turn) =>
            turn === 0 ? "<search> Dune </search>" : "<answer> Frank Herbert </answer>",
          ),
        ),
    },
  });
});
afterAll(() => project.remove());

test("the documented parts are worth what the page says", () => {
  const search = { query: "q", repeated: false, milliseconds: 0 };
  const searched = toyTrajectory(["x"], {
    task: { ...toyTask, supportingIds: ["p1"] },
    ending: {
      ...toyTrajectory([]).ending!,
      searches: [{ ...search, passageIds: ["p0", "p1"] }],
    },
  });
  const { brief, firstTry, guessed } = rewards as Required<typeof rewards>;
  expect(brief!(searched, { prediction: " Ada Lovelace ", exactMatch: 1 })).toBe(0.5);
  expect(brief!(searched, { exactMatch: 0 })).toBe(0);
  expect([searched, toyTrajectory(["x"])].map((t) => firstTry!(t, { exactMatch: 1 }))).toEqual([1, 0]);
  expect([searched, toyTrajectory(["x"])].map((t) => guessed!(t, { exactMatch: 1 }))).toEqual([0, -1]);
});

test("they count by their names in YAML, with a weight that moves and a gate", async () => {
  const { code, stderr, events } = await project.forager(
    ...["rollout", project.at("train.yaml"), "--policy", "fixed", "--json", "--quiet", "--question", "q1"],
    "reward.weights={ exactMatch: 1, brief: { from: 0.5, to: 0, steps: 10 }, firstTry: 0.25, guessed: 0.5 }",
    ...["reward.combination=sum", "reward.maxDivisor=1", "reward.gates={ brief: { only: [exactMatch] } }"],
  );
  expect(code, stderr).toBe(0);
  expect(events.find(({ event }) => event === "episode")).toMatchObject({
    parts: { exactMatch: 1, brief: 0.5, firstTry: 1, guessed: 0 },
    reward: 1 + 0.5 * 0.5 + 0.25,
  });
});

test.each([
  [
    "reward.preset=o-researcher",
    /`evidence`[\s\S]*data.train[\s\S]*2 of 2 questions without `supporting_ids`: q1, q2/,
  ],
  ["reward.weights={ judge: 1 }", /the part `judge` needs a model that judges/],
  ["rl.filterMetric=judge", /the part `judge` needs a model that judges/],
])("%s that nobody can give is refused at the start", async (override, message) => {
  project.write("bare.jsonl", [
    { id: "q1", question: "who wrote Dune", golden_answers: ["Frank Herbert"] },
    { id: "q2", question: "who wrote Emma", golden_answers: ["Jane Austen"] },
  ]);
  const data = `data.train={ kind: jsonl, path: ${project.at("bare.jsonl")} }`;
  const { code, stderr } = await project.forager(
    ...["train", project.at("train.yaml"), override, data, "--dry-run"],
  );
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
});
