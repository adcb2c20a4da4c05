import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { normalizers } from "./normalize.ts";
import { scoreFile } from "./score-file.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-score-episodes-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(...records: readonly object[]): string {
  const path = join(folder, "episodes.jsonl");
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  return path;
}

const marked = (answer: string) => ({
  question: "who?",
  answer: "Ada Lovelace",
  pred_ans: answer,
  gen_text_store: `I look. <|begin_of_query|> x<|end_of_query|>\n\n<|begin_of_documents|>\n<answer> Ada Lovelace </answer>\n<|end_of_documents|>\nSo.</think>\n<answer> ${answer} </answer>`,
});

test.each(["r1-searcher", undefined] as const)(
  "R1-Searcher's results, format %s: the answer is read from the policy's text alone",
  async (format) => {
    const path = file(marked("The Ada Lovelace!"), marked("Byron"));
    const totals = await scoreFile(path, { normalizer: normalizers.squad, format });
    expect(totals).toMatchObject({ n: 2, em: 0.5, duplicateIds: 0 });
  },
);

test("an exported chat and exported rows: ids and gold answers are in them, infrastructure is never a zero", async () => {
  const provenance = { question_id: "q", golden_answers: ["Ada"], outcome: "answered" };
  const chat = (answer: string, outcome = "answered") => ({
    messages: [
      { role: "user", content: "<answer> Ada </answer>" },
      { role: "assistant", content: `<answer> ${answer} </answer>` },
    ],
    provenance: { ...provenance, outcome },
  });
  const told: string[] = [];
  const chats = await scoreFile(file(chat("Ada"), chat("no"), chat("Ada", "infra(model)")), {
    normalizer: normalizers.squad,
    onRecord: ({ id }) => told.push(id),
  });
  expect(chats).toMatchObject({ n: 2, em: 0.5, infra: 1, duplicateIds: 2 });
  expect(told).toEqual(["q", "q"]);
  const row = { tokenizer: "t", tokens: [1], mask: [1], golden_answers: ["Ada"], prediction: "Ada" };
  expect(
    await scoreFile(file(row, { ...row, prediction: null }), { normalizer: normalizers.squad }),
  ).toMatchObject({
    ...{ n: 2, em: 0.5, emptyPredictions: 1 },
  });
});

test("episodes without gold answers cannot be scored", async () => {
  const path = file({ messages: [{ role: "assistant", content: "<answer> Ada </answer>" }] });
  await expect(scoreFile(path, { normalizer: normalizers.squad })).rejects.toThrow(
    /:1: there are no gold answers/,
  );
});
