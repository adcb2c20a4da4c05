import { readCsv } from "../core/csv.ts";
import { DataError } from "../core/errors.ts";
import type { Json } from "./dialects.ts";

export const separators = { csv: ",", tsv: "\t" } as const;
export type SeparatedKind = keyof typeof separators;

export interface SeparatedFile {
  /** Of the header, without the unnamed ones. */
  readonly columns: readonly string[];
  /** Records by their columns, all values texts; an empty cell is no value. `line` is 1-based, the header's is 1. */
  read(): AsyncGenerator<{ readonly value: Json; readonly line: number }>;
}

/**
 * Opens comma- or tab-separated values whose first line names the columns.
 * @throws DataError naming file:line for an empty file, a header that names a column twice or is separated otherwise, and
 * while reading for a row with more or fewer fields than the header
 */
export async function openSeparated(path: string, kind: SeparatedKind): Promise<SeparatedFile> {
  const names = await headOf(path, kind);
  return {
    columns: names.filter((name) => name !== ""),
    async *read() {
      let first = true;
      for await (const { fields, line } of readCsv(path, separators[kind])) {
        if (first) {
          first = false;
          continue;
        }
        if (fields.length !== names.length) throw ragged(path, line, fields, names);
        const cells = names.flatMap((name, i) =>
          name === "" || fields[i] === "" ? [] : [[name, fields[i]]],
        );
        yield { value: Object.fromEntries(cells) as Json, line };
      }
    },
  };
}

async function headOf(path: string, kind: SeparatedKind): Promise<string[]> {
  for await (const { fields, line } of readCsv(path, separators[kind])) {
    const names = fields.map((name) => name.trim());
    const twice = names.find((name, i) => name !== "" && names.indexOf(name) < i);
    if (twice !== undefined)
      throw new DataError({
        what: "two columns have one name",
        where: `${path}:${line}`,
        got: twice,
        next: "Rename or remove one of the two.",
      });
    const other = Object.entries({ ...separators, semicolons: ";" }).find(
      ([name, separator]) => name !== kind && names[0]?.includes(separator),
    );
    if (names.length === 1 && other)
      throw new DataError({
        what: `the header has no ${words[kind]}`,
        where: `${path}:${line}`,
        got: names[0] as string,
        expected: `names of columns with ${words[kind]}s between`,
        next: other[0] in separators ? `Write \`kind: ${other[0]}\` for it.` : "Save it with commas or tabs.",
      });
    return names;
  }
  throw new DataError({
    what: "the file is empty",
    where: path,
    expected: "a header that names the columns, and a row a question",
    next: "Copy or write it again.",
  });
}

const words = { csv: "comma", tsv: "tab" } as const;

function ragged(path: string, line: number, fields: readonly string[], names: readonly string[]): DataError {
  const row = fields.join(" | ");
  const count = (n: number) => `${n} ${n === 1 ? "field" : "fields"}`;
  return new DataError({
    what: `a row of ${count(fields.length)} under a header of ${names.length}`,
    where: `${path}:${line}`,
    got: row.length > 120 ? `${row.slice(0, 117)}...` : row,
    expected: `${names.slice(0, 12).join(", ")}${names.length > 12 ? ", …" : ""}`,
    next: "Mend this line, or leave it out; a field that holds a separator or a line break stands in double quotes.",
  });
}
