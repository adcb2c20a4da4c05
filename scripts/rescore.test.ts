import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rewardConfig } from "../reward/config.ts";
import { makeScorer } from "../reward/scorer.ts";
import { toyTask, toyTrajectory } from "../reward/testing.ts";
import { advantagesOf } from "../rl/advantage.ts";
import { judge } from "../rl/filter.ts";
import { openRunDb, type TrajectoryRecord } from "../track/run-db.ts";
import { toyProject } from "./testing/toy-project.ts";

const project = toyProject({ rewards: { brief: (_, { prediction = "" }) => -prediction.length } });
afterAll(() => project.remove());

interface Result {
  readonly [key: string]: unknown;
  readonly all: {
    readonly groups: number;
    readonly episodes: number;
    readonly reward: { readonly before: number; readonly after: number };
    readonly parts: Readonly<
      Record<string, { readonly before: number | null; readonly after: number | null }>
    >;
    readonly verdicts: readonly unknown[];
    readonly advantages: Readonly<Record<string, unknown>>;
    readonly best: { readonly groups: number; readonly flipped: number };
  };
  readonly leftOut: Readonly<Record<string, number>>;
  readonly warnings: readonly { readonly kind: string; readonly of: string; readonly text: string }[];
  readonly evaluations: readonly {
    readonly reward: unknown;
    readonly episodes: number;
    readonly step: number;
  }[];
}

async function rescore(...words: string[]) {
  const { code, events, stderr, stdout } = await project.forager("rescore", ...words, "--json");
  const steps = events.filter(({ event }) => event === "step");
  return { code, stderr, stdout, steps, result: events.at(-1) as unknown as Result };
}

/** Commits groups of policy turns as a run with the preset dmi would have; an empty turn answers nothing. */
function commit(
  folder: string,
  step: number,
  groups: readonly (readonly string[])[],
  gold = ["Ada Lovelace"],
) {
  const score = makeScorer(rewardConfig.parse({}));
  const algorithm = { filter: "spread", filterMetric: "reward" } as const;
  const trajectories = groups.flatMap((turns, group): TrajectoryRecord[] => {
    const task = { ...toyTask, id: `q${step}.${group}`, goldenAnswers: gold };
    const members = turns.map((turn, member) => score(toyTrajectory([turn], { task, member })));
    const verdict = judge(members, algorithm);
    const advantages = verdict === "kept" ? advantagesOf("drGrpo", members) : undefined;
    return members.map((trajectory, i) => ({
      ...{ trajectory, group, verdict },
      ...(advantages ? { advantage: advantages[i]! } : {}),
    }));
  });
  const failed = { ...toyTrajectory([], { outcome: "infra(retriever)" }), member: 9 };
  const db = openRunDb(folder);
  db.commit({
    ...{ phase: "rl", step, metrics: {} },
    trajectories: [...trajectories, { trajectory: failed, group: -1, verdict: "failed" }],
  });
  db.close();
}

const answer = (text: string) => `<answer>${text}</answer>`;

/** A run of one step in which what another reward changes can be told by hand. */
const groups = [
  [answer("Ada Lovelace"), answer("Ada"), "no"], //          dmi 1, 0.1, 0     F1 1, 2/3, 0: "Ada" changes sign
  [`${answer("x")}${answer("Ada")}`, answer("Ada Byron King")], // 0.05, 0.1   2/3, 2/5: the other is best
  [answer("Bob"), answer("Ada")], //                             0.1, 0.1      0, 2/3: dropped → kept
  [answer("Ada Lovelace"), answer("the Ada Lovelace!")], //      1, 1          1, 1: dropped by both
  [answer("Bob"), "no"], //                                      0.1, 0        0, 0: kept → dropped
];

