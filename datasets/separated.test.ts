import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { readTasks } from "./jsonl.ts";
import { type FileKind, openRows } from "./row-file.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-separated-"));
afterAll(() => rmSync(folder, { recursive: true }));
const normalize = (text: string) => text.toLowerCase();
const write = (name: string, content: string | Uint8Array) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const rows = async (name: string, content: string | Uint8Array, kind?: FileKind) => {
  const file = await openRows(write(name, content), kind);
  const found = [];
  for await (const row of file.read([])) found.push(row);
  return found;
};
const failure = async (work: Promise<unknown>) =>
  String(
    await work.then(
      () => "it did not fail",
      (error: unknown) => error,
    ),
  ).replaceAll(`${folder}/`, "");

/** As the data set's own file has them: tabs, quotes around lists. */
const popqa = [
  "id\tsubj\tprop\tobj\tsubj_id\ts_wiki_title\tquestion\tpossible_answers",
  '4222362\tAda Renn\toccupation\tmiller\t1850297\tAda Renn (miller)\tWhat is Ada Renn\'s occupation?\t"[""miller"", ""mill owner""]"',
  '3482393\tTom "T" Ash\toccupation\tpainter\t1165243\t\tWhat is Tom "T" Ash\'s occupation?\t"[""painter, of mills""]"',
  "",
].join("\n");
const bamboogle =
  '\ufeffQuestion,Answer\r\n"Who built the mill, and\r\nwhen?",Renn\r\nWho else?,"Ash, ""the younger"""\r\n';

describe("published files", () => {
  it("PopQA's TSV: ids, the list of answers, the page", async () => {
    const path = write("popQA.tsv", popqa);
    for (const kind of ["tsv", undefined] as const)
      expect((await readTasks({ path, normalize, kind })).tasks).toEqual([
        {
          ...{ id: "4222362", question: "What is Ada Renn's occupation?", dataset: "popqa", hops: 1 },
          ...{ goldenAnswers: ["miller", "mill owner"], supportingTitles: ["Ada Renn (miller)"] },
        },
        {
          ...{ id: "3482393", question: 'What is Tom "T" Ash\'s occupation?', dataset: "popqa", hops: 1 },
          goldenAnswers: ["painter, of mills"],
        },
      ]);
  });

  it("Bamboogle's CSV: ids of the file's name and the line", async () => {
    const path = write("Bamboogle.csv.gz", gzipSync(bamboogle));
    expect((await readTasks({ path, normalize, kind: "csv" })).tasks).toMatchObject([
      { id: "Bamboogle-2", question: "Who built the mill, and\r\nwhen?", goldenAnswers: ["Renn"], hops: 2 },
      { id: "Bamboogle-4", goldenAnswers: ['Ash, "the younger"'], dataset: "bamboogle" },
    ]);
  });

  it("our own fields: hops are numbers, lists are JSON, an empty cell is no value", async () => {
    const path = write(
      "own.csv",
      'id,question,golden_answers,hops,supporting_ids,supporting_titles\n007,Q?,1984,2,"[""p1"",""p2""]","[""Mill""]"\nb,R?,x,,,\n',
    );
    expect((await readTasks({ path, normalize })).tasks).toEqual([
      {
        ...{ id: "007", question: "Q?", goldenAnswers: ["1984"], dataset: "own", hops: 2 },
        ...{ supportingIds: ["p1", "p2"], supportingTitles: ["Mill"] },
      },
      { id: "b", question: "R?", goldenAnswers: ["x"], dataset: "own", hops: 1 },
    ]);
  });
});

it("a column without a name is passed over, names are trimmed, the config's kind goes before the name", async () => {
  expect((await rows("pandas.csv", ",Question, Answer\n0,Q?,x\n")).map(({ value }) => value)).toEqual([
    { Question: "Q?", Answer: "x" },
  ]);
  expect((await rows("tabs.csv", "a\tb\n1\t2\n", "tsv"))[0]).toMatchObject({
    value: { a: "1", b: "2" },
    row: 2,
  });
  expect((await rows("lines.csv", '{"a":1}\n'))[0]?.value).toEqual({ a: 1 });
});

it("explains what is wrong, with the line", async () => {
  const tasks = (name: string, content: string) => readTasks({ path: write(name, content), normalize });
  const messages = [];
  for (const [name, content, kind] of [
    ["q.csv", 'id,question,answer\n1,"Q\n?",x\n2,Q?,y,z\n', undefined],
    ["q.csv", "id,question,answer\n1,Q?\n", undefined],
    ["q.csv", "id,question, id\n", undefined],
    ["q.csv", "id\tquestion\n", undefined],
    ["q.tsv", "id,question\n", undefined],
    ["q.csv", "id;question\n", undefined],
    ["q.csv", "", undefined],
    ["q.csv", "a,b\n", "jsonl"],
    ["q.csv", '[{"a":1}]', "csv"],
    ["q.csv", "a,b\n", "parquet"],
  ] as const)
    messages.push(await failure(rows(name, content, kind)));
  messages.push(await failure(tasks("q.csv", "id,question,answer\n")));
  messages.push(await failure(tasks("q.csv", "id,text\n1,Q?\n")));
  messages.push(await failure(tasks("q.csv", "id,question,answer\n1,Q?,x\n\n1,R?,y\n")));
  messages.push(await failure(tasks("q.csv", "id,question,answer,hops\n1,Q?,x,two\n")));
  expect(messages).toMatchInlineSnapshot(`
    [
      "DataError: q.csv:4: a row of 4 fields under a header of 3: expected id, question, answer, got 2 | Q? | y | z. Mend this line, or leave it out; a field that holds a separator or a line break stands in double quotes.",
      "DataError: q.csv:2: a row of 2 fields under a header of 3: expected id, question, answer, got 1 | Q?. Mend this line, or leave it out; a field that holds a separator or a line break stands in double quotes.",
      "DataError: q.csv:1: two columns have one name: got id. Rename or remove one of the two.",
      "DataError: q.csv:1: the header has no comma: expected names of columns with commas between, got id	question. Write \`kind: tsv\` for it.",
      "DataError: q.tsv:1: the header has no tab: expected names of columns with tabs between, got id,question. Write \`kind: csv\` for it.",
      "DataError: q.csv:1: the header has no comma: expected names of columns with commas between, got id;question. Save it with commas or tabs.",
      "DataError: q.csv: the file is empty: expected a header that names the columns, and a row a question. Copy or write it again.",
      "DataError: q.csv: this is a CSV file. Write \`kind: csv\` for it.",
      "DataError: q.csv: this is no CSV file. Write \`kind: jsonl\` for it.",
      "DataError: q.csv: this is no Parquet file. Write \`kind: csv\` for it.",
      "DataError: q.csv: no question to work with: expected rows with id, question and golden_answers | goldenAnswers | answers | answer, got no rows. Check that the path names a file of questions, not of passages.",
      "DataError: q.csv: columns of the format forager are missing: expected golden_answers | goldenAnswers | answers | answer; question | query, got columns id, text. Rename the columns, or name another \`format\`.",
      "DataError: q.csv:4: duplicate id: expected a different id on every line, got "1", which is on line 2 too. Rename or remove one of the two.",
      "DataError: q.csv:2: field \`hops\` is wrong: expected an integer of 1 or more, got "two". Mend this line, or leave it out.",
    ]
  `);
});
