import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DataError } from "../core/errors.ts";
import { unpackWheel } from "./wheel.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-wheel-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A ZIP archive written by hand: local headers, data, central directory, end record. */
function zip(files: Record<string, { text: string; deflated: boolean }>): string {
  const parts: Buffer[] = [];
  const table: Buffer[] = [];
  let offset = 0;
  for (const [name, { text, deflated }] of Object.entries(files)) {
    const raw = Buffer.from(text);
    const data = deflated ? deflateRawSync(raw) : raw;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(name.length, 26);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(deflated ? 8 : 0, 10);
    central.writeUInt32LE(data.length, 20);
    central.writeUInt32LE(raw.length, 24);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt32LE(offset, 42);
    parts.push(local, Buffer.from(name), data);
    table.push(central, Buffer.from(name));
    offset += 30 + name.length + data.length;
  }
  const directory = Buffer.concat(table);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  const path = join(folder, "x.whl");
  writeFileSync(path, Buffer.concat([...parts, directory, end]));
  return path;
}

test("unpacks what is asked for, stored or deflated, under another name", async () => {
  const path = zip({
    "a/one.txt": { text: "one".repeat(1000), deflated: true },
    "a/two.txt": { text: "two", deflated: false },
    "a/empty": { text: "", deflated: false },
    "b/three.txt": { text: "three", deflated: true },
  });
  const out = join(folder, "out");
  const names = await unpackWheel(path, out, (name) => (name.startsWith("a/") ? name.slice(2) : undefined));
  expect(names).toEqual(["a/one.txt", "a/two.txt", "a/empty"]);
  expect(readdirSync(out).sort()).toEqual(["empty", "one.txt", "two.txt"]);
  expect(readFileSync(join(out, "one.txt"), "utf8")).toBe("one".repeat(1000));
  expect(readFileSync(join(out, "two.txt"), "utf8")).toBe("two");
});

test("refuses entries that leave the folder, and files that are no archive", async () => {
  const path = zip({ "x.txt": { text: "x", deflated: false } });
  await expect(unpackWheel(path, join(folder, "out"), () => "../x.txt")).rejects.toThrow(/leaves the folder/);
  const whole = readFileSync(path);
  for (const length of [0, 10, whole.length - 23, whole.length - 1]) {
    writeFileSync(path, whole.subarray(0, length));
    await expect(
      unpackWheel(path, join(folder, "out"), (name) => name),
      `cut at ${length}`,
    ).rejects.toThrow(DataError);
  }
});
