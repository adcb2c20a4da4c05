import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { type CsvRecord, csvField, csvTable, readCsv } from "./csv.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-csv-"));
afterAll(() => rmSync(folder, { recursive: true }));
const read = async (
  content: string | Uint8Array,
  { separator = ",", name = "t.csv" }: { separator?: "," | "\t"; name?: string } = {},
) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  const records: CsvRecord[] = [];
  for await (const record of readCsv(path, separator)) records.push(record);
  return records;
};
const fields = async (...args: Parameters<typeof read>) => (await read(...args)).map((each) => each.fields);
const failure = async (content: string | Uint8Array) =>
  String(
    await read(content).then(
      () => "it did not fail",
      (error: unknown) => error,
    ),
  ).replace(folder, "DIR");

/** Texts of the characters that matter, and of any. */
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('"', ",", "\t", "\r", "\n", "a", " ", "é", "\u{1F600}") }),
  fc.string({ unit: "grapheme" }),
);
const table = fc
  .integer({ min: 1, max: 4 })
  .chain((columns) =>
    fc.array(fc.array(text, { minLength: columns, maxLength: columns }), { minLength: 1, maxLength: 5 }),
  );

describe("laws", () => {
  test("what csvTable writes is read again, but for the apostrophe before a formula", async () => {
    const guarded = (value: string) => (/^[=+\-@\t\r]/.test(value) ? `'${value}` : value);
    await fc.assert(
      fc.asyncProperty(table, async (rows) => {
        expect(await fields(csvTable(rows))).toEqual(rows.map((cells) => cells.map(guarded)));
      }),
      { numRuns: 60 },
    );
  });

  test("any quoting, separator and line end, wherever a piece of the file ends", async () => {
    const style = fc.record({
      separator: fc.constantFrom<"," | "\t">(",", "\t"),
      end: fc.constantFrom("\r\n", "\n", "\r"),
      last: fc.boolean(),
      mark: fc.constantFrom("", "\ufeff"),
      quoteAll: fc.boolean(),
      // The first piece of a file is 64 KiB: a long first cell moves the others over its border.
      shift: fc.option(fc.integer({ min: 0, max: 40 }), { freq: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(table, style, async (rows, { separator, end, last, mark, quoteAll, shift }) => {
        const long = "x".repeat(shift === null ? 1 : 2 ** 16 - shift);
        const whole = [rows[0]?.map(() => long) ?? [], ...rows];
        const quoted = (cell: string) =>
          quoteAll || cell === "" || /["\r\n\t,\ufeff]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
        const lines = whole.map((cells) => cells.map(quoted).join(separator));
        expect(await fields(mark + lines.join(end) + (last ? end : ""), { separator })).toEqual(whole);
      }),
      { numRuns: 60 },
    );
  });
});

test("records know the line on which they begin; blank lines are passed over", async () => {
  expect(await read('a,b\r\n\r\n"x\r\ny",1\n2,"say ""hi"""\n\n')).toEqual([
    { fields: ["a", "b"], line: 1 },
    { fields: ["x\r\ny", "1"], line: 3 },
    { fields: ["2", 'say "hi"'], line: 5 },
  ]);
});

test("empty cells, quotes inside a cell, spaces, another separator and gzip", async () => {
  expect(await fields('a,,\n"",5" disk, "b" \n,')).toEqual([
    ["a", "", ""],
    ["", '5" disk', ' "b" '],
    ["", ""],
  ]);
  expect(await fields('a,b\t"c\td"\n', { separator: "\t" })).toEqual([["a,b", "c\td"]]);
  expect(await fields(gzipSync("a,b\n1,2\n"), { name: "t.csv.gz" })).toEqual([
    ["a", "b"],
    ["1", "2"],
  ]);
  expect(await fields("")).toEqual([]);
});

test("what is wrong is named with its line", async () => {
  const messages = [];
  for (const content of [
    'a,b\n"x" y,1\n',
    'a,b\n1,2\n3,"never closed\n4,5\n',
    Uint8Array.from([97, 10, 0xc3, 0xa9, 10, 0xe9, 10, 98]),
    Uint8Array.from([0xff, 0xfe, 97, 0]),
  ])
    messages.push(await failure(content));
  expect(messages).toMatchInlineSnapshot(`
    [
      "DataError: DIR/t.csv:2: text after a closing quote: expected a separator or the end of the line; a quote inside quotes is written twice, \`""\`, got  y,1. Mend this line, or leave it out.",
      "DataError: DIR/t.csv:3: a quote that is never closed: expected a closing \`"\`; a field that begins with a quote of its own is written \`"""…"\`. Mend this line, or leave it out.",
      "DataError: DIR/t.csv:3: bytes that are no UTF-8. Save the file as UTF-8.",
      "DataError: DIR/t.csv:1: bytes that are no UTF-8. Save the file as UTF-8.",
    ]
  `);
});

test("a number and nothing are written plainly; a lone empty cell is no blank line", () => {
  expect([csvField(1.5), csvField(undefined), csvField("=1+1")]).toEqual(["1.5", "", "'=1+1"]);
  expect(csvTable([["a"], [undefined], [Number.NaN]])).toBe('a\r\n""\r\n""\r\n');
});