describe("a run made by hand", () => {
  const made = project.at("made");
  const f1 = project.write("f1.yaml", "reward: { weights: { f1: 1 }, combination: sum, maxDivisor: 1 }\n");
  beforeAll(() => {
    mkdirSync(made);
    const config = readFileSync(project.at("train.yaml"), "utf8");
    writeFileSync(
      join(made, "config.yaml"),
      config.replace("filter: none", "filter: spread").replace("tasksPerStep: 2", "tasksPerStep: 5"),
    );
    commit(made, 1, groups);
  });

  test("under F1: means, signs, flips, groups dropped and kept, by cause", async () => {
    const { code, result, steps } = await rescore(made, "--reward", f1);
    expect(code).toBe(0);
    const { all } = result;
    expect(all).toMatchObject({ groups: 5, episodes: 11 });
    const dmi = (1 + 0.1 + 0.05 + 0.1 + 0.2 + 2 + 0.1) / 11;
    const words = (1 + 2 / 3 + 2 / 3 + 2 / 5 + 2 / 3 + 2) / 11;
    expect(all.reward.before).toBeCloseTo(dmi, 12);
    expect(all.reward.after).toBeCloseTo(words, 12);
    expect(all.parts.f1).toEqual({ before: all.reward.after, after: all.reward.after });
    expect(all.verdicts).toEqual([
      { before: "kept", after: "kept", groups: 2 },
      { before: "allWrong", after: "kept", groups: 1 },
      { before: "allRight", after: "allRight", groups: 1 },
      { before: "kept", after: "allWrong", groups: 1 },
    ]);
    // "Ada" rises above its group's mean; in the second group both members change sides.
    expect(all.advantages).toMatchObject({ episodes: 9, flipped: 3, silenced: 2, woken: 2 });
    expect(all.best).toEqual({ groups: 2, flipped: 1 });
    expect(result.flips).toMatchObject([
      { group: 1, best: { before: { prediction: "Ada Byron King" }, after: { prediction: "Ada" } } },
    ]);
    const [largest] = result.largest as { group: number; advantage: { before: number; after: number } }[];
    expect(largest!.advantage.after - largest!.advantage.before).toBeCloseTo(0.1111 + 0.2667, 3);
    expect(steps).toMatchObject([{ step: 1, groups: 5 }]);
    expect(result.leftOut).toEqual({ "infrastructure failed": 1 });
  });

  test("without a file it is the run's own reward, and nothing changes; overrides change it", async () => {
    const same = await rescore(made);
    expect(same.result.all.reward.after).toBe(same.result.all.reward.before);
    expect(same.result.all.advantages).toMatchObject({ flipped: 0, silenced: 0, woken: 0 });
    expect(same.result.largest).toEqual([]);
    const other = await rescore(made, "reward.preset=search-r1", "rl.filter=none");
    expect(other.result.all.reward.after).toBeCloseTo(3 / 11, 12);
    expect(other.result.rewards).toMatchObject({
      own: { reward: "dmi squad@1 last", algorithm: "advantage drGrpo, filter spread on reward" },
      new: { reward: "search-r1 squad@1 last", algorithm: "advantage drGrpo, filter none" },
    });
    expect(other.result.all.verdicts).toContainEqual({ before: "allRight", after: "kept", groups: 1 });
  });

  test("the 0.1 of a tag under std-normalisation is warned of, the run's own advantages are not", async () => {
    const warned = await rescore(made, "rl.advantage=grpo");
    const found = warned.result.warnings.find(({ kind }) => kind === "amplifiedDifference");
    expect(found).toMatchObject({ of: "new", text: expect.stringContaining("`answerTag`") });
    expect(warned.stderr).toContain("warning: under the new reward: 2 groups without right against wrong");
    const { result } = await rescore(made);
    expect(result.warnings.map(({ kind }) => kind)).not.toContain("amplifiedDifference");
  });

  test("no more groups are learned from than a step has places for", async () => {
    copyFileSync(join(made, "config.yaml"), project.at("places.yaml"));
    const few = project.at("few");
    mkdirSync(few);
    const config = readFileSync(join(made, "config.yaml"), "utf8");
    writeFileSync(join(few, "config.yaml"), config.replace("tasksPerStep: 5", "tasksPerStep: 2"));
    commit(few, 1, groups);
    const { result } = await rescore(few, "--reward", f1);
    expect(result.all.verdicts).toContainEqual({ before: "allWrong", after: "surplus", groups: 1 });
  });

  test("a question that the normaliser leaves no gold answer is left out and named", async () => {
    const bare = project.at("bare");
    mkdirSync(bare);
    copyFileSync(join(made, "config.yaml"), join(bare, "config.yaml"));
    commit(bare, 1, groups.slice(0, 2));
    const config = rewardConfig.parse({ normalizer: "strict" });
    const task = { ...toyTask, id: "the", goldenAnswers: ["The"] };
    const members = ["The", "x"].map((text, member) =>
      makeScorer(config)(toyTrajectory([answer(text)], { task, member })),
    );
    const db = openRunDb(bare);
    const trajectories = members.map((trajectory) => ({
      trajectory,
      group: 0,
      verdict: "kept",
      advantage: 0,
    }));
    db.commit({ phase: "rl", step: 2, metrics: {}, trajectories });
    db.close();
    const { result } = await rescore(bare);
    expect(result.leftOut).toMatchObject({ "no gold answer is left": 2 });
    expect(result.warnings[0]).toMatchObject({ kind: "emptyGold", text: expect.stringContaining("(the)") });
    expect((await rescore(bare, "reward.normalizer=strict")).result.leftOut).not.toHaveProperty(
      "no gold answer is left",
    );
  });

  test("weights that move are those of the step that sampled", async () => {
    const weights = "reward.weights={ exactMatch: { from: 0, to: 1, steps: 1 } }";
    const { result } = await rescore(made, weights, "reward.combination=sum", "reward.maxDivisor=1");
    expect(result.all.reward.after).toBe(0); // step 1 was sampled before any update
  });

  test("CSV: a row an episode, both sides of everything, and nothing is overwritten", async () => {
    const out = project.at("rows.csv");
    const { result } = await rescore(made, "--reward", f1, "--out", out);
    expect(result.out).toBe("DIR/rows.csv");
    const lines = readFileSync(out, "utf8").trimEnd().split("\r\n");
    expect(lines).toHaveLength(1 + 11);
    const head = lines[0]!.split(",");
    const row = Object.fromEntries(lines[2]!.split(",").map((cell, i) => [head[i], cell]));
    expect(row).toMatchObject({
      ...{ step: "1", group: "0", member: "1", task_id: "q1.0", prediction_after: "Ada" },
      ...{ verdict_before: "kept", verdict_after: "kept", reward_before: "0.1", f1_after: `${2 / 3}` },
    });
    expect((await project.forager("rescore", made, "--out", out)).code).toBe(2);
  });

  test("for people: the table, the changes with their questions, partial since the run is not done", async () => {
    const { stdout, stderr } = await project.forager("rescore", made, "--reward", f1);
    expect(stdout).toMatch(/^run \(partial\): 11 episodes in 5 groups of 1 step\n/);
    expect(stdout).toMatch(/reward +0\.323 +0\.491 +\+0\.168/);
    expect(stdout).toContain("groups learned from: 3 of 5");
    expect(stdout).toContain("  kept → dropped 1 (allWrong 1)\n  dropped → kept 1 (allWrong 1)");
    expect(stdout).toContain("another member is best: 1 of 2 groups");
    expect(stdout).toContain("Who wrote the book?");
    expect(stderr).toContain("the run is not done");
    expect(existsSync(join(made, "run.db-wal"))).toBe(false);
  });

  test("what cannot be is said before anything is scored", async () => {
    const said = async (...words: string[]) => {
      const { code, stderr } = await project.forager("rescore", ...words, "--quiet");
      return [code, stderr] as const;
    };
    const typo = await said(made, "reward.weights={ exactMach: 1 }");
    expect(typo).toEqual([2, expect.stringContaining("Did you mean `exactMatch`?")]);
    const evidence = await said(made, "reward.preset=o-researcher");
    expect(evidence).toEqual([2, expect.stringMatching(/`evidence` needs the ids[\s\S]*q1\.0/)]);
    const file = project.write("wrong.yaml", "rewards: { preset: dmi }\n");
    expect(await said(made, "--reward", file)).toEqual([2, expect.stringContaining("unknown key `rewards`")]);
    expect((await said(project.at("nowhere")))[0]).toBe(2);
    const metric = await said(made, "rl.filterMetric=rewrad");
    expect(metric).toEqual([2, expect.stringContaining("Did you mean `reward`?")]);
  });
});

