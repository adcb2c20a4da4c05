import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Trajectory } from "../rollout/trajectory.ts";
import { openRunDb } from "../track/run-db.ts";
import { runDifference, runFingerprint } from "./testing/run-fingerprint.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

const unlike = ({ sequences }: Trajectory) => (JSON.stringify(sequences).length % 7) / 7;
const warm = ({ temperature }: Trajectory) => temperature;

let project: Project;
const train = (dir: string, ...words: string[]) =>
  project.forager(
    ...["train", project.at("train.yaml"), `run.dir=${project.at(dir)}`, "--json", "--quiet"],
    ...["rl={steps: 6, slots: 256, filter: none}", "track={saveEvery: 1, keepCheckpoints: 99}"],
    ...["reward.weights={unlike: 1}", "reward.keep=[warm]"],
    ...words,
  );
/** Ids of each step's questions, and its metrics. */
const stepsOf = (dir: string) => {
  const db = openRunDb(project.at(dir));
  try {
    return db.metrics().map(({ step, metrics }) => ({
      metrics,
      ids: [...new Set(db.trajectories(step).map(({ taskId }) => taskId))],
    }));
  } finally {
    db.close();
  }
};

beforeAll(() => {
  project = toyProject({ rewards: { unlike, warm } });
  project.write(
    "questions.jsonl",
    Array.from({ length: 12 }, (_, i) => ({
      id: `q${i}`,
      question: i % 2 ? "who wrote Dune" : "who wrote Emma",
      golden_answers: ["Frank Herbert"],
      hops: 1 + (i % 3),
    })),
  );
});
afterAll(() => project.remove());

test("the temperature moves over the steps, and the trainer's is the sampler's", async () => {
  const words = ["rollout.temperature=0.9", "rollout.finalTemperature=0.7", "rl.schedule.learningRate=0.01"];
  expect((await train("warm", ...words)).code).toBe(0);
  const steps = stepsOf("warm");
  steps.forEach(({ metrics }, i) => {
    expect(metrics["reward/warm"]).toBeCloseTo(0.9 - 0.04 * i, 9);
    // What was sampled at one temperature and scored at another would be nats apart.
    expect(metrics["mismatch/p99_abs"]).toBeLessThan(1e-4);
  });
}, 60_000);

test("measured solve rates choose the questions, and a resumed run knows them", async () => {
  const data = "data.train.solveRate={outside: 0}";
  expect((await train("rates", data)).code).toBe(0);
  // Nothing is ever solved, so every question leaves the band once it has been played: six steps of two are all twelve.
  const ids = stepsOf("rates").map((each) => each.ids);
  expect(new Set(ids.flat()).size).toBe(12);
  const whole = runFingerprint(project.at("rates"));
  rmSync(project.at("rates/summary.json"));
  for (const step of [4, 5, 6]) rmSync(project.at(`rates/checkpoints/rl-00000${step}`), { recursive: true });
  expect((await project.forager("train", "--resume", project.at("rates"), "--quiet")).code).toBe(0);
  expect(runDifference(whole, runFingerprint(project.at("rates")))).toEqual([]);
}, 60_000);

test("the first steps of a run have easy questions alone", async () => {
  const data = "data.train.easyFirst={share: 0.5, hops: [2], mixIn: 0}";
  expect((await train("easy", data)).code).toBe(0);
  const easy = stepsOf("easy").map(({ ids }) => ids.every((id) => Number(id.slice(1)) % 3 === 1));
  expect(easy.slice(0, 3)).toEqual([true, true, true]);
  expect(easy.slice(3)).toContain(false);
}, 60_000);

test("easy questions that the file has not are an error before the first step", async () => {
  const data = "data.train.easyFirst={hops: [7]}";
  const { code, events } = await train("none", data);
  expect(code).toBe(2);
  expect(events.at(-1)).toMatchObject({ where: "data.train.easyFirst.hops", got: "7" });
});
