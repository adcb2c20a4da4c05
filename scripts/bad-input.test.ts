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
        expected one of tasksPerStep, groupSize, temperature, topP, topK, maxRows, concurrency, retries, retryDelayMs, episodeTimeoutMs, refillBatches, prompt
        next     Did you mean \`groupSize\`?"
    `);
  });
  test("a wrong key in the file", async () => {
    const text = readFileSync(project.at("train.yaml"), "utf8");
    project.write("train.yaml", `${text}rewards: { preset: dmi }\n`);
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: unknown key \`rewards\`
        where    DIR/train.yaml:9
        expected one of run, engine, model, data, search, env, rollout, reward, sft, rl, eval, track
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
        expected one of exactMatch, f1, coverMatch, answerTag, answers
        next     Did you mean \`exactMatch\`?"
    `);
  });
  test("a filter on what is no part", async () => {
    expect(await complaint("rl.filterMetric=exact_match")).toMatchInlineSnapshot(`
      "error: there is no reward part \`exact_match\` to filter on
        where    rl.filterMetric
        expected one of reward, exactMatch, f1, coverMatch, answerTag, answers
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
        expected one of "clean", "hasty", "random"
        next     Did you mean "hasty"?"
    `);
  });
  test("an unknown environment", async () => {
    expect(await complaint("env.name=reseacher")).toMatchInlineSnapshot(`
      "error: there is no environment \`reseacher\`
        where    env.name
        expected researcher
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

describe("questions", () => {
  test("no such file", async () => {
    expect(await complaint("data.train.path=nowhere.jsonl")).toMatch(
      /error: file not found\n {2}where {4}.*nowhere\.jsonl\n {2}next/,
    );
  });
  test("a malformed line", async () => {
    project.write(
      "questions.jsonl",
      '{"id": "q1", "question": "a", "golden_answers": ["gold"]}\n{"id": "q2"\n',
    );
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: malformed JSON
        where    DIR/questions.jsonl:2
        got      {"id": "q2"
        expected one JSON object a line
        next     Mend this line, or leave it out."
    `);
  });
  test("a line of another kind", async () => {
    project.write("questions.jsonl", '["q1"]\n');
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: field \`(record)\` is wrong
        where    DIR/questions.jsonl:1
        got      ["q1"]
        expected a JSON object
        next     Mend this line, or leave it out."
    `);
  });
  test("an id twice", async () => {
    project.write("questions.jsonl", [
      question("q1", "gold a"),
      question("q2", "gold a"),
      question("q1", "gold b"),
    ]);
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: duplicate id
        where    DIR/questions.jsonl:3
        got      "q1", which is on line 1 too
        expected a different id on every line
        next     Rename or remove one of the two."
    `);
  });
  test("without an id", async () => {
    project.write("questions.jsonl", [{ question: "a", golden_answers: ["gold"] }]);
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: field \`id\` is missing
        where    DIR/questions.jsonl:1
        expected a non-empty text, or an integer below 2^53 under one of id, _id, qid, question_id, idx
        next     Mend this line, or leave it out."
    `);
  });
  test("some without gold are left out, counted and named", async () => {
    project.write("questions.jsonl", [
      question("q1", "gold a"),
      question("q2"),
      question("q3", "the"),
      question("q4", "gold b"),
    ]);
    const { code, stderr, events } = await project.forager(
      "train",
      project.at("train.yaml"),
      "--json",
      "--dry-run",
    );
    expect(code).toBe(0);
    expect(stderr.split("\n").find((line) => line.startsWith("warning"))).toMatchInlineSnapshot(
      `"warning: data.train: 2 of 4 questions left out: 1 no gold answer (q2), 1 every gold answer normalises to nothing (q3)"`,
    );
    expect(events[0]).toMatchObject({ event: "warning" });
    expect(stderr).toContain("training questions: 2");
  });
  test("all without gold", async () => {
    project.write("questions.jsonl", [question("q1"), question("q2", "the")]);
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: no question to work with
        where    DIR/questions.jsonl
        got      2 left out, the first for: no gold answer
        expected one JSON object a line with id, question and golden_answers | goldenAnswers | answers | answer
        next     Give the questions gold answers."
    `);
  });
  test("an empty file", async () => {
    project.write("questions.jsonl", "");
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: no question to work with
        where    DIR/questions.jsonl
        got      no lines
        expected one JSON object a line with id, question and golden_answers | goldenAnswers | answers | answer
        next     Check that the path names a file of questions, not of passages."
    `);
  });
  test("a prompt longer than the context", async () => {
    project.write("questions.jsonl", [
      question("q1", "gold a"),
      { id: "q2", question: "who ".repeat(100), golden_answers: ["gold"] },
    ]);
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: the prompt does not fit into the model's context
        where    question q2
        got      102 tokens
        expected 1 to 95
        next     Leave the question out, shorten the prompt, or use a model with a longer context."
    `);
  });
  test("cut .gz", async () => {
    const rows = Array.from({ length: 50 }, (_, i) => JSON.stringify(question(`q${i}`, "gold")));
    const whole = gzipSync(`${rows.join("\n")}\n`);
    project.write("questions.jsonl.gz", whole.subarray(0, whole.length - 20));
    expect(await complaint(`data.train.path=${project.at("questions.jsonl.gz")}`)).toMatchInlineSnapshot(`
      "error: cannot read the file
        where    DIR/questions.jsonl.gz
        got      unexpected end of file"
    `);
  });
  test("none for the demonstrators to show", async () => {
    project.write("questions.jsonl", [question("q1", "gold a")]);
    expect(await complaint("sft.steps=1")).toMatchInlineSnapshot(`
      "error: the scripted demonstrators have nothing to show
        where    sft.source
        got      0 questions with supporting passages, 0 of their passages found in the corpus
        expected questions with \`supporting_ids\` that are in search.corpus
        next     Add supporting_ids to the questions, name search.corpus, or set sft.steps=0."
    `);
  });
  test("stored demonstrations of another kind", async () => {
    project.write("shown.jsonl", [{ id: "a", segments: [{ source: "prompt", text: "x" }] }]);
    const source = `sft.source={kind: trajectories, path: ${project.at("shown.jsonl")}}`;
    expect(await complaint("sft.steps=1", source)).toMatchInlineSnapshot(`
      "error: field \`segments\` is wrong
        where    DIR/shown.jsonl:1
        got      {"id":"a","segments":[{"source":"prompt","text":"x"}]}
        expected at least one policy segment with text
        next     Mend this line, or leave it out."
    `);
  });
});

