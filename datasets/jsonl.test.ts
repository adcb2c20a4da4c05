import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { describeDropped, readPassages, readTasks } from "./jsonl.ts";
import type { Passage } from "./task.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-jsonl-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Stands in for the reward's normaliser: drops articles and everything but letters and digits. */
const normalize = (text: string) =>
  text
    .toLowerCase()
    .replace(/\b(a|an|the)\b/g, " ")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

let files = 0;
const write = (lines: readonly (object | string)[], name = "toy.jsonl"): string => {
  const path = join(folder, `${files++}-${name}`);
  const text = lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
  writeFileSync(path, name.endsWith(".gz") ? gzipSync(text) : text);
  return path;
};
const load = (lines: readonly (object | string)[], more = {}) =>
  readTasks({ path: write(lines), normalize, dataset: "toy", ...more });
/** The error's message without this machine's folder. */
const failure = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => new Error("it did not fail"),
    (cause: unknown) => cause,
  );
  return error instanceof Error
    ? `${error.name}: ${error.message.replaceAll(/\S*forager-jsonl-\w+\/\d+-/g, "")}`
    : "";
};

describe("readTasks", () => {
  it("reads the benchmark's own schema", async () => {
    const path = write(
      [
        {
          id: "q1",
          question: " Who? ",
          golden_answers: ["Ann", " Ann ", "Anna"],
          supporting_ids: ["p2", "p1"],
          dataset: "hotpotqa",
          hops: 2,
          type: "bridge",
        },
      ],
      "questions.dev.jsonl.gz",
    );
    expect(await readTasks({ path, normalize })).toEqual({
      tasks: [
        {
          id: "q1",
          question: "Who?",
          goldenAnswers: ["Ann", "Anna"],
          dataset: "hotpotqa",
          hops: 2,
          supportingIds: ["p2", "p1"],
        },
      ],
      dropped: [],
      droppedAliases: [],
    });
  });

  it("keeps the hops asked for, before the limit counts", async () => {
    const lines = [2, 1, 3, 2].map((hops, i) => ({ id: `q${i}`, question: "?!a", answer: "x", hops }));
    const kept = async (more: object) => (await load(lines, more)).tasks.map(({ id }) => id);
    expect(await kept({ hops: [1, 2] })).toEqual(["q0", "q1", "q3"]);
    expect(await kept({ hops: [1, 3], limit: 1 })).toEqual(["q1"]);
    expect(await failure(load(lines, { hops: [4] }))).toBe(
      "DataError: toy.jsonl: no question has the hops asked for: expected 4, got questions of 1, 2, 3 hops. Change `hops`, or leave it out.",
    );
  });

  it.each<[string, object, string[]]>([
    ["FlashRAG", { id: "test_0", golden_answers: ["x", "y"] }, ["x", "y"]],
    ["ours", { id: 7, goldenAnswers: "x" }, ["x"]],
    ["NQ-open", { id: "a", answer: ["x", "y"] }, ["x", "y"]],
    ["HotpotQA", { _id: "5a8", answer: "yes" }, ["yes"]],
    ["R1-Searcher", { idx: 0, answer: "x", gen_text_store: "" }, ["x"]],
    ["MuSiQue", { id: "2hop__1", answer: "x", answer_aliases: ["y"] }, ["x", "y"]],
    ["PopQA", { id: 1, possible_answers: '["x", "y"]' }, ["x", "y"]],
    ["SQuAD", { id: "s", answers: { text: ["x"], answer_start: [3] } }, ["x"]],
    ["verl", { id: "v", reward_model: { style: "rule", ground_truth: { target: ["x", "y"] } } }, ["x", "y"]],
    ["DeepResearcher", { id: "d", reward_model: { ground_truth: "x<|answer_split|>y" } }, ["x", "y"]],
    ["numbers", { id: "n", answer: 44 }, ["44"]],
    ["a text that only looks like a list", { id: "l", answer: "[sic]" }, ["[sic]"]],
  ])("reads the gold answers of %s", async (name, record, expected) => {
    const { tasks } = await load([{ question: "Q?", ...record }]);
    expect(tasks[0]?.goldenAnswers).toEqual(expected);
    expect(tasks[0]).toMatchObject({ dataset: "toy", hops: name === "MuSiQue" ? 2 : 1 });
  });

  it("leaves out questions without usable gold and aliases that normalise to nothing, and names them", async () => {
    const loaded = await load([
      { id: "ok", question: "Which symbol?", golden_answers: ["the symbol ×", "*"] },
      { id: "pigs", question: "How many breeds?", golden_answers: ["---"] },
      { id: "band", question: "Which band?", answer: "A The" },
      { id: "none", question: "Who?" },
      { id: "empty", question: "Who?", golden_answers: [] },
      { id: "blank", question: "  ", golden_answers: ["x"] },
    ]);
    expect(loaded.tasks.map(({ id, goldenAnswers }) => [id, goldenAnswers])).toEqual([
      ["ok", ["the symbol ×"]],
    ]);
    expect(loaded.dropped.map(({ id, line }) => `${id}:${line}`)).toEqual([
      "pigs:2",
      "band:3",
      "none:4",
      "empty:5",
      "blank:6",
    ]);
    expect(loaded.droppedAliases).toEqual([{ id: "ok", alias: "*" }]);
    expect(describeDropped(loaded)).toMatchInlineSnapshot(
      `"5 of 6 questions left out: 2 every gold answer normalises to nothing (pigs, band), 2 no gold answer (none, empty), 1 no question (blank); 1 gold answers that normalise to nothing left out (ok)"`,
    );
    expect(describeDropped({ tasks: [], dropped: [], droppedAliases: [] })).toBeUndefined();
  });

  it("stops at the limit, and calls a data set after its file", async () => {
    const path = write(
      [1, 2, 3].map((id) => ({ id, question: "Q?", answer: "x" })),
      "nq.test.jsonl",
    );
    const { tasks } = await readTasks({ path, normalize, limit: 2 });
    expect(tasks.map(({ id }) => id)).toEqual(["1", "2"]);
    expect(tasks[0]?.dataset).toMatch(/^\d+-nq$/);
  });

  it("explains bad input in one sentence", async () => {
    const good = { id: "a", question: "Q?", answer: "x" };
    const cases: (object | string)[][] = [
      [good, { ...good, id: "b" }, { ...good }],
      [good, "{not json"],
      ["[1]"],
      [{ question: "Q?", answer: "x" }],
      ['{"id": 9007199254740993, "question": "Q?", "answer": "x"}'],
      [{ ...good, question: 7 }],
      [{ ...good, answer: { wrong: "x" } }],
      [{ ...good, answer: ["x", null] }],
      [{ ...good, hops: 0 }],
      [],
      [{ id: "p1", title: "A page", text: "of a corpus" }],
      [{ id: "a", question: "Q?", golden_answer: "x" }],
    ];
    const messages = [];
    for (const lines of cases) messages.push(await failure(load(lines)));
    messages.push(await failure(readTasks({ path: "nowhere.jsonl", normalize })));
    expect(messages).toMatchInlineSnapshot(`
      [
        "DataError: toy.jsonl:3: duplicate id: expected a different id on every line, got "a", which is on line 1 too. Rename or remove one of the two.",
        "DataError: toy.jsonl:2: malformed JSON: expected one JSON object a line, got {not json. Mend this line, or leave it out.",
        "DataError: toy.jsonl:1: field \`(record)\` is wrong: expected a JSON object, got [1]. Mend this line, or leave it out.",
        "DataError: toy.jsonl:1: field \`id\` is missing: expected a non-empty text, or an integer below 2^53 under one of id, _id, qid, question_id, idx. Mend this line, or leave it out.",
        "DataError: toy.jsonl:1: field \`id\` is wrong: expected a non-empty text, or an integer below 2^53, got 9007199254740992. Mend this line, or leave it out.",
        "DataError: toy.jsonl:1: field \`question\` is wrong: expected a text, got 7. Mend this line, or leave it out.",
        "DataError: toy.jsonl:1: field \`answer\` is wrong: expected a text or a list of texts, got {"wrong":"x"}. Mend this line, or leave it out.",
        "DataError: toy.jsonl:1: field \`answer\` is wrong: expected a text or a list of texts, got ["x",null]. Mend this line, or leave it out.",
        "DataError: toy.jsonl:1: field \`hops\` is wrong: expected an integer of 1 or more, got 0. Mend this line, or leave it out.",
        "DataError: toy.jsonl: no question to work with: expected one JSON object a line with id, question and golden_answers | goldenAnswers | answers | answer, got no lines. Check that the path names a file of questions, not of passages.",
        "DataError: toy.jsonl: no question to work with: expected one JSON object a line with id, question and golden_answers | goldenAnswers | answers | answer, got 1 left out, the first for: no question; the first has id, title, text. Check that the path names a file of questions, not of passages.",
        "DataError: toy.jsonl: no question to work with: expected one JSON object a line with id, question and golden_answers | goldenAnswers | answers | answer, got 1 left out, the first for: no gold answer; the first has id, question, golden_answer. Give the questions gold answers.",
        "DataError: nowhere.jsonl: file not found. Check the path: in a YAML file it is relative to that file, elsewhere to the working directory.",
      ]
    `);
  });
});

