import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { ConfigError } from "../core/errors.ts";
import { fileMark, filePath } from "../core/path-schema.ts";
import { load } from "./load.ts";
import { at, showOrigin } from "./tree.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-include-"));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;
function file(text: string, name = `c${count++}.yaml`): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe("values in files of their own", () => {
  const item = z
    .strictObject({ name: z.string(), path: filePath().optional(), k: z.int().default(1) })
    .meta({ [fileMark]: true });
  const schema = z.strictObject({ items: z.array(item).default([]) });

  test("a text in the place of a map is the file that holds it, with its own paths, extends and origins", () => {
    mkdirSync(join(folder, "parts"), { recursive: true });
    file("path: data.jsonl\n", "parts/base.yaml");
    const part = file("extends: base.yaml\nname: a\n", "parts/a.yaml");
    const main = file("items: [parts/a.yaml, {name: b}]\n");
    const { config, files, stated } = load(main, ["items.0.k=7"], schema);
    const path = join(folder, "parts", "data.jsonl");
    expect(config.items).toEqual([
      { name: "a", path, k: 7 },
      { name: "b", k: 1 },
    ]);
    expect(files).toEqual([main, part, join(folder, "parts", "base.yaml")]);
    expect(showOrigin(at(stated, ["items", 0, "name"])!.origin)).toBe(`${part}:2`);
    expect(load(main, [`items=[${part}]`], schema).config.items).toEqual([{ name: "a", path, k: 1 }]);
  });

  test("mistakes in it point into it, and a missing one to where it is named", () => {
    const part = file("name: a\nkk: 3\n", "wrong-part.yaml");
    const where = (text: string) => {
      try {
        load(file(text), [], schema);
      } catch (error) {
        if (error instanceof ConfigError) return error.complaint;
      }
      return undefined;
    };
    expect(where(`items: [${part}]`)).toMatchObject({
      what: "unknown key `items[0].kk`",
      where: `${part}:2`,
    });
    expect(where("items:\n  - nowhere.yaml")).toMatchObject({ what: "config not found" });
    expect(where("items: [7]")).toMatchObject({ what: "`items[0]` is wrong" });
  });
});