describe("the corpus", () => {
  test("no such file", async () => {
    expect(await complaint(`search.corpus=${project.at("nowhere.jsonl")}`)).toMatchInlineSnapshot(`
      "error: file not found
        where    DIR/nowhere.jsonl
        next     Check the path; it is taken relative to the working directory."
    `);
  });
  test("empty", async () => {
    project.write("corpus.jsonl", "\n");
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: the corpus is empty
        where    DIR/corpus.jsonl
        expected one JSON object a line with id, title and text
        next     Check the path, and that the command that wrote the file has finished."
    `);
  });
  test("a malformed line", async () => {
    project.write("corpus.jsonl", '{"id": "p1", "title": "T", "text": "words"}\nnot json\n');
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: malformed JSON
        where    DIR/corpus.jsonl:2
        got      not json
        expected one JSON object a line
        next     Mend this line, or leave it out."
    `);
  });
  test("an id twice", async () => {
    project.write(
      "corpus.jsonl",
      ["p1", "p2", "p1"].map((id) => ({ id, title: "T", text: "words" })),
    );
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: duplicate id
        where    DIR/corpus.jsonl:3
        got      "p1", which is on line 1 too
        expected a different id on every line
        next     Rename or remove one of the two."
    `);
  });
  test("a passage without text", async () => {
    project.write("corpus.jsonl", [{ id: "p1", title: "T" }]);
    expect(await complaint()).toMatchInlineSnapshot(`
      "error: a passage without text
        where    DIR/corpus.jsonl:1
        expected \`text\`, or \`contents\` with the title on its first line
        next     Mend this line, or leave it out."
    `);
  });
  test("an index that is none", async () => {
    mkdirSync(project.at("index"));
    const search = `search={engine: lancedb, index: ${project.at("index")}}`;
    const model = `model={path: ${project.model("base")}}`;
    expect(await complaint(search, model)).toMatchInlineSnapshot(`
      "error: the folder is no search index: it has no forager-index.json
        where    DIR/index
        next     Build one: forager index build CORPUS --out FOLDER."
    `);
  });
});