describe("readPassages", () => {
  const read = async (lines: readonly (object | string)[]) => {
    const passages: Passage[] = [];
    for await (const passage of readPassages(write(lines))) passages.push(passage);
    return passages;
  };

  it("reads ours, BEIR's and Search-R1's", async () => {
    expect(
      await read([
        { id: "1", title: "T", text: "a text" },
        { _id: "2", text: "no title", metadata: {} },
        { id: 3, contents: '"The "Human" Factor"\nis a film\nof 1975' },
        { id: 4, contents: "one line alone" },
      ]),
    ).toEqual([
      { id: "1", title: "T", text: "a text" },
      { id: "2", title: "", text: "no title" },
      { id: "3", title: 'The "Human" Factor', text: "is a film\nof 1975" },
      { id: "4", title: "", text: "one line alone" },
    ]);
  });

  it("explains bad input in one sentence", async () => {
    const messages = [];
    for (const lines of [
      [],
      [
        { id: "a", title: "T", text: "x" },
        { id: "a", title: "U", text: "y" },
      ],
      [{ id: "a", title: "T", text: " " }],
      [{ id: "a", title: 3, text: "x" }],
      [{ id: "a", question: "Q?" }],
    ])
      messages.push(await failure(read(lines)));
    expect(messages).toMatchInlineSnapshot(`
      [
        "DataError: toy.jsonl: the corpus is empty: expected one JSON object a line with id, title and text. Check the path, and that the command that wrote the file has finished.",
        "DataError: toy.jsonl:2: duplicate id: expected a different id on every line, got "a", which is on line 1 too. Rename or remove one of the two.",
        "DataError: toy.jsonl:1: a passage without text: expected \`text\`, or \`contents\` with the title on its first line. Mend this line, or leave it out.",
        "DataError: toy.jsonl:1: field \`title\` is wrong: expected a text, got 3. Mend this line, or leave it out.",
        "DataError: toy.jsonl:1: a passage without text: expected \`text\`, or \`contents\` with the title on its first line. Mend this line, or leave it out.",
      ]
    `);
  });
});
