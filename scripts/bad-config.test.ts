import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { complaintOf } from "./testing/complaint.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

let project: Project;
beforeEach(() => {
  project = toyProject();
});
afterEach(() => project.remove());

const complaint = (...overrides: string[]) => complaintOf(project, overrides);

test("the project itself is fine", async () => {
  const { code, stderr, events } = await project.forager(
    "train",
    project.at("train.yaml"),
    "--json",
    "--quiet",
  );
  expect([code, stderr.replaceAll(/^warning.*\n/gm, "")]).toEqual([0, ""]);
  expect(events.at(-1)).toMatchObject({ event: "result", status: "done", steps: 1, folder: "DIR/run" });
});

describe("the config", () => {
  test("no such file", async () => {
    const { code, stderr } = await project.forager("train", project.at("trian.yaml"));
    expect(code).toBe(2);
    expect(stderr).toMatchInlineSnapshot(`
      "error: config not found
        where    DIR/trian.yaml
        next     Did you mean \`train.yaml\`?
      "
    `);
  });
  test("a wrong key", async () => {
    expect(await complaint("rollout.groupSzie=4")).toMatchInlineSnapshot(`
      "error: unknown key \`rollout.groupSzie\`
        where    override \`rollout.groupSzie=4\`
        expected one of tasksPerStep, groupSize, temperature, finalTemperature, topP, topK, maxRows, concurrency, retries, retryDelayMs, episodeTimeoutMs, refillBatches, prompt
        next     Did you mean \`groupSize\`?"
    `);
  });
  test("a wrong key in the file", async () => {
    const text = readFileSync(project.at("train.yaml"), "utf8");
    project.write("train.yaml", `${text}rewards: { preset: dmi }\n`);
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: unknown key \`rewards\`
        where    DIR/train.yaml:9
        expected one of run, engine, model, data, search, env, rollout, endpoint, reward, sft, rl, eval, track
        next     Did you mean \`reward\`?"
    `);
  });
  test("a wrong type", async () => {
    expect(await complaint("rl.steps=many")).toMatchInlineSnapshot(`
      "error: \`rl.steps\` is wrong
        where    override \`rl.steps=many\`
        got      "many"
        expected a number
        next     Set \`rl.steps\` to a number."
    `);
  });
  test("out of range", async () => {
    expect(await complaint("rollout.groupSize=1")).toMatchInlineSnapshot(`
      "error: \`rollout.groupSize\` is wrong
        where    override \`rollout.groupSize=1\`
        got      1
        expected at least 2: an episode is compared with others of its question; take 8, or 4 if memory is short
        next     Correct \`rollout.groupSize\`."
    `);
  });
  test("malformed YAML", async () => {
    project.write("train.yaml", "rl: { steps: 4\nrun: [\n");
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: not valid YAML
        where    DIR/train.yaml:2
        got      Flow map in block collection must be sufficiently indented and end with a }
        next     Mend the YAML at this line."
    `);
  });
  test("an unknown reward part", async () => {
    expect(await complaint("reward.weights={exactMtach: 1}")).toMatchInlineSnapshot(`
      "error: unknown reward part \`exactMtach\`
        where    reward.weights.exactMtach
        expected one of exactMatch, f1, coverMatch, answerTag, answers, evidence, novelSearch, freshQuery, supported, turnCredit, repeatedTags, repeatedNgrams, repeatedQueries, format, formatPenalty, retrieval, searchCost, length, converged, teamFormat, constraintsKept, backSubstitution, errorLocated, fewRevisions, freshPlan, teamProcess, process, repetition, judge
        next     Did you mean \`exactMatch\`?"
    `);
  });
  test("a filter on what is no part", async () => {
    expect(await complaint("rl.filterMetric=exact_match")).toMatchInlineSnapshot(`
      "error: there is no reward part \`exact_match\` to filter on
        where    rl.filterMetric
        expected one of reward, exactMatch, f1, coverMatch, answerTag, answers, evidence, novelSearch, freshQuery, supported, turnCredit, repeatedTags, repeatedNgrams, repeatedQueries, format, formatPenalty, retrieval, searchCost, length, converged, teamFormat, constraintsKept, backSubstitution, errorLocated, fewRevisions, freshPlan, teamProcess, process, repetition, judge
        next     Did you mean \`exactMatch\`?"
    `);
  });
  test("unknown demonstrators", async () => {
    expect(
      await complaint("sft.steps=1", "sft.source={kind: experts, habits: hastey}"),
    ).toMatchInlineSnapshot(`
      "error: \`sft.source.habits\` is wrong
        where    override \`sft.source={kind: experts, habits: hastey}\`
        got      "hastey"
        expected one of "clean", "hasty", "random", "careful"
        next     Did you mean "hasty"?"
    `);
  });
  test("an unknown environment", async () => {
    expect(await complaint("env.name=reseacher")).toMatchInlineSnapshot(`
      "error: there is no environment \`reseacher\`
        where    env.name
        expected researcher, team
        next     Name one of these, or add yours with defineForager({ environments })."
    `);
  });
  test("an unknown preset", async () => {
    expect(await complaint("rl.preset=gpro")).toMatchInlineSnapshot(`
      "error: \`rl.preset\` is wrong
        where    override \`rl.preset=gpro\`
        got      "gpro"
        expected one of "dmi", "o-researcher", "dapo", "grpo", "dr-grpo", "search-r1", "rejection-sampling"
        next     Did you mean "grpo"?"
    `);
  });
  test("two models", async () => {
    expect(await complaint("model.path=somewhere")).toMatchInlineSnapshot(`
      "error: expected exactly one of \`path\` and \`tiny\`
        where    override \`model.path=somewhere\`
        got      "somewhere""
    `);
  });
  test("a benchmark larger than the world", async () => {
    const world = "{kind: world, clusters: 3, n: 100000}";
    const benchmarks = `eval.benchmarks=[{name: b, source: ${world}}]`;
    expect(
      await complaint("data.train={kind: world, clusters: 3}", "search={}", benchmarks),
    ).toMatchInlineSnapshot(`
      "error: too few different questions of 1 hop
        where    world-1, test
        got      100000 questions asked of 1 clusters
        expected about 200 one-hop questions a cluster at most
        next     Ask for fewer questions or more clusters."
    `);
  });
  test("a world larger than its names", async () => {
    expect(await complaint("data.train={kind: world, clusters: 100000}", "search={}")).toMatchInlineSnapshot(`
      "error: the world has too few names
        where    clusters
        got      100000 clusters of 82 entities = 8200000 names
        expected at most 112895 names
        next     Ask for at most 1376 clusters."
    `);
  });
});
