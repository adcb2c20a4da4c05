import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Project, toyProject } from "./testing/toy-project.ts";

let project: Project;
beforeEach(() => {
  project = toyProject();
});
afterEach(() => project.remove());

/** What `forager train` says to a mistake: exit code 2, one error, no stack, and no run folder. */
async function complaint(...overrides: string[]): Promise<string> {
  const words = ["train", project.at("train.yaml"), ...overrides, "--quiet"];
  const { code, stdout, stderr } = await project.forager(...words);
  expect(stdout).toBe("");
  expect(stderr).not.toMatch(/\.ts:\d+|\.js:\d+|at async/);
  expect(code).toBe(2);
  expect(readdirSync(project.dir).filter((name) => /^run|tmp/.test(name))).toEqual([]);
  return stderr.trimEnd();
}
const question = (id: string, ...gold: string[]) => ({
  id,
  question: "who wrote Dune",
  golden_answers: gold,
});

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
    expect(stderr).toMatchInlineSnapshot();
  });
  test("a wrong key", async () => {
    expect(await complaint("rollout.groupSzie=4")).toMatchInlineSnapshot();
  });
  test("a wrong key in the file", async () => {
    const text = readFileSync(project.at("train.yaml"), "utf8");
    project.write("train.yaml", `${text}rewards: { preset: dmi }\n`);
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("a wrong type", async () => {
    expect(await complaint("rl.steps=many")).toMatchInlineSnapshot();
  });
  test("out of range", async () => {
    expect(await complaint("rollout.groupSize=1")).toMatchInlineSnapshot();
  });
  test("malformed YAML", async () => {
    project.write("train.yaml", "rl: { steps: 4\nrun: [\n");
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("an unknown reward part", async () => {
    expect(await complaint("reward.weights={exactMtach: 1}")).toMatchInlineSnapshot();
  });
  test("a filter on what is no part", async () => {
    expect(await complaint("rl.filterMetric=exact_match")).toMatchInlineSnapshot();
  });
  test("unknown demonstrators", async () => {
    expect(
      await complaint("sft.steps=1", "sft.source={kind: experts, habits: hastey}"),
    ).toMatchInlineSnapshot();
  });
  test("an unknown environment", async () => {
    expect(await complaint("env.name=reseacher")).toMatchInlineSnapshot();
  });
  test("an unknown preset", async () => {
    expect(await complaint("rl.preset=gpro")).toMatchInlineSnapshot();
  });
  test("two models", async () => {
    expect(await complaint("model.path=somewhere")).toMatchInlineSnapshot();
  });
  test("a benchmark larger than the world", async () => {
    const world = "{kind: world, clusters: 3, n: 100000}";
    const benchmarks = `eval.benchmarks=[{name: b, source: ${world}}]`;
    expect(
      await complaint("data.train={kind: world, clusters: 3}", "search={}", benchmarks),
    ).toMatchInlineSnapshot();
  });
  test("a world larger than its names", async () => {
    expect(
      await complaint("data.train={kind: world, clusters: 100000}", "search={}"),
    ).toMatchInlineSnapshot();
  });
});

describe("questions", () => {
  test("no such file", async () => {
    expect(await complaint("data.train.path=nowhere.jsonl")).toMatch(
      /error: file not found\n {2}where {4}.*nowhere\.jsonl\n {2}next/,
    );
  });
  test("a malformed line", async () => {
    project.write("questions.jsonl", '{"id": "q1", "question": "a", "golden_answers": ["b"]}\n{"id": "q2"\n');
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("a line of another kind", async () => {
    project.write("questions.jsonl", '["q1"]\n');
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("an id twice", async () => {
    project.write("questions.jsonl", [question("q1", "a"), question("q2", "a"), question("q1", "b")]);
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("without an id", async () => {
    project.write("questions.jsonl", [{ question: "a", golden_answers: ["b"] }]);
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("some without gold are left out, counted and named", async () => {
    project.write("questions.jsonl", [
      question("q1", "a"),
      question("q2"),
      question("q3", "the"),
      question("q4", "b"),
    ]);
    const { code, stderr, events } = await project.forager(
      "train",
      project.at("train.yaml"),
      "--json",
      "--dry-run",
    );
    expect(code).toBe(0);
    expect(stderr.split("\n").find((line) => line.startsWith("warning"))).toMatchInlineSnapshot();
    expect(events[0]).toMatchObject({ event: "warning" });
    expect(stderr).toContain("training questions: 2");
  });
  test("all without gold", async () => {
    project.write("questions.jsonl", [question("q1"), question("q2", "the")]);
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("an empty file", async () => {
    project.write("questions.jsonl", "");
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("a prompt longer than the context", async () => {
    project.write("questions.jsonl", [
      question("q1", "a"),
      { id: "q2", question: "who ".repeat(100), golden_answers: ["a"] },
    ]);
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("cut .gz", async () => {
    const whole = gzipSync(`${JSON.stringify(question("q1", "a"))}\n`.repeat(50));
    project.write("questions.jsonl.gz", whole.subarray(0, whole.length - 20));
    expect(await complaint(`data.train.path=${project.at("questions.jsonl.gz")}`)).toMatchInlineSnapshot();
  });
  test("none for the demonstrators to show", async () => {
    project.write("questions.jsonl", [question("q1", "a")]);
    expect(await complaint("sft.steps=1")).toMatchInlineSnapshot();
  });
  test("stored demonstrations of another kind", async () => {
    project.write("shown.jsonl", [{ id: "a", segments: [{ source: "prompt", text: "x" }] }]);
    const source = `sft.source={kind: trajectories, path: ${project.at("shown.jsonl")}}`;
    expect(await complaint("sft.steps=1", source)).toMatchInlineSnapshot();
  });
});

describe("the corpus", () => {
  test("no such file", async () => {
    expect(await complaint(`search.corpus=${project.at("nowhere.jsonl")}`)).toMatchInlineSnapshot();
  });
  test("empty", async () => {
    project.write("corpus.jsonl", "\n");
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("a malformed line", async () => {
    project.write("corpus.jsonl", '{"id": "p1", "title": "T", "text": "words"}\nnot json\n');
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("an id twice", async () => {
    project.write(
      "corpus.jsonl",
      ["p1", "p2", "p1"].map((id) => ({ id, title: "T", text: "words" })),
    );
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("a passage without text", async () => {
    project.write("corpus.jsonl", [{ id: "p1", title: "T" }]);
    expect(await complaint()).toMatchInlineSnapshot();
  });
  test("an index that is none", async () => {
    mkdirSync(project.at("index"));
    const search = `search={engine: lancedb, index: ${project.at("index")}}`;
    const model = `model={path: ${project.model("base")}}`;
    expect(await complaint(search, model)).toMatchInlineSnapshot();
  });
});

describe("the model", () => {
  const model = (name: string, more = "") => `model={path: ${project.at(name)}, training: full${more}}`;

  test("no such folder", async () => {
    expect(await complaint(model("nowhere"))).toMatchInlineSnapshot();
  });
  test("without config.json", async () => {
    mkdirSync(project.at("base"));
    copyFileSync(`${project.model("whole")}/vocabulary.json`, project.at("base/vocabulary.json"));
    expect(await complaint(model("base"))).toMatchInlineSnapshot();
  });
  test("without a tokenizer", async () => {
    mkdirSync(project.at("base"));
    copyFileSync(`${project.model("whole")}/config.json`, project.at("base/config.json"));
    expect(await complaint(model("base"))).toMatchInlineSnapshot();
  });
  test("truncated weights", async () => {
    truncateSync(`${project.model("base")}/model.safetensors`, 2000);
    expect(await complaint(model("base"))).toMatchInlineSnapshot();
  });
  test("weights cut in the header", async () => {
    truncateSync(`${project.model("base")}/model.safetensors`, 100);
    expect(await complaint(model("base"))).toMatchInlineSnapshot();
  });
  test("weights of another model", async () => {
    copyFileSync(
      `${project.model("other", { hidden: 32 })}/model.safetensors`,
      `${project.model("base")}/model.safetensors`,
    );
    expect(await complaint(model("base"))).toMatchInlineSnapshot();
  });
  test("a tokenizer with more tokens than the model", async () => {
    const words = ["one", "two", "three", "four", "five"];
    copyFileSync(
      `${project.model("other", { words })}/vocabulary.json`,
      `${project.model("base")}/vocabulary.json`,
    );
    expect(await complaint(model("base"))).toMatchInlineSnapshot();
  });
  test("another family", async () => {
    const folder = project.model("base");
    const config = JSON.parse(readFileSync(`${folder}/config.json`, "utf8")) as object;
    writeFileSync(`${folder}/config.json`, JSON.stringify({ ...config, model_type: "mamba" }));
    expect(await complaint(model("base"))).toMatchInlineSnapshot();
  });
  test("a context beyond the model's", async () => {
    project.model("base");
    expect(await complaint(model("base", ", contextTokens: 4096"))).toMatchInlineSnapshot();
  });
  test("an adapter that is none", async () => {
    project.model("base");
    mkdirSync(project.at("adapter"));
    const lora = `model={path: ${project.at("base")}, adapter: ${project.at("adapter")}}`;
    expect(await complaint(lora)).toMatchInlineSnapshot();
  });
});

describe("the run folder", () => {
  const folder = async (path: string) => {
    const { code, stderr } = await project.forager(
      "train",
      project.at("train.yaml"),
      `run.dir=${path}`,
      "--quiet",
    );
    expect(code).toBe(2);
    return stderr.trimEnd();
  };
  test("not empty", async () => {
    expect(await folder(project.dir)).toMatchInlineSnapshot();
  });
  test("under a file", async () => {
    expect(await folder(project.at("train.yaml/run"))).toMatchInlineSnapshot();
  });
  test("a file", async () => {
    expect(await folder(project.at("train.yaml"))).toMatchInlineSnapshot();
  });
  test("what cannot be written", async () => {
    // Root may write anywhere but to the kernel's own file systems.
    expect(await folder("/proc/forager")).toMatch(/^error: .*\n {2}where {4}\/proc\/forager\n/);
    expect(existsSync("/proc/forager")).toBe(false);
  });
});

describe("--resume", () => {
  const resume = async (path: string, ...more: string[]) => {
    const { code, stderr } = await project.forager("train", ...more, "--resume", path, "--quiet");
    expect(code).toBe(2);
    return stderr.trimEnd();
  };
  /** A run that was interrupted after its only step. */
  const interrupted = async (...overrides: string[]) => {
    const { code, stderr } = await project.forager(
      "train",
      project.at("train.yaml"),
      "--quiet",
      ...overrides,
    );
    expect(code, stderr).toBe(0);
    const file = project.at("run/summary.json");
    writeFileSync(file, readFileSync(file, "utf8").replace('"done"', '"interrupted"'));
    return project.at("run");
  };

  test("no run folder", async () => {
    expect(await resume(project.dir)).toMatchInlineSnapshot();
  });
  test("with a config", async () => {
    expect(await resume("run", project.at("train.yaml"))).toMatchInlineSnapshot();
  });
  test("with an override", async () => {
    expect(await resume("run", "rl.steps=4")).toMatch(/^error: a resumed run has its own config/);
  });
  test("a config that was changed", async () => {
    const run = await interrupted();
    const text = readFileSync(`${run}/config.yaml`, "utf8");
    writeFileSync(`${run}/config.yaml`, text.replace("steps: 1", "steps: 2"));
    expect(await resume(run)).toMatchInlineSnapshot();
  });
  test("questions that were changed", async () => {
    const run = await interrupted();
    project.write("questions.jsonl", [question("q1", "Frank Herbert")]);
    expect(await resume(run)).toMatch(
      /^error: the base model changed|^error: the tokenizer changed|^error: the training questions changed/,
    );
  });
  test("a corpus that was changed", async () => {
    const run = await interrupted();
    project.write("corpus.jsonl", [
      { id: "p1", title: "Dune", text: "Dune was written by Jane Austen Frank Herbert" },
    ]);
    expect(await resume(run)).toMatch(/^error: the .* changed since the run began\n {2}where {4}DIR\/run\n/);
  });
  test("a checkpoint that was cut", async () => {
    const run = await interrupted();
    truncateSync(`${run}/checkpoints/rl-000001/optimizer.safetensors`, 1000);
    expect(await resume(run)).toMatchInlineSnapshot();
  });
  test("a checkpoint of other weights", async () => {
    const run = await interrupted();
    copyFileSync(
      `${run}/checkpoints/rl-000000/model.safetensors`,
      `${run}/checkpoints/rl-000001/model.safetensors`,
    );
    expect((await resume(run)).replaceAll(/[0-9a-f]{12}/g, "HASH")).toMatchInlineSnapshot();
  });
  test("a checkpoint with a damaged state.json; without it the run goes on from the one before", async () => {
    const run = await interrupted();
    writeFileSync(`${run}/checkpoints/rl-000001/state.json`, "{");
    expect(await resume(run)).toMatchInlineSnapshot();
  });
  test("a store that is no database", async () => {
    const run = await interrupted();
    for (const name of readdirSync(run).filter((each) => each.startsWith("run.db")))
      writeFileSync(`${run}/${name}`, "no database at all".repeat(100));
    expect(await resume(run)).toMatchInlineSnapshot();
  });

  describe("of a LoRA run", () => {
    const lora = () => `model={path: ${project.at("base")}, training: lora, lora: {rank: 2, alpha: 4}}`;
    test("whose base model moved", async () => {
      project.model("base");
      const run = await interrupted(lora());
      project.model("elsewhere");
      const { renameSync } = await import("node:fs");
      renameSync(project.at("base"), project.at("moved"));
      expect(await resume(run)).toMatchInlineSnapshot();
    });
    test("whose base model changed", async () => {
      project.model("base");
      const run = await interrupted(lora());
      project.model("base", { seed: 2 });
      expect((await resume(run)).replaceAll(/[0-9a-f]{12}/g, "HASH")).toMatchInlineSnapshot();
    });
    test("with another tokenizer", async () => {
      project.model("base");
      const run = await interrupted(lora());
      const vocabulary = `${project.at("base")}/vocabulary.json`;
      writeFileSync(vocabulary, readFileSync(vocabulary, "utf8").replace('"wrote"', '"made"'));
      expect((await resume(run)).replaceAll(/[0-9a-f]{12}/g, "HASH")).toMatchInlineSnapshot();
    });
    test("with a base model of another shape", async () => {
      project.model("base");
      const run = await interrupted(lora());
      project.model("base", { hidden: 32 });
      expect((await resume(run)).replaceAll(/[0-9a-f]{12}/g, "HASH")).toMatchInlineSnapshot();
    });
  });
});
