import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, describe, expect, it } from "vitest";
import { arrayElements } from "./json-array.ts";
import { openRows } from "./row-file.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-rows-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const write = (content: string | Uint8Array, name: string): string => {
  const path = join(folder, `${files++}-${name}`);
  writeFileSync(path, content);
  return path;
};
const rows = async (path: string, wanted = ["id", "question", "n", "tags"]) => {
  const file = await openRows(path);
  const found = [];
  for await (const row of file.read(wanted)) found.push(row);
  return found;
};
const values = async (path: string) => (await rows(path)).map(({ value }) => value);
const failure = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => new Error("it did not fail"),
    (cause: unknown) => cause,
  );
  return String(error).replaceAll(/\S*forager-rows-\w+\/\d+-/g, "");
};

const two = [
  { id: "a", question: 'brackets ] } , and "quotes\\"', tags: [["x"], { y: "é\u2028" }] },
  { id: "b", question: "Q?" },
];

describe("JSON", () => {
  it.each<[string, string | Uint8Array, string]>([
    ["lines", two.map((row) => `${JSON.stringify(row)}\n`).join(""), "q.jsonl"],
    ["lines in a .json", two.map((row) => JSON.stringify(row)).join("\n"), "q.json"],
    ["an array", JSON.stringify(two), "q.json"],
    ["an indented array after a byte order mark", `\ufeff\n${JSON.stringify(two, null, 2)}\n`, "q.json"],
    ["a gzipped array", gzipSync(JSON.stringify(two)), "q.json.gz"],
    [
      "TriviaQA's wrapping",
      JSON.stringify({ Version: 1.5, Domain: "wé", Data: two, Split: "dev" }),
      "q.json",
    ],
  ])("reads %s", async (_, content, name) => {
    expect(await values(write(content, name))).toEqual(two);
  });

  it("names the place of each record", async () => {
    const places = async (path: string) =>
      (await rows(path)).map(({ where }) => where.replace(/.*\/\d+-/, ""));
    expect(await places(write(JSON.stringify(two), "q.json"))).toEqual([
      "q.json: record 1",
      "q.json: record 2",
    ]);
    expect(await places(write('{"id":1}\n\n{"id":2}', "q.jsonl"))).toEqual(["q.jsonl:1", "q.jsonl:3"]);
  });

  it("explains what is wrong", async () => {
    const messages = [];
    for (const text of ['[{"id": 1}, {"id": 2', '[{"id": 1}, {id: 2}]', '[{"id": 1}, 7]', "[{},,{}]"])
      messages.push(await failure(rows(write(text, "q.json"))));
    messages.push(await failure(openRows(write("[]", "q.json"), "parquet")));
    messages.push(await failure(openRows(join(folder, "0-nowhere.json"))));
    messages.push(await failure(openRows(folder)).then((text) => text.replace(folder, "FOLDER")));
    expect(messages).toMatchInlineSnapshot(`
      [
        "DataError: q.json: the file ends inside its JSON array: expected a closing \`]\`. Is it whole? Copy or write it again.",
        "DataError: q.json: record 2: malformed JSON: expected a JSON object, got {id: 2}. Mend this record, or leave it out.",
        "DataError: q.json: record 2: this record is no object: expected a JSON object, got 7. Mend this record, or leave it out.",
        "DataError: q.json: record 2: malformed JSON: expected a JSON object. Mend this record, or leave it out.",
        "DataError: q.json: this is no Parquet file. Write \`kind: jsonl\` for it.",
        "DataError: nowhere.json: file not found. Check the path: in a YAML file it is relative to that file, elsewhere to the working directory.",
        "DataError: FOLDER: cannot read the file: got EISDIR: illegal operation on a directory, read.",
      ]
    `);
    expect(await values(write("[]", "q.json"))).toEqual([]);
  });

  it("splits any array where JSON.parse would, wherever the chunks end", async () => {
    // A chunk of a file stream is 64 KiB: the text before the array moves its parts over the border.
    const property = fc.asyncProperty(
      fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 5 }),
      fc.integer({ min: 0, max: 60 }),
      async (array, shift) => {
        const before = " ".repeat(2 ** 16 - shift);
        const path = write(before + JSON.stringify(array), "any.json");
        const found: unknown[] = [];
        for await (const text of arrayElements(path)) found.push(JSON.parse(text));
        expect(found).toEqual(JSON.parse(JSON.stringify(array)));
      },
    );
    await fc.assert(property, { numRuns: 40 });
  });
});