describe("the model", () => {
  const model = (name: string, more = "") => `model={path: ${project.at(name)}, training: full${more}}`;

  test("no such folder", async () => {
    expect(await complaint(model("nowhere"))).toMatchInlineSnapshot(`
      "error: the model folder does not exist
        where    DIR/nowhere
        next     Check \`model.path\`; it must be a local Hugging Face folder."
    `);
  });
  test("without config.json", async () => {
    mkdirSync(project.at("base"));
    copyFileSync(`${project.model("whole")}/vocabulary.json`, project.at("base/vocabulary.json"));
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: not a model folder
        where    DIR/base
        got      no config.json
        expected a Hugging Face folder: config.json, *.safetensors and tokenizer.json
        next     Check the path; a run's policy is in its checkpoints/."
    `);
  });
  test("without a tokenizer", async () => {
    mkdirSync(project.at("base"));
    copyFileSync(`${project.model("whole")}/config.json`, project.at("base/config.json"));
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: no tokenizer
        where    DIR/base
        got      neither tokenizer.json nor vocabulary.json
        expected a Hugging Face folder with tokenizer.json (the fast tokenizer's file)
        next     Copy tokenizer.json from the model's page, or save it with AutoTokenizer.save_pretrained."
    `);
  });
  test("truncated weights", async () => {
    truncateSync(`${project.model("base")}/model.safetensors`, 2000);
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: the file is cut short
        where    DIR/base/model.safetensors
        got      2000 bytes
        expected 15696 bytes
        next     Copy or download the file again: it is cut short or not a safetensors file."
    `);
  });
  test("weights cut in the header", async () => {
    truncateSync(`${project.model("base")}/model.safetensors`, 100);
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: the header is cut short
        where    DIR/base/model.safetensors
        got      a file of 100 bytes
        expected a header of 1096 bytes
        next     Copy or download the file again: it is cut short or not a safetensors file."
    `);
  });
  test("weights of another model", async () => {
    copyFileSync(
      `${project.model("other", { hidden: 32 })}/model.safetensors`,
      `${project.model("base")}/model.safetensors`,
    );
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: the weights do not match config.json
        where    DIR/base
        got      11 of another shape (model.embed_tokens.weight [113,32] instead of [113,16], model.layers.0.input_layernorm.weight [32] instead of [16], model.layers.0.self_attn.q_proj.weight [32,32] instead of [16,16] ...)
        next     Check that config.json and the safetensors come from the same model, whole and undamaged."
    `);
  });
  test("a tokenizer with more tokens than the model", async () => {
    const words = ["one", "two", "three", "four", "five"];
    copyFileSync(
      `${project.model("other", { words })}/vocabulary.json`,
      `${project.model("base")}/vocabulary.json`,
    );
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: the tokenizer has more tokens than the model
        where    DIR/base
        got      114 tokens
        expected at most 113, the vocab_size of config.json
        next     Use the tokenizer files that came with the model."
    `);
  });
  test("another family", async () => {
    const folder = project.model("base");
    const config = JSON.parse(readFileSync(`${folder}/config.json`, "utf8")) as object;
    writeFileSync(`${folder}/config.json`, JSON.stringify({ ...config, model_type: "mamba" }));
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: \`model_type\` is not supported
        where    DIR/base/config.json
        got      "mamba"
        expected llama, qwen2, qwen3
        next     Use a model of the Llama, Qwen2, Qwen3 or SmolLM2 families with plain weights."
    `);
  });
  test("a context beyond the model's", async () => {
    project.model("base");
    expect(await complaint(model("base", ", contextTokens: 4096"))).toMatchInlineSnapshot(`
      "error: the context is longer than the model's
        where    model.contextTokens
        got      4096
        expected at most 96
        next     Lower it, or leave it out to use the model's own."
    `);
  });
  test("an adapter that is none", async () => {
    project.model("base");
    mkdirSync(project.at("adapter"));
    const lora = `model={path: ${project.at("base")}, adapter: ${project.at("adapter")}}`;
    expect(await complaint(lora)).toMatchInlineSnapshot(`
      "error: not an adapter folder
        where    DIR/adapter
        got      no adapter_config.json
        expected adapter_config.json and adapter_model.safetensors, as PEFT's save_pretrained writes them
        next     Check the path."
    `);
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
    expect(await folder(project.dir)).toMatchInlineSnapshot(`
      "error: the run folder is not empty
        where    DIR
        got      corpus.jsonl, questions.jsonl, train.yaml
        next     Name another with run.dir=…."
    `);
  });
  test("under a file", async () => {
    expect(await folder(project.at("train.yaml/run"))).toMatchInlineSnapshot(`
      "error: the run folder cannot be made
        where    DIR/train.yaml/run
        got      DIR/train.yaml is a file, not a folder
        next     Name another with run.dir=…."
    `);
  });
  test("a file", async () => {
    expect(await folder(project.at("train.yaml"))).toMatchInlineSnapshot(`
      "error: the run folder cannot be made
        where    DIR/train.yaml
        got      DIR/train.yaml is a file, not a folder
        next     Name another with run.dir=…."
    `);
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
    test("whose base model changed", async () => {
      project.model("base");
      const run = await interrupted(lora());
      project.model("base", { seed: 2 });
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
    test("with a base model of another shape", async () => {
      project.model("base");
      const run = await interrupted(lora());
      project.model("base", { hidden: 32 });
      expect((await resume(run)).replaceAll(/[0-9a-f]{12}/g, "HASH")).toMatchInlineSnapshot(`
        "error: the base model changed since the run began
          where    DIR/run
          got      HASH
          expected HASH
          next     Restore what the run was started with, or start a new run."
      `);
    });
  });
});
