import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { fileWriter, ParquetWriter } from "hyparquet-writer";
import { makeFolder } from "../../core/files.ts";
import {
  type ColumnKind,
  type TokenRow,
  type TokenWriter,
  tokenColumnNames,
  tokenColumns,
  tokenSchemaName,
} from "./token-row.ts";

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]["schema"][number];
type Repetition = "REQUIRED" | "OPTIONAL";
type Element = (name: string, repetition_type: Repetition, parts: readonly string[]) => SchemaElement[];

const leaf =
  (rest: Partial<SchemaElement>): Element =>
  (name, repetition_type) => [{ name, repetition_type, ...rest }];

/** The three levels that the format prescribes for lists. */
const listOf =
  (rest: Partial<SchemaElement>): Element =>
  (name, repetition_type) => [
    { name, repetition_type, converted_type: "LIST", num_children: 1 },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
    { name: "element", repetition_type: "REQUIRED", ...rest },
  ];

const text = { type: "BYTE_ARRAY", converted_type: "UTF8" } as const;
const elements: Readonly<Record<ColumnKind, Element>> = {
  int32: leaf({ type: "INT32" }),
  float64: leaf({ type: "DOUBLE" }),
  string: leaf(text),
  bool: leaf({ type: "BOOLEAN" }),
  "list<string>": listOf(text),
  "list<int32>": listOf({ type: "INT32" }),
  "list<float32>": listOf({ type: "FLOAT" }),
  "struct<float64>": (name, repetition_type, parts) => [
    { name, repetition_type, num_children: parts.length },
    ...parts.map((part): SchemaElement => ({ name: part, repetition_type: "OPTIONAL", type: "DOUBLE" })),
  ],
};

/** Writes a Parquet file, a row group for each batch, under a temporary name until it is whole. */
export function parquetWriter(path: string, parts: readonly string[], credited = false): TokenWriter {
  const names = tokenColumnNames(credited);
  makeFolder(dirname(path));
  const temporary = `${path}.${process.pid}.tmp`;
  const schema: SchemaElement[] = [
    { name: "root", num_children: names.length },
    ...names.flatMap((name) => {
      const column: { kind: ColumnKind; nullable?: true } = tokenColumns[name];
      return elements[column.kind](name, column.nullable ? "OPTIONAL" : "REQUIRED", parts);
    }),
  ];
  const writer = new ParquetWriter({
    writer: fileWriter(temporary),
    schema,
    kvMetadata: [{ key: "forager", value: tokenSchemaName }],
    createdBy: "forager",
  });
  return {
    async write(rows) {
      const columnData = names.map((name) => ({
        name,
        data: rows.map((row) => valueIn(row, name, parts)),
      }));
      await writer.write({ columnData, rowGroupSize: rows.length });
    },
    async finish() {
      await writer.finish();
      renameSync(temporary, path);
    },
    async abort() {
      rmSync(temporary, { force: true });
    },
  };
}

function valueIn(row: TokenRow, name: keyof TokenRow, parts: readonly string[]): unknown {
  if (name !== "parts") return row[name];
  return Object.fromEntries(parts.map((part) => [part, row.parts[part] ?? null]));
}
