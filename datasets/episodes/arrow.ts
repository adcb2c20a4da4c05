import { createWriteStream, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import {
  Bool,
  type Data,
  type DataType,
  Field,
  Float32,
  Float64,
  Int32,
  List,
  makeData,
  RecordBatch,
  RecordBatchFileWriter,
  Schema,
  Struct,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { makeFolder } from "../../core/files.ts";
import {
  type ColumnKind,
  type TokenRow,
  type TokenWriter,
  tokenColumnNames,
  tokenColumns,
  tokenSchemaName,
} from "./token-row.ts";

/** Types by kind; `parts` are the names of the run's reward parts. */
const types: Readonly<Record<ColumnKind, (parts: readonly string[]) => DataType>> = {
  int32: () => new Int32(),
  float64: () => new Float64(),
  string: () => new Utf8(),
  bool: () => new Bool(),
  "list<string>": () => new List(new Field("item", new Utf8(), true)),
  "list<int32>": () => new List(new Field("item", new Int32(), true)),
  "list<float32>": () => new List(new Field("item", new Float32(), true)),
  "struct<float64>": (parts) => new Struct(parts.map((name) => new Field(name, new Float64(), true))),
};

/** Writes an Arrow IPC file (Feather 2), under a temporary name until it is whole. */
export function arrowWriter(path: string, parts: readonly string[], credited = false): TokenWriter {
  makeFolder(dirname(path));
  const temporary = `${path}.${process.pid}.tmp`;
  const fields = tokenColumnNames(credited).map((name) => {
    const column: { kind: ColumnKind; nullable?: true } = tokenColumns[name];
    return new Field(name, types[column.kind](parts), column.nullable ?? false);
  });
  const schema = new Schema(fields, new Map([["forager", tokenSchemaName]]));
  const writer = new RecordBatchFileWriter();
  const done = pipeline(writer.toNodeStream(), createWriteStream(temporary));
  done.catch(() => {}); // it is awaited at the end
  writer.reset(undefined, schema);
  return {
    async write(rows) {
      const children = fields.map(({ name, type }) =>
        columnData(
          type,
          rows.map((row) => row[name as keyof TokenRow]),
        ),
      );
      const type = new Struct(fields);
      writer.write(new RecordBatch(schema, makeData({ type, length: rows.length, nullCount: 0, children })));
    },
    async finish() {
      writer.finish();
      await done;
      renameSync(temporary, path);
    },
    async abort() {
      writer.finish(); // the writer's own abort leaves its stream waiting
      await done.catch(() => {});
      rmSync(temporary, { force: true });
    },
  };
}

/** Lists and structs are put together here: a builder would go through them value by value. */
function columnData(type: DataType, values: readonly unknown[]): Data {
  if (type instanceof Struct) {
    const children = (type.children as Field[]).map(({ name }) =>
      columnData(
        new Float64(),
        values.map((value) => (value as Readonly<Record<string, number>>)[name] ?? null),
      ),
    );
    return makeData({ type, length: values.length, nullCount: 0, children });
  }
  if (!(type instanceof List)) return vectorFromArray(values as unknown[], type).data[0]!;
  const lists = values as readonly (readonly unknown[])[];
  const valueOffsets = new Int32Array(lists.length + 1);
  lists.forEach((list, i) => {
    valueOffsets[i + 1] = valueOffsets[i]! + list.length;
  });
  const child = listValues(type.children[0]!.type as DataType, lists, valueOffsets.at(-1)!);
  return makeData({ type, length: lists.length, nullCount: 0, valueOffsets, child });
}

function listValues(type: DataType, lists: readonly (readonly unknown[])[], length: number): Data {
  if (type instanceof Utf8)
    return length === 0
      ? makeData({ type, length: 0, nullCount: 0, valueOffsets: new Int32Array(1), data: new Uint8Array() })
      : vectorFromArray(lists.flat() as string[], type).data[0]!;
  const data = type instanceof Float32 ? new Float32Array(length) : new Int32Array(length);
  let at = 0;
  for (const list of lists) {
    data.set(list as readonly number[], at);
    at += list.length;
  }
  return type instanceof Float32
    ? makeData({ type, length, nullCount: 0, data: data as Float32Array })
    : makeData({ type: type as Int32, length, nullCount: 0, data: data as Int32Array });
}
