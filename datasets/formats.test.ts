import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { formatNames, formatOf } from "./formats.ts";
import { type ReadTasks, readTasks } from "./jsonl.ts";
import { cases, hotpot, musique } from "./toy-formats.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-formats-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const normalize = (text: string) => text.toLowerCase().replaceAll("-", "");
const write = (content: string | Uint8Array, name: string): string => {
  const path = join(folder, `${files++}.${name}`);
  writeFileSync(path, content);
  return path;
};
const read = async (records: readonly object[], o: Partial<ReadTasks> = {}) => {
  const path = write(records.map((each) => `${JSON.stringify(each)}\n`).join(""), "toy.jsonl");
  return readTasks({ path, normalize, ...o });
};
const failure = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => new Error("it did not fail"),
    (cause: unknown) => cause,
  );
  return String(error).replaceAll(/\S*forager-formats-\w+\/\d+\./g, "");
};

describe("formats", () => {
  it("has a case for every row", () => {
    expect([...new Set(cases.map(([name]) => name))].sort()).toEqual([...formatNames].sort());
  });

  it("is in the documentation, every row", () => {
    const page = readFileSync(join(packageRoot(), "docs", "own-data.md"), "utf8");
    for (const name of formatNames) expect(page).toContain(`\`${name}\``);
  });

  it.each(cases)("%s: %s is told and read", async (name, _, record, expected) => {
    expect(formatOf(record as Record<string, unknown>)).toBe(name);
    const named = { format: name, dataset: "toy-set" };
    const [task] = (await read([record], named)).tasks;
    expect(task).toMatchObject(
      expected.id?.startsWith("toy-") ? { ...expected, id: expect.stringMatching(/^\d+\.toy-1$/) } : expected,
    );
    expect((await read([record], { dataset: "toy-set" })).tasks).toEqual(
      (await read([record], named)).tasks.map((each) => ({ ...each, id: expect.any(String) })),
    );
  });

  it("names a data set after its format where nothing else does", async () => {
    expect((await read([musique])).tasks[0]?.dataset).toBe("musique");
    expect((await read([{ Question: "Q?", Answer: "x" }])).tasks[0]?.dataset).toBe("bamboogle");
  });

  it("leaves out MuSiQue's unanswerable contrasts, whose ids repeat", async () => {
    const { tasks, dropped } = await read([musique, { ...musique, answerable: false }]);
    expect(tasks).toHaveLength(1);
    expect(dropped).toEqual([{ id: "2hop__1_2", line: 2, reason: "marked as unanswerable" }]);
  });

  it("keeps the split asked for", async () => {
    const record = (id: string, split?: string) => ({
      id,
      question: "Q?",
      answer: "x",
      ...(split ? { split } : {}),
    });
    const records = [record("a", "train"), record("b", "test"), record("c")];
    expect((await read(records, { split: "test" })).tasks.map(({ id }) => id)).toEqual(["b"]);
    expect(await failure(read(records, { split: "dev" }))).toBe(
      "DataError: toy.jsonl: no question has the split asked for: expected dev, got (none), test, train. Change `split`, or leave it out.",
    );
  });

  it("does not take Search-R1's ids for the same where two data sets count alike", async () => {
    const record = (data_source: string) => ({
      id: "test_0",
      data_source,
      question: "Q?",
      reward_model: { ground_truth: { target: ["x"] } },
    });
    expect((await read([record("nq"), record("popqa")])).tasks.map(({ id }) => id)).toEqual([
      "nq/test_0",
      "popqa/test_0",
    ]);
    expect(await failure(read([record("nq"), record("nq")]))).toBe(
      'DataError: toy.jsonl:2: duplicate id: expected a different id on every line, got "nq/test_0", which is on line 1 too. Rename or remove one of the two.',
    );
  });

  it("explains fields of the wrong type in a format's own words", async () => {
    const messages = [];
    for (const record of [
      { ...hotpot, answer: 7.5, _id: undefined },
      { ...musique, question: ["Q?"] },
      { Question: "Q?", Answer: { text: false } },
    ])
      messages.push(await failure(read([record])));
    expect(messages).toMatchInlineSnapshot(`
      [
        "DataError: toy.jsonl:1: field \`id\` is missing: expected a non-empty text, or an integer below 2^53 under one of id, _id, qid, question_id, idx. Mend this line, or leave it out.",
        "DataError: toy.jsonl:1: field \`question\` is wrong: expected a text, got ["Q?"]. Mend this line, or leave it out.",
        "DataError: toy.jsonl:1: field \`Answer\` is wrong: expected a text or a list of texts, got {"text":false}. Mend this line, or leave it out.",
      ]
    `);
  });
});