describe("a run that was trained", () => {
  const run = project.at("run");
  beforeAll(async () => {
    const benchmark = `{ name: dev, source: { kind: jsonl, path: ${JSON.stringify(project.at("questions.jsonl"))} } }`;
    const { code, stderr } = await project.forager(
      ...["train", project.at("train.yaml"), "rl.steps=2", "--quiet"],
      ...[`eval.benchmarks=[${benchmark}]`, "reward.keep=[process, format, length]"],
    );
    if (code !== 0) throw new Error(stderr);
  }, 60_000);

  test("under its own reward every number is what it was, in its evaluations too", async () => {
    const { code, result, stderr } = await rescore(run);
    expect([code, stderr.match(/not done/)]).toEqual([0, null]);
    const { all, evaluations } = result;
    expect(result).toMatchObject({ partial: false, steps: 2 });
    expect(all).toMatchObject({ episodes: 8, groups: 4 });
    expect(all.reward.after).toBe(all.reward.before);
    for (const { before, after } of Object.values(all.parts)) expect(after).toBe(before);
    expect(all.advantages).toMatchObject({ flipped: 0, silenced: 0, woken: 0 });
    // `process` is made of searches, which the records of an evaluation do not hold.
    expect([evaluations, result.withoutEvaluations]).toEqual([[], expect.stringContaining("searches")]);
  });

  test("gold passages are known, so the process can be paid for", async () => {
    const { code, result } = await rescore(run, "reward.preset=o-researcher", "reward.keep=[]");
    expect(code).toBe(0);
    expect(result.all.parts.evidence?.after).not.toBeNull();
  });

  test("its evaluations, where their records suffice", async () => {
    const { result } = await rescore(run, "reward.keep=[length]", "reward.preset=search-r1-format");
    expect(result.evaluations.length).toBeGreaterThan(0);
    expect(result.evaluations[0]).toMatchObject({ benchmark: "dev", step: 0 });
    const left = await rescore(run, "reward.weights={ brief: 1 }", "reward.keep=[]");
    expect(left.result.all.parts.brief?.after).toBeLessThanOrEqual(0);
    expect(left.result.withoutEvaluations).toContain("`brief`");
    expect((await rescore(run, "--no-evals", "reward.keep=[]")).result.evaluations).toEqual([]);
  });
});
