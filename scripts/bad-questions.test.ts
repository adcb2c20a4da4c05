import { mkdirSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { complaintOf } from "./testing/complaint.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

let project: Project;
beforeEach(() => {
  project = toyProject();
});
afterEach(() => project.remove());

const complaint = (...overrides: string[]) => complaintOf(project, overrides);
const question = (id: string, ...gold: string[]) => ({
  id,
  question: "who wrote Dune",
  golden_answers: gold,
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
        got      2 left out, the first for: no gold answer; the first has id, question, golden_answers
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
        expected at least one policy segment with text (format forager)
        next     Mend this record, leave it out, or name another format."
    `);
  });
});

describe("the corpus", () => {
  test("no such file", async () => {
    expect(await complaint(`search.corpus=${project.at("nowhere.jsonl")}`)).toMatchInlineSnapshot(`
      "error: file not found
        where    DIR/nowhere.jsonl
        next     Check the path: in a YAML file it is relative to that file, elsewhere to the working directory."
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
