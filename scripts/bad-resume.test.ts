import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Project, toyProject } from "./testing/toy-project.ts";

let project: Project;
beforeEach(() => {
  project = toyProject();
});
afterEach(() => project.remove());

const question = (id: string, ...gold: string[]) => ({
  id,
  question: "who wrote Dune",
  golden_answers: gold,
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
    expect(await resume(project.dir)).toMatchInlineSnapshot(`
      "error: not a run folder
        where    DIR
        expected a folder with config.yaml, run.db and checkpoints/
        next     Give the folder that \`forager train\` printed."
    `);
  });
  test("with a config", async () => {
    expect(await resume("run", project.at("train.yaml"))).toMatchInlineSnapshot(`
      "error: a resumed run has its own config
        expected CONFIG, or --resume RUN
        next     Leave the config out."
    `);
  });
  test("with an override", async () => {
    expect(await resume("run", "rl.steps=4")).toMatch(/^error: a resumed run has its own config/);
  });
  test("a config that was changed", async () => {
    const run = await interrupted();
    const text = readFileSync(`${run}/config.yaml`, "utf8");
    writeFileSync(`${run}/config.yaml`, text.replace("steps: 1", "steps: 2"));
    expect(await resume(run)).toMatchInlineSnapshot(`
      "error: the config was changed since the run began
        where    DIR/run/config.yaml
        next     Restore it: a resumed run keeps its config. To train with other values, start a new run."
    `);
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
    expect(await resume(run)).toMatchInlineSnapshot(`
      "error: the header is cut short
        where    DIR/run/checkpoints/rl-000001/optimizer.safetensors
        got      a file of 1000 bytes
        expected a header of 2208 bytes
        next     Delete the folder DIR/run/checkpoints/rl-000001: the run goes on from the checkpoint before it."
    `);
  });
  test("a checkpoint of other weights", async () => {
    const run = await interrupted();
    const file = `${run}/checkpoints/rl-000001/model.safetensors`;
    const bytes = readFileSync(file);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 7) ^ 1, bytes.length - 7);
    writeFileSync(file, bytes);
    expect((await resume(run)).replaceAll(/[0-9a-f]{12}/g, "HASH")).toMatchInlineSnapshot(`
      "error: the weights are not those that were saved
        where    DIR/run/checkpoints/rl-000001
        got      HASH
        expected HASH
        next     Delete the folder DIR/run/checkpoints/rl-000001: the run goes on from the checkpoint before it."
    `);
  });
  test("a checkpoint with a damaged state.json; without it the run goes on from the one before", async () => {
    const run = await interrupted();
    writeFileSync(`${run}/checkpoints/rl-000001/state.json`, "{");
    expect(await resume(run)).toMatchInlineSnapshot(`
      "error: malformed state.json
        where    DIR/run/checkpoints/rl-000001/state.json
        next     Delete the folder DIR/run/checkpoints/rl-000001: the run goes on from the checkpoint before it."
    `);
  });
  test("a store that is no database", async () => {
    const run = await interrupted();
    for (const name of readdirSync(run).filter((each) => each.startsWith("run.db")))
      writeFileSync(`${run}/${name}`, "no database at all".repeat(100));
    expect(await resume(run)).toMatchInlineSnapshot(`
      "error: cannot open the run's store
        where    DIR/run/run.db
        got      file is not a database
        next     Check that the folder can be written, that there is free space, and that the file is a Forager run.db."
    `);
  });

  describe("of a LoRA run", () => {
    const lora = () => `model={path: ${project.at("base")}, training: lora, lora: {rank: 2, alpha: 4}}`;
    test("whose base model moved", async () => {
      project.model("base");
      const run = await interrupted(lora());
      project.model("elsewhere");
      const { renameSync } = await import("node:fs");
      renameSync(project.at("base"), project.at("moved"));
      expect(await resume(run)).toMatchInlineSnapshot(`
        "error: the run's base model is no longer there
          where    DIR/base
          next     Move it back, or put a link in its place; then resume again."
      `);
    });
    test.each([
      ["changed", { seed: 2 }],
      ["has another shape", { hidden: 32 }],
    ])("whose base model %s", async (_, change) => {
      project.model("base");
      const run = await interrupted(lora());
      project.model("base", change);
      expect((await resume(run)).replaceAll(/[0-9a-f]{12}/g, "HASH")).toMatchInlineSnapshot(`
        "error: the base model changed since the run began
          where    DIR/run
          got      HASH
          expected HASH
          next     Restore what the run was started with, or start a new run."
      `);
    });
    test("with another tokenizer", async () => {
      project.model("base");
      const run = await interrupted(lora());
      const vocabulary = `${project.at("base")}/vocabulary.json`;
      writeFileSync(vocabulary, readFileSync(vocabulary, "utf8").replace('"wrote"', '"made"'));
      expect((await resume(run)).replaceAll(/[0-9a-f]{12}/g, "HASH")).toMatchInlineSnapshot(`
        "error: the tokenizer changed since the run began
          where    DIR/run
          got      HASH
          expected HASH
          next     Restore what the run was started with, or start a new run."
      `);
    });
  });
});
