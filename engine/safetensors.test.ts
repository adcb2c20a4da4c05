import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CheckpointError } from "../core/errors.ts";
import type { Arr, Params } from "./array.ts";
import { fromBfloat16, fromFloat16, toBfloat16 } from "./half.ts";
import { openSafetensors, readSafetensors, writeSafetensors } from "./safetensors.ts";
import { sizeOf } from "./shapes.ts";
import { arr } from "./testing.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-safetensors-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const params: Params = {
  "model.b.weight": arr([3, 2], (i) => i / 3),
  "model.a.weight": arr([4], (i) => i - 2, "int32"),
  scalar: arr([], () => 7),
  empty: arr([0, 3], () => 0),
  flags: arr([3], (i) => i % 2, "bool"),
};

/** A file with this header text and these bytes, as another program might write it. */
function file(header: unknown, bytes: Uint8Array, name = "x.safetensors"): string {
  const json = Buffer.from(typeof header === "string" ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const path = join(folder, name);
  writeFileSync(path, Buffer.concat([length, json, bytes]));
  return path;
}
const bytesOf = (x: ArrayBufferView): Uint8Array => new Uint8Array(x.buffer, x.byteOffset, x.byteLength);
const one = (dtype: string, shape: number[], bytes: Uint8Array) =>
  file({ w: { dtype, shape, data_offsets: [0, bytes.length] } }, bytes);

describe("reading and writing", () => {
  test("gives back what was written", () => {
    const path = join(folder, "deep", "model.safetensors");
    writeSafetensors(path, params, { format: "pt", step: "3" });
    expect(readSafetensors(path)).toEqual(params);
    const tensors = openSafetensors(path);
    expect(tensors.metadata).toEqual({ format: "pt", step: "3" });
    expect(tensors.shape("model.b.weight")).toEqual([3, 2]);
    expect(tensors.names).toEqual(["empty", "flags", "model.a.weight", "model.b.weight", "scalar"]);
    tensors.close();
    expect(readdirSync(join(folder, "deep"))).toEqual(["model.safetensors"]);
  });

  test("any tensors come back bit for bit, and their order does not change the file", () => {
    const leaf = fc
      .array(fc.nat(4), { maxLength: 3 })
      .chain((shape) =>
        fc
          .float32Array({ minLength: sizeOf(shape), maxLength: sizeOf(shape) })
          .map((data): Arr => ({ shape, dtype: "float32", data })),
      );
    const name = fc.string({ minLength: 1 }).filter((s) => s !== "__metadata__" && s !== "__proto__");
    fc.assert(
      fc.property(fc.dictionary(name, leaf, { noNullPrototype: true }), (tree) => {
        const path = join(folder, "a.safetensors");
        writeSafetensors(path, tree);
        const back = readSafetensors(path);
        expect(Object.keys(back).sort()).toEqual(Object.keys(tree).sort());
        for (const [key, { data, shape }] of Object.entries(tree)) {
          expect(back[key]?.shape).toEqual(shape);
          expect(bytesOf(back[key]?.data as Float32Array)).toEqual(bytesOf(data));
        }
        const before = readFileSync(path);
        writeSafetensors(path, Object.fromEntries(Object.entries(tree).reverse()));
        expect(readFileSync(path).equals(before)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test("numbers start at a multiple of 8, as other readers expect", () => {
    const path = join(folder, "a.safetensors");
    writeSafetensors(path, { w: arr([1], () => 1) });
    expect(Number(readFileSync(path).readBigUInt64LE()) % 8).toBe(0);
  });

  test("other dtypes become float32, int32 or bool", () => {
    expect(readSafetensors(one("F64", [2], bytesOf(Float64Array.of(0.1, -3)))).w).toEqual(
      arr([2], (i) => [0.1, -3][i] as number),
    );
    expect(readSafetensors(one("I64", [2], bytesOf(BigInt64Array.of(5n, -7n)))).w).toEqual(
      arr([2], (i) => [5, -7][i] as number, "int32"),
    );
    expect(() => readSafetensors(one("I64", [1], bytesOf(BigInt64Array.of(2n ** 31n))))).toThrow(
      /too big for int32: got 2147483648/,
    );
    expect(readSafetensors(one("F16", [3], bytesOf(Uint16Array.of(0x3c00, 0x0001, 0xfbff)))).w?.data).toEqual(
      Float32Array.of(1, 2 ** -24, -65504),
    );
    expect(
      readSafetensors(one("BF16", [3], bytesOf(Uint16Array.of(0x3f80, 0xc000, 0x0001)))).w?.data,
    ).toEqual(Float32Array.of(1, -2, 2 ** -133));
    expect(() => readSafetensors(one("F8_E4M3", [1], Uint8Array.of(1)))).toThrow(
      /dtype we do not read.*got F8_E4M3/,
    );
  });

  test("BF16 on request", () => {
    const path = join(folder, "a.safetensors");
    writeSafetensors(path, { w: arr([3], (i) => [1, 1 / 3, -2.5][i] as number) }, {}, { floats: "BF16" });
    expect(readSafetensors(path).w?.data).toEqual(Float32Array.of(1, 0.333984375, -2.5));
  });

  test("past 4 GB: only the asked range is read", () => {
    const big = 4.5 * 2 ** 30;
    const header = {
      hole: { dtype: "BOOL", shape: [big], data_offsets: [0, big] },
      w: { dtype: "F32", shape: [2], data_offsets: [big, big + 8] },
    };
    const path = file(header, new Uint8Array(0));
    const start = readFileSync(path).length;
    const fd = openSync(path, "r+");
    writeSync(fd, bytesOf(Float32Array.of(1.5, -2)), 0, 8, start + big);
    closeSync(fd);
    const tensors = openSafetensors(path);
    expect(tensors.read("w").data).toEqual(Float32Array.of(1.5, -2));
    tensors.close();
  });
});

describe("16-bit floats", () => {
  const special = [0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
  test("special values survive bfloat16 and binary16", () => {
    const back = new Float32Array(5);
    fromBfloat16(toBfloat16(Float32Array.from(special)), back);
    expect([...back]).toEqual(special);
    fromFloat16(Uint16Array.of(0, 0x8000, 0x7c00, 0xfc00, 0x7e00), back);
    expect([...back]).toEqual(special);
  });

  test("every bfloat16 comes back as itself; rounding is to the nearest, ties to even", () => {
    const all = Uint16Array.from({ length: 65_536 }, (_, i) => i);
    const floats = new Float32Array(all.length);
    fromBfloat16(all, floats);
    const again = toBfloat16(floats);
    all.forEach((bits, i) => {
      if (!Number.isNaN(floats[i])) expect(again[i]).toBe(bits);
    });
    // 1 + 2⁻⁸ lies between 1 and 1 + 2⁻⁷, 1 + 3·2⁻⁸ between 1 + 2⁻⁷ and 1 + 2⁻⁶: both go to the even one.
    expect([...toBfloat16(Float32Array.of(1 + 2 ** -8, 1 + 3 * 2 ** -8))]).toEqual([0x3f80, 0x3f82]);
    expect(toBfloat16(Float32Array.of(3.4e38))[0]).toBe(0x7f80);
  });
});

describe("folders", () => {
  const shard = (name: string, tree: Params) => writeSafetensors(join(folder, name), tree);
  const index = (map: unknown) =>
    writeFileSync(join(folder, "model.safetensors.index.json"), JSON.stringify({ weight_map: map }));

  test("one file", () => {
    shard("model.safetensors", params);
    expect(readSafetensors(folder)).toEqual(params);
  });

  test("shards through the index", () => {
    shard("model-1.safetensors", { a: arr([1], () => 1) });
    shard("model-2.safetensors", { b: arr([2], () => 2) });
    index({ b: "model-2.safetensors", a: "model-1.safetensors" });
    const tensors = openSafetensors(folder);
    expect(tensors.names).toEqual(["a", "b"]);
    expect(tensors.read("b").data).toEqual(Float32Array.of(2, 2));
    expect(() => tensors.read("c")).toThrow(/no tensor c/);
    tensors.close();
  });

  test.each([
    ["a shard that is not there", { a: "model-9.safetensors" }, /cannot be opened: got ENOENT/],
    [
      "a tensor that its shard lacks",
      { z: "model-1.safetensors" },
      /z is not in the shard that the index names/,
    ],
    ["a shard outside the folder", { a: "../model-1.safetensors" }, /shard index is malformed/],
    ["an empty index", {}, /shard index is malformed/],
    ["no map", 3, /shard index is malformed/],
  ])("%s", (_, map, message) => {
    shard("model-1.safetensors", { a: arr([1], () => 1) });
    index(map);
    expect(() => openSafetensors(folder)).toThrow(message);
    expect(() => openSafetensors(folder)).toThrow(CheckpointError);
  });

  test("a tensor in two shards, an index that is not JSON, an empty folder, no folder", () => {
    shard("model-1.safetensors", { a: arr([1], () => 1), b: arr([1], () => 1) });
    shard("model-2.safetensors", { a: arr([1], () => 1) });
    index({ a: "model-1.safetensors", b: "model-2.safetensors" });
    expect(() => openSafetensors(folder)).toThrow(/a is in two shards/);
    writeFileSync(join(folder, "model.safetensors.index.json"), "{");
    expect(() => openSafetensors(folder)).toThrow(/index is not JSON/);
    mkdirSync(join(folder, "empty"));
    expect(() => openSafetensors(join(folder, "empty"))).toThrow(/has no weights/);
    expect(() => openSafetensors(join(folder, "nowhere"))).toThrow(/no such file or folder/);
  });
});

describe("damage", () => {
  test("a file cut anywhere is refused with its path and what was expected", () => {
    const path = join(folder, "a.safetensors");
    writeSafetensors(path, params);
    const whole = readFileSync(path);
    for (let length = 0; length < whole.length; length++) {
      writeFileSync(path, whole);
      truncateSync(path, length);
      expect(() => openSafetensors(path), `cut at ${length}`).toThrow(CheckpointError);
      expect(() => openSafetensors(path)).toThrow(path);
    }
  });

  const w = { dtype: "F32", shape: [2], data_offsets: [0, 8] };
  const four = new Uint8Array(8);
  test.each<[string, unknown, Uint8Array, RegExp]>([
    ["bytes left over", { w }, new Uint8Array(9), /bytes are left over/],
    ["a header that is not JSON", "{not json}", four, /header is not JSON/],
    ["a header that is a list", "[]", four, /header is not an object/],
    ["an entry that is null", { w: null }, four, /entry of w is malformed/],
    [
      "an entry without a shape",
      { w: { dtype: "F32", data_offsets: [0, 8] } },
      four,
      /entry of w is malformed/,
    ],
    ["a negative length", { w: { ...w, shape: [-2] } }, four, /entry of w is malformed/],
    [
      "a range that is too short",
      { w: { ...w, shape: [3] } },
      four,
      /byte range of w does not fit.*12 bytes for F32 \[3\]/,
    ],
    [
      "a range that runs backwards",
      { w: { ...w, shape: [0], data_offsets: [8, 0] } },
      four,
      /byte range of w/,
    ],
    ["an overlap", { a: w, b: w }, four, /overlap or leave a gap/],
    ["a gap", { w: { ...w, data_offsets: [4, 12] } }, new Uint8Array(12), /overlap or leave a gap/],
    ["metadata of numbers", { __metadata__: { a: 1 }, w }, four, /__metadata__ is malformed/],
  ])("%s", (_, header, bytes, message) => {
    expect(() => openSafetensors(file(header, bytes))).toThrow(message);
  });

  test("an absurd header length", () => {
    const path = join(folder, "a.safetensors");
    writeFileSync(path, Buffer.alloc(16, 0xff));
    expect(() => openSafetensors(path)).toThrow(/header is cut short/);
  });

  test("a folder that cannot be written: an error, and nothing left", () => {
    writeFileSync(join(folder, "file"), "");
    expect(() => writeSafetensors(join(folder, "file", "a.safetensors"), params)).toThrow(
      /cannot be written.*got E(NOTDIR|EXIST)/,
    );
    const bad = { shape: [3], dtype: "float32", data: Float32Array.of(1) } as const;
    expect(() => writeSafetensors(join(folder, "b.safetensors"), { bad })).toThrow(/bad cannot be stored/);
    expect(readdirSync(folder)).toEqual(["file"]);
  });
});
