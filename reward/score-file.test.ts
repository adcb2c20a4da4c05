import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { DataError } from "../core/errors.ts";
import { normalizers } from "./normalize.ts";
import { type RecordScore, scoreFile } from "./score-file.ts";
import { toyTask, toyTrajectory } from "./testing.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-score-"));
afterAll(() => rmSync(folder, { recursive: true }));

const squad = normalizers.squad;
let files = 0;
function write(content: string | Uint8Array, extension = "jsonl"): string {
  const path = join(folder, `${files++}.${extension}`);
  writeFileSync(path, content);
  return path;
}
const jsonl = (...records: unknown[]) => records.map((record) => `${JSON.stringify(record)}\n`).join("");
const right = { id: "1", prediction: "the Paris", goldenAnswers: ["Paris"] };

describe("scoreFile", () => {
  test("predictions: per record and in total", async () => {
    const path = write(
      jsonl(
        right,
        { id: 2, prediction: "New York City", goldenAnswers: ["New York", "NYC"] },
        { ...right, id: "3", prediction: null },
      ),
    );
    const records: RecordScore[] = [];
    const totals = await scoreFile(path, { normalizer: squad, onRecord: (record) => records.push(record) });
    expect(records).toEqual([
      { id: "1", em: 1, f1: 1, coverEm: 1, prediction: "the Paris" },
      { id: "2", em: 0, f1: 0.8, coverEm: 1, prediction: "New York City" },
      { id: "3", em: 0, f1: 0, coverEm: 0, prediction: null },
    ]);
    expect(totals).toMatchObject({
      n: 3,
      em: 1 / 3,
      coverEm: 2 / 3,
      emptyPredictions: 1,
      normalizer: "squad@1",
    });
    expect(totals.f1).toBeCloseTo(0.6, 12);
  });

  test("every normaliser in one pass, each over the questions that it leaves gold of", async () => {
    const path = write(
      jsonl(
        right,
        { id: "2", prediction: "C", goldenAnswers: ["C++"] },
        { id: "3", prediction: "the", goldenAnswers: ["The"] },
      ),
    );
    const { byNormalizer } = await scoreFile(path, { normalizer: squad });
    expect(byNormalizer).toMatchObject({
      "squad@1": { n: 2, em: 1 },
      "flashrag@1": { n: 2, em: 1 },
      "r1-searcher@1": { n: 2, em: 1 },
      "strict@1": { n: 3, em: 2 / 3 },
    });
  });

  test("a question without gold is left out, counted and named; dropped aliases and repeated ids are counted", async () => {
    const totals = await scoreFile(
      write(
        jsonl(
          right,
          right,
          { id: "none", prediction: "", goldenAnswers: ["The", "A"] },
          { ...right, id: "x", goldenAnswers: [] },
        ),
      ),
      { normalizer: squad },
    );
    expect(totals).toMatchObject({
      n: 2,
      em: 1,
      emptyGold: 2,
      emptyGoldIds: ["none", "x"],
      droppedAliases: 2,
      duplicateIds: 1,
    });
  });

  test("trajectories: bare segments, sequences, a whole Trajectory, a stored one; infrastructure is never a zero", async () => {
    const segments = [
      { source: "prompt", text: "<answer>Byron</answer>" },
      { source: "policy", text: "<answer>Ada Lovelace</answer>" },
      { source: "observation", text: "<answer>Byron</answer>" },
    ];
    const goldenAnswers = ["Ada Lovelace"];
    const totals = await scoreFile(
      write(
        jsonl(
          { id: "a", segments, goldenAnswers },
          { id: "b", sequences: [{ seat: "researcher", segments }], goldenAnswers },
          toyTrajectory(["<answer>Ada Lovelace</answer>"]),
          {
            taskId: "c",
            question: "q",
            goldenAnswers,
            prediction: null,
            sequences: [{ seat: "r", segments }],
          },
          toyTrajectory([], { task: { ...toyTask, id: "d" }, outcome: "infra(retriever)" }),
        ),
      ),
      { normalizer: squad },
    );
    expect(totals).toMatchObject({ n: 4, em: 1, infra: 1 });
  });

  test("gzip, a byte order mark, U+2028 in a line, CRLF and blank lines", async () => {
    const text = `\ufeff${JSON.stringify(right)}\r\n\n${JSON.stringify({ ...right, id: "\u2028" })}`;
    expect(await scoreFile(write(text), { normalizer: squad })).toMatchObject({ n: 2, em: 1 });
    expect(await scoreFile(write(gzipSync(text), "jsonl.gz"), { normalizer: squad })).toMatchObject({
      n: 2,
      em: 1,
    });
  });

  test.each([
    ["malformed JSON", `${JSON.stringify(right)}\n{"id": "2", "prediction": `, /:2: malformed JSON/],
    ["NaN", '{"id":"1","prediction":NaN,"goldenAnswers":["a"]}', /:1: malformed JSON/],
    ["not an object", "[1]\n", /:1: field/],
    ["a bare null", "null\n", /:1: field/],
    [
      "a number as prediction",
      jsonl({ ...right, prediction: 5 }),
      /:1: field `prediction` is wrong: expected text/,
    ],
    ["no prediction at all", jsonl({ id: "1", goldenAnswers: ["a"] }), /field `prediction`.*text or null/],
    ["a misspelt key", jsonl({ id: "1", predicton: "a", goldenAnswers: ["a"] }), /field `prediction`/],
    ["no gold", jsonl({ id: "1", prediction: "a" }), /field `goldenAnswers`.*list of gold answers/],
    [
      "gold as text",
      jsonl({ ...right, goldenAnswers: "Paris" }),
      /field `goldenAnswers`.*list of gold answers/,
    ],
    ["gold of numbers", jsonl({ ...right, goldenAnswers: [1] }), /field `goldenAnswers.0`.*text/],
    [
      "an id that JSON has rounded",
      '{"id":9007199254740993,"prediction":"a","goldenAnswers":["a"]}',
      /field `id`/,
    ],
    [
      "an unknown source",
      jsonl({ id: "1", goldenAnswers: ["a"], segments: [{ source: "tool", text: "" }] }),
      /segments.0.source/,
    ],
    ["an empty file", "", /no records/],
    ["blank lines alone", "\n\n", /no records/],
  ])("%s is one clear error", async (_, content, message) => {
    const scoring = scoreFile(write(content), { normalizer: squad });
    await expect(scoring).rejects.toThrow(DataError);
    await expect(scoring).rejects.toThrow(message);
  });

  test("a missing file and a truncated gzip are the user's mistakes too", async () => {
    await expect(scoreFile(join(folder, "none.jsonl"), { normalizer: squad })).rejects.toThrow(
      /file not found/,
    );
    const cut = write(gzipSync(jsonl(right)).subarray(0, 20), "jsonl.gz");
    await expect(scoreFile(cut, { normalizer: squad })).rejects.toThrow(DataError);
  });

  test("keys that name an object's own machinery are plain text", async () => {
    const odd =
      '{"__proto__":{"prediction":"x"},"id":"constructor","prediction":"Paris","goldenAnswers":["Paris"]}\n';
    expect(await scoreFile(write(odd), { normalizer: squad })).toMatchObject({
      n: 1,
      em: 1,
      duplicateIds: 0,
    });
  });
});

const shared = process.env.FORAGER_SHARED_DATA;
test.skipIf(!shared)(
  "R1-Searcher's trajectories keep their known totals (set FORAGER_SHARED_DATA to the data folder)",
  async () => {
    const { readJsonl } = await import("../core/jsonl.ts");
    const { z } = await import("zod");
    const schema = z.object({ answer: z.string(), pred_ans: z.string(), gen_text_store: z.string() });
    for (const [name, expected] of [
      ["hotpotqa", 288],
      ["2wiki", 277],
    ] as const) {
      const given: unknown[] = [];
      for await (const { value, line } of readJsonl(
        join(shared!, `trajectories/r1searcher_${name}_qwen.jsonl.gz`),
        schema,
      ))
        given.push({ id: line, prediction: value.pred_ans, goldenAnswers: [value.answer] });
      const totals = await scoreFile(write(jsonl(...given)), { normalizer: squad });
      expect([totals.n, Math.round(totals.em * totals.n)]).toEqual([500, expected]);
    }
  },
);