describe("Parquet", () => {
  const columns = (n: number) => [
    { name: "id", data: Array.from({ length: n }, (_, i) => `q${i}`), type: "STRING" as const },
    { name: "n", data: Array.from({ length: n }, (_, i) => BigInt(i)), type: "INT64" as const },
    { name: "unread", data: Array.from({ length: n }, () => "x"), type: "STRING" as const },
  ];
  const parquet = (o: Parameters<typeof parquetWriteBuffer>[0]) => new Uint8Array(parquetWriteBuffer(o));

  it("reads row groups one after the other, only the wanted columns, integers as numbers", async () => {
    const path = write(parquet({ columnData: columns(7), rowGroupSize: 3 }), "q.parquet");
    const found = await rows(path);
    expect(found.map(({ value }) => value)).toEqual(
      Array.from({ length: 7 }, (_, n) => ({ id: `q${n}`, n })),
    );
    expect(found[6]?.where.replace(/.*\/\d+-/, "")).toBe("q.parquet: row 7");
    expect((await openRows(path)).columns).toEqual(["id", "n", "unread"]);
  });

  it("keeps integers that no number holds as texts, and nulls as nulls", async () => {
    const data = [2n ** 60n + 1n, null];
    const path = write(parquet({ columnData: [{ name: "n", data, type: "INT64" }] }), "q.parquet");
    expect(await values(path)).toEqual([{ n: "1152921504606846977" }, { n: null }]);
  });

  it("reads gzip's compression, and names one that it does not read", async () => {
    const compress = (codec: "GZIP" | "ZSTD") =>
      parquet({
        columnData: columns(2),
        codec,
        compressors: { [codec]: (bytes: Uint8Array) => gzipSync(bytes) },
      });
    expect(await values(write(compress("GZIP"), "q.parquet"))).toHaveLength(2);
    expect(await failure(rows(write(compress("ZSTD"), "q.parquet")))).toMatchInlineSnapshot(
      `"DataError: q.parquet: the Parquet file is compressed in a way that is not read here: expected UNCOMPRESSED, SNAPPY, GZIP, BROTLI, got ZSTD in column id. Write it again with compression="snappy"."`,
    );
  });

  it("explains a file that is cut off, damaged, empty, or of the other kind", async () => {
    const whole = parquet({ columnData: columns(2) });
    const damaged = Uint8Array.from(whole);
    damaged.fill(255, 4, 40);
    const path = write(whole, "q.parquet");
    const messages = [
      await failure(rows(write(whole.slice(0, -9), "cut.parquet"))),
      await failure(rows(write(damaged, "damaged.parquet"))),
      await failure(openRows(write("", "empty.parquet"), "parquet")),
      await failure(openRows(path, "jsonl")),
    ];
    expect(messages).toMatchInlineSnapshot(`
      [
        "DataError: cut.parquet: cannot read the Parquet file: got parquet file invalid (footer != PAR1). Is it whole? Copy or write it again.",
        "DataError: damaged.parquet: cannot read the Parquet file: got thrift unhandled type: 15. Is it whole? Copy or write it again.",
        "DataError: empty.parquet: the file is empty. Copy or write it again.",
        "DataError: q.parquet: this is a Parquet file. Write \`kind: parquet\` for it.",
      ]
    `);
    expect(readFileSync(path).equals(whole)).toBe(true);
  });
});
