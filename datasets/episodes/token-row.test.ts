import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DataError } from "../../core/errors.ts";
import { rng } from "../../core/rng.ts";
import { readRecords } from "../records.ts";
import { arrowWriter } from "./arrow.ts";
import { parquetWriter } from "./parquet.ts";
import { readEpisodes } from "./read.ts";
import { type TokenRow, tokenColumnNames } from "./token-row.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-rows-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const draw = rng(1, "rows");

function row(i: number, length: number): TokenRow {
  const mask = Array.from({ length }, (_, t) => (t > 0 && draw() < 0.5 ? 1 : 0));
  return {
    ...{ run: "x", partial: i % 2 === 0, step: i, group: 1, member: i, seat: "researcher", sequence: 0 },
    version: i % 3 === 0 ? null : i,
    last_version: i % 3 === 0 ? null : i + 1,
    question_id: `q${i}`,
    question: i % 4 === 0 ? "" : "Wer? 誰 🦊",
    golden_answers: Array.from({ length: i % 3 }, (_, k) => `a${k}`),
    ...{ outcome: "answered", verdict: "kept" },
    reward: i % 5 === 0 ? null : i / 3,
    advantage: i % 7 === 0 ? null : -0.1,
    parts: i % 2 === 0 ? { exactMatch: 1 } : { exactMatch: 0, f1: 0.25 },
    prediction: i % 2 === 0 ? null : "Ada",
    ...{ scorer: "dmi squad@1 last", tokenizer: "abc", temperature: 1 },
    tokens: mask.map(() => draw.int(150_000)),
    mask,
    logprobs: mask.map((own) => (own ? Math.fround(-draw() * 20) : 0)),
  };
}

const rows = Array.from({ length: 40 }, (_, i) => row(i, i === 0 ? 1 : draw.int(30) + 1));
const asRead = ({ parts, ...rest }: TokenRow) => ({
  ...rest,
  parts: { exactMatch: parts.exactMatch, f1: parts.f1 ?? null },
});

async function all(path: string) {
  const read = [];
  for await (const { value } of readRecords(path)) read.push(value);
  return read;
}

describe.each([
  ["arrow", arrowWriter],
  ["parquet", parquetWriter],
] as const)("token rows as %s", (ending, open) => {
  test("are read back as they were, batch by batch, in the promised order of columns", async () => {
    const path = join(folder, `rows.${ending}`);
    const writer = open(path, ["exactMatch", "f1"]);
    for (let from = 0; from < rows.length; from += 16) await writer.write(rows.slice(from, from + 16));
    await writer.finish();
    const read = await all(path);
    expect(read).toEqual(rows.map(asRead));
    expect(Object.keys(read[0]!)).toEqual(tokenColumnNames());
    const episodes = [];
    for await (const { episode } of readEpisodes(path)) episodes.push(episode);
    expect(episodes.map(({ ids }) => ids)).toEqual(
      rows.map(({ tokenizer, tokens, mask }) => ({ tokenizer, tokens, mask })),
    );
  });

  test("a writer that is given up leaves nothing", async () => {
    const path = join(folder, `given-up.${ending}`);
    const writer = open(path, ["exactMatch", "f1"]);
    await writer.write(rows.slice(0, 2));
    await writer.abort();
    await open(path, ["exactMatch"]).abort();
    expect(readdirSync(folder).filter((name) => name.includes("given-up"))).toEqual([]);
  });

  test("a damaged file is refused by name", async () => {
    const path = join(folder, `damaged.${ending}`);
    writeFileSync(path, ending === "arrow" ? "ARROW1\0\0nonsense that is no schema" : "PAR1 nonsense");
    await expect(all(path)).rejects.toThrow(DataError);
    await expect(all(path)).rejects.toThrow(/damaged/);
  });
});
