import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, describe, expect, it } from "vitest";
import { type ReadTasks, readTasks } from "./jsonl.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-parquet-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const normalize = (text: string) => text.toLowerCase().replaceAll("-", "");
const write = (content: Uint8Array, name: string): string => {
  const path = join(folder, `${files++}.${name}`);
  writeFileSync(path, content);
  return path;
};
const failure = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => new Error("it did not fail"),
    (cause: unknown) => cause,
  );
  return String(error).replaceAll(/\S*forager-parquet-\w+\/\d+\./g, "");
};

describe("questions in Parquet", () => {
  const text = { type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" } as const;
  const list = (name: string) => [
    { name, converted_type: "LIST", repetition_type: "OPTIONAL", num_children: 1 } as const,
    { name: "list", repetition_type: "REPEATED", num_children: 1 } as const,
    { name: "element", ...text },
  ];
  const schema = [
    { name: "schema", num_children: 4 },
    { name: "question", ...text },
    { name: "data_source", ...text },
    { name: "reward_model", repetition_type: "OPTIONAL", num_children: 2 } as const,
    { name: "style", ...text },
    { name: "ground_truth", repetition_type: "OPTIONAL", num_children: 1 } as const,
    ...list("target"),
    { name: "extra_info", repetition_type: "OPTIONAL", num_children: 2 } as const,
    { name: "split", ...text },
    { name: "index", type: "INT64", repetition_type: "OPTIONAL" } as const,
  ];

  it("reads Search-R1's nested columns, a row group at a time", async () => {
    const n = 5;
    const rowsOf = <T>(make: (i: number) => T) => Array.from({ length: n }, (_, i) => make(i));
    const bytes = parquetWriteBuffer({
      schema,
      columnData: [
        { name: "question", data: rowsOf((i) => `Q${i}?`) },
        { name: "data_source", data: rowsOf((i) => (i % 2 ? "nq" : "musique")) },
        {
          name: "reward_model",
          data: rowsOf((i) => ({ style: "rule", ground_truth: { target: [`x${i}`, "y"] } })),
        },
        { name: "extra_info", data: rowsOf((i) => ({ split: "test", index: BigInt(i) })) },
      ],
      rowGroupSize: 2,
    });
    const path = write(new Uint8Array(bytes), "test.parquet");
    const { tasks } = await readTasks({ path, kind: "parquet", normalize });
    expect(tasks.map(({ id, goldenAnswers, hops }) => [id, ...goldenAnswers, hops])).toEqual(
      rowsOf((i) => [`${i % 2 ? "nq" : "musique"}/test_${i}`, `x${i}`, "y", i % 2 ? 1 : 2]),
    );
  });

  it("names the columns that are missing, those that are there, and the row that is wrong", async () => {
    const file = (columns: Record<string, unknown[]>) =>
      write(
        new Uint8Array(
          parquetWriteBuffer({ columnData: Object.entries(columns).map(([name, data]) => ({ name, data })) }),
        ),
        "q.parquet",
      );
    const tasks = (path: string, o: Partial<ReadTasks> = {}) =>
      readTasks({ path, kind: "parquet", normalize, ...o });
    const messages = [
      await failure(tasks(file({ title: ["T"], text: ["x"] }))),
      await failure(tasks(file({ id: ["a"], question: ["Q?"] }), { format: "popqa" })),
      await failure(
        tasks(file({ id: ["a", "b", "a"], question: ["Q?", "Q?", "Q?"], answer: ["x", "y", "z"] })),
      ),
      await failure(
        tasks(file({ id: ["a", "b"], question: ["Q?", "Q?"], answer: ["x", "y"], hops: [1, 0] })),
      ),
      await failure(tasks(file({ id: ["a"], question: ["Q?"], answer: ["-"] }))),
    ];
    expect(messages).toMatchInlineSnapshot(`
      [
        "DataError: q.parquet: columns of the format forager are missing: expected golden_answers | goldenAnswers | answers | answer; question | query; id | _id | qid | question_id, got columns title, text. Rename the columns, or name another \`format\`.",
        "DataError: q.parquet: columns of the format popqa are missing: expected possible_answers, got columns id, question. Rename the columns, or name another \`format\`.",
        "DataError: q.parquet: row 3: duplicate id: expected a different id on every row, got "a", which is on row 1 too. Rename or remove one of the two.",
        "DataError: q.parquet: row 2: field \`hops\` is wrong: expected an integer of 1 or more, got 0. Mend this line, or leave it out.",
        "DataError: q.parquet: no question to work with: expected rows with id, question and golden_answers | goldenAnswers | answers | answer, got 1 left out, the first for: every gold answer normalises to nothing; the first has id, question, answer. Give the questions gold answers.",
      ]
    `);
  });
});
