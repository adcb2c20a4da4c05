import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Project, toyProject } from "./testing/toy-project.ts";

let project: Project;
beforeAll(() => {
  project = toyProject();
  project.write("dev.jsonl", [
    {
      id: "d1",
      question: "Who wrote Dune?",
      golden_answers: ["frank herbert"],
      supporting_ids: ["p1", "p9"],
    },
    {
      id: "d2",
      question: "who wrote Emma",
      golden_answers: ["Jane Austen", "the"],
      supporting_titles: ["emma"],
    },
    { id: "d3", question: "who was it that in the end wrote Ulysses", golden_answers: ["Joyce"] },
    { id: "d4", question: "Who was it that, in the end, wrote Ulysses?", golden_answers: ["Woolf"] },
    { id: "d5", question: "how many", golden_answers: ["---"] },
  ]);
  project.write("dev.yaml", "name: dev\nsource: { kind: jsonl, path: dev.jsonl }\n");
});
afterAll(() => project.remove());

const check = (...words: string[]) =>
  project.forager("data", "check", project.at("train.yaml"), "eval.benchmarks=[dev.yaml]", ...words);

describe("forager data check", () => {
  test("--json: overlap, unusable gold, missing passages, and what to pin", async () => {
    const dir = process.cwd();
    process.chdir(project.dir);
    try {
      const { code, events } = await check("--json");
      expect(code).toBe(0);
      expect(events.find(({ event }) => event === "benchmark")).toMatchObject({
        name: "dev",
        questions: 4,
        whole: 4,
        order: expect.any(Number),
        goldNormalisesToNothing: { questions: 1, aliases: 1 },
        goldPassages: {
          questions: 2,
          named: 3,
          missing: 1,
          questionsMissing: 1,
          examples: [{ id: "d1", missing: ["id p9"] }],
        },
        within: {
          counts: { exact: 0, normalised: 2, near: 0, sameAnswer: 0 },
          examples: [{ kind: "normalised", id: "d3", otherId: "d4", sameAnswer: false }],
        },
        inTraining: {
          counts: { exact: 1, normalised: 1, near: 0, sameAnswer: 2 },
          examples: [
            { kind: "exact", id: "d2", otherId: "q2" },
            { kind: "normalised", id: "d1", otherId: "q1", similarity: 1 },
          ],
        },
      });
      expect(events.at(-1)).toMatchObject({ event: "result", near: 0.8, scorer: "squad@1" });

      const strict = await check("--strict");
      expect(strict.code).toBe(1);
      expect(strict.stderr).toContain("training holds questions of a benchmark");
      expect(strict.stdout).toContain("1 exact, 1 normalised, 0 near; 2 with the same answer");
      expect((await check("--near", "0")).code).toBe(2);
    } finally {
      process.chdir(dir);
    }
  });
});

test("CSV and TSV as PopQA and Bamboogle are published, checked and evaluated on", async () => {
  const popqa = project.write(
    "popQA.tsv",
    'id\tquestion\tpossible_answers\n7\twho wrote Dune\t"[""Frank Herbert""]"\n8\twho wrote Emma\t"[""Jane Austen"", ""Austen""]"\n',
  );
  const bamboogle = project.write(
    "Bamboogle.csv",
    'Question,Answer\r\n"Who, if any, wrote Dune?",Herbert\r\n',
  );
  const row = (name: string, path: string, kind: string) =>
    `{name: ${name}, source: {kind: ${kind}, path: ${path}}}`;
  const words = [
    project.at("train.yaml"),
    `eval.benchmarks=[${row("popqa", popqa, "tsv")}, ${row("bamboogle", bamboogle, "csv")}]`,
  ];
  const checked = await project.forager("data", "check", ...words, "--json");
  expect(checked.code, checked.stderr).toBe(0);
  expect(checked.events.filter(({ event }) => event === "benchmark")).toMatchObject([
    { name: "popqa", questions: 2, inTraining: { counts: { exact: 2, sameAnswer: 2 } } },
    { name: "bamboogle", questions: 1 },
  ]);
  const out = project.at("separated");
  const evaluated = await project.forager("eval", ...words, "eval.modes=[greedy]", "--out", out);
  expect(evaluated.code, evaluated.stderr).toBe(0);
  const records = readFileSync(join(out, "bamboogle-0-greedy/records.jsonl"), "utf8");
  expect(JSON.parse(records)).toMatchObject({ id: "Bamboogle-2", goldenAnswers: ["Herbert"], hops: 2 });

  project.write("Bamboogle.csv", "Question,Answer\nWho, if any, wrote Dune?,Herbert\n");
  const ragged = await project.forager("data", "check", ...words);
  expect(ragged.stderr).toMatch(/a row of 4 fields under a header of 2\n {2}where {4}DIR\/Bamboogle\.csv:2/);
  expect(ragged.code).toBe(2);
});

describe("what a benchmark says of itself", () => {
  test.each([
    ["limit=5", "benchmark `dev` is smaller than its limit"],
    ["pins={scorer: strict@1}", "benchmark `dev` pins another scorer"],
    ["pins={questions: 9}", "benchmark `dev` pins another number of questions"],
    ["pins={order: 9}", "benchmark `dev` pins another order"],
    ["pins={scorer: squad}", "a normaliser and its version, such as squad@1"],
    ["limt=5", "Did you mean `limit`?"],
  ])("%s is refused: %s", async (override, message) => {
    const row = `{name: dev, source: {kind: jsonl, path: ${project.at("dev.jsonl")}}}`;
    const words = [`eval.benchmarks=[${row}]`, `eval.benchmarks.0.${override}`];
    const { code, stderr } = await project.forager("data", "check", project.at("train.yaml"), ...words);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  test("its card is how it is sampled, and the order stands beside the records", async () => {
    const row = `{name: dev, source: {kind: jsonl, path: ${project.at("dev.jsonl")}}, limit: 2, samples: 3, seed: 7, temperature: 0.5}`;
    const words = [`eval.benchmarks=[${row}]`, "eval.modes=[sampled]", "eval.seed=9"];
    const out = project.at("evals");
    const { code } = await project.forager("eval", project.at("train.yaml"), ...words, "--out", out);
    expect(code).toBe(0);
    const folder = join(out, "dev-0-sampled");
    const read = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8"));
    expect(read("manifest.json")).toMatchObject({
      ...{ samples: 3, seed: 7, temperature: 0.5, topP: 1, questions: 2 },
      ...{ normalizer: "squad", normalizerVersion: 1 },
    });
    const lines = readFileSync(join(folder, "records.jsonl"), "utf8").trimEnd().split("\n");
    const ids = lines.map((line) => JSON.parse(line).id as string);
    expect(read("order.json")).toEqual([...new Set(ids)]);

    const pinned = [words[0]!.replace("limit: 2", "limit: 2, pins: {index: other}"), ...words.slice(1)];
    const refused = await project.forager("eval", project.at("train.yaml"), ...pinned, "--out", out);
    expect(refused.stderr).toContain("benchmark `dev` pins another index");
    expect(refused.code).toBe(2);
  });
});
