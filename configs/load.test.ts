import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { ConfigError } from "../core/errors.ts";
import { filePath } from "../core/path-schema.ts";
import { load } from "./load.ts";
import { printConfig } from "./print.ts";
import { at, showOrigin } from "./tree.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const toy = z.strictObject({
  run: z
    .strictObject({ name: z.string().min(1).default("toy"), seed: z.number().int().default(0) })
    .prefault({}),
  rl: z
    .strictObject({
      groupSize: z.number().int().min(2).default(8),
      learningRate: z.number().positive().default(1e-6),
      steps: z.array(z.number().int()).default([]),
      filter: z.enum(["reward", "exactMatch", "none"]).default("reward"),
      dual: z.number().nullable().default(null),
      useKl: z.boolean().default(false),
    })
    .prefault({}),
  data: z
    .discriminatedUnion("kind", [
      z.strictObject({ kind: z.literal("file"), train: filePath(), limit: z.number().optional() }),
      z.strictObject({ kind: z.literal("world"), entities: z.number().int().positive() }),
    ])
    .default({ kind: "world", entities: 10 }),
  index: z.union([z.literal("memory"), filePath()]).default("memory"),
  weights: z.record(z.string(), z.number()).default({}),
});

let count = 0;
function file(text: string, name = `c${count++}.yaml`): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
const loaded = (text: string, overrides: string[] = []) => load(file(text), overrides, toy);
function complaint(text: string, overrides: string[] = []) {
  try {
    loaded(text, overrides);
  } catch (error) {
    if (error instanceof ConfigError) return error.complaint;
    throw error;
  }
  throw new Error("no error");
}

describe("values", () => {
  test("an empty file is all defaults", () => {
    expect(loaded("").config.rl.groupSize).toBe(8);
    expect(loaded("# nothing\n").config.run).toEqual({ name: "toy", seed: 0 });
  });

  test.each([
    ["1e-6", 1e-6],
    ["1E-6", 1e-6],
    ["1.0e-6", 1e-6],
    ["5e+2", 500],
    [".5", 0.5],
    ["0x10", 16],
  ])("%s is a number", (text, value) => {
    expect(loaded(`rl: {learningRate: ${text}}`).config.rl.learningRate).toBe(value);
    expect(loaded("", [`rl.learningRate=${text}`]).config.rl.learningRate).toBe(value);
  });

  test("null survives file and override", () => {
    expect(loaded("rl: {dual: 3}", ["rl.dual=null"]).config.rl.dual).toBeNull();
    expect(loaded("rl: {dual: null}").config.rl.dual).toBeNull();
  });

  test("anchors are fine", () => {
    expect(loaded("weights: {a: &one 1, b: *one}").config.weights).toEqual({ a: 1, b: 1 });
  });
});

describe("extends", () => {
  test("maps merge deeply, lists are replaced, the file wins over its bases, later bases over earlier", () => {
    file("rl: {groupSize: 4, steps: [1, 2], learningRate: 0.5}\nweights: {a: 1}", "base.yaml");
    file("rl: {learningRate: 0.25}\nweights: {b: 2}", "more.yaml");
    const { config, stated, files } = loaded("extends: [base.yaml, more.yaml]\nrl:\n  steps: [9]\n");
    expect(config.rl).toMatchObject({ groupSize: 4, steps: [9], learningRate: 0.25 });
    expect(config.weights).toEqual({ a: 1, b: 2 });
    expect(files).toHaveLength(3);
    expect(showOrigin(at(stated, ["rl", "groupSize"])!.origin)).toMatch(/base\.yaml:1$/);
    expect(showOrigin(at(stated, ["rl", "steps"])!.origin)).toMatch(/:3$/);
  });

  test("a circle is an error that shows it", () => {
    file("extends: b.yaml", "a.yaml");
    const path = file("extends: a.yaml", "b.yaml");
    expect(() => load(path, [], toy)).toThrow(/circle.*b\.yaml → .*a\.yaml → .*b\.yaml/);
  });

  test("two files may share a base", () => {
    file("rl: {groupSize: 4}", "root.yaml");
    file("extends: root.yaml", "left.yaml");
    file("extends: root.yaml", "right.yaml");
    expect(loaded("extends: [left.yaml, right.yaml]").config.rl.groupSize).toBe(4);
  });

  test("a missing base names the line and the nearest file", () => {
    file("", "present.yaml");
    expect(complaint("run: {}\nextends: presnt.yaml")).toMatchObject({
      what: "config not found",
      where: expect.stringMatching(/\.yaml:2: .*presnt\.yaml$/),
      next: "Did you mean `present.yaml`?",
    });
  });
});

describe("paths", () => {
  test("a path is relative to the file that states it, an override's to the working directory", () => {
    const text = "data: {kind: file, train: questions.jsonl}\nindex: indexes/wiki";
    expect(loaded(text).config).toMatchObject({
      data: { train: join(folder, "questions.jsonl") },
      index: join(folder, "indexes/wiki"),
    });
    expect(loaded(text, ["index=here"]).config.index).toBe(join(process.cwd(), "here"));
  });

  test("fixed words and URLs are left alone", () => {
    expect(loaded("index: memory").config.index).toBe("memory");
    expect(loaded("index: http://localhost:8000").config.index).toBe("http://localhost:8000");
  });
});

describe("overrides", () => {
  test("reach into sections that the file does not have, and into lists", () => {
    expect(loaded("", ["rl.groupSize=16"]).config.rl.groupSize).toBe(16);
    expect(loaded("rl: {steps: [1, 2]}", ["rl.steps.1=5"]).config.rl.steps).toEqual([1, 5]);
    expect(loaded("rl: {steps: [1, 2]}", ["rl.steps=[7]"]).config.rl.steps).toEqual([7]);
  });

  test.each([
    [
      "rl.gropSize=4",
      {
        what: "unknown key `rl.gropSize`",
        where: "override `rl.gropSize=4`",
        next: "Did you mean `groupSize`?",
      },
    ],
    ["groupSize=4", { what: "unknown key `groupSize`", next: "Did you mean `rl.groupSize`?" }],
    ["rl.groupSize", { what: "not an override" }],
    ["=4", { what: "not an override" }],
    ["rl..x=4", { what: "not an override" }],
    ["rl.groupSize.deep=4", { what: "`rl.groupSize` is wrong" }],
    ["rl.groupSize=[", { what: "not valid YAML" }],
    ["rl.steps.7=1", { what: "no item `7` in the list `rl.steps`" }],
    ["extends=x.yaml", { what: "`extends` cannot be an override" }],
  ])("%s is an error", (override, expected) => {
    expect(complaint("rl: {steps: [1]}", [override])).toMatchObject(expected);
  });
});

describe("errors say file:line, what was expected, what came, and what to do", () => {
  test.each([
    [
      "rl:\n  gropSize: 4",
      { what: "unknown key `rl.gropSize`", where: /:2$/, next: "Did you mean `groupSize`?" },
    ],
    ["rl:\n  group_size: 4", { next: "Did you mean `groupSize`?" }],
    [
      "rl:\n\n  groupSize: 1",
      { what: "`rl.groupSize` is wrong", where: /:3$/, expected: "at least 2", got: "1" },
    ],
    ["rl: {groupSize: 2.5}", { expected: "an integer", got: "2.5" }],
    [
      'rl: {learningRate: "1e-6"}',
      { expected: "a number", got: 'the text "1e-6"', next: "Remove the quotes." },
    ],
    ["rl: {learningRate: 0}", { expected: "more than 0" }],
    ["rl: {useKl: yes}", { expected: "true or false", next: "YAML 1.2 writes true and false." }],
    [
      "rl: {filter: exactmatch}",
      { expected: 'one of "reward", "exactMatch", "none"', next: 'Did you mean "exactMatch"?' },
    ],
    ["rl: {learningRate: .nan}", { what: "a number that is not finite" }],
    ["rl: {learningRate: -.inf}", { what: "a number that is not finite" }],
    ["run: {seed: 12345678901234567890}", { what: "an integer too large to be exact" }],
    ["rl:", { expected: "a map", got: "null", next: "Remove the key to take the default." }],
    ["rl: {groupSize: 4}\nrl: {}", { what: "not valid YAML", got: "Map keys must be unique", where: /:2$/ }],
    ["a: 1\n---\nb: 2", { what: "not valid YAML", next: /one document/ }],
    ["- 1", { what: "a config is a map of sections" }],
    ["just text", { what: "a config is a map of sections" }],
    ["rl: !!js/function x", { what: "not valid YAML" }],
    ["rl:\n  <<: {groupSize: 4}", { what: /merge keys/, where: /:2$/ }],
    ["__proto__: {polluted: 1}", { what: "a key that is not a plain string" }],
    ["? [a]\n: 1", { what: "a key that is not a plain string" }],
    ["rl: &a {x: *a}", { what: /points to itself/ }],
    ["data: {kind: fiel}", { expected: 'one of "file", "world"', next: 'Did you mean "file"?' }],
    ["data: {kind: file}", { what: "`data.train` is missing", next: "Add `data.train`." }],
    [
      "data: {kind: world, entities: 3, limit: 1}",
      { what: "unknown key `data.limit`", expected: "one of kind, entities" },
    ],
    ["index: 3", { what: "`index` is wrong", got: "3" }],
    ["weights: {a: b}", { what: "`weights.a` is wrong", expected: "a number" }],
    ["\trl: 1", { what: "not valid YAML" }],
    ["extends: 3", { what: "`extends` is wrong" }],
  ])("%j", (text, expected) => {
    const got = complaint(text) as unknown as Record<string, string>;
    for (const [key, value] of Object.entries(expected))
      if (value instanceof RegExp) expect(got[key]).toMatch(value);
      else expect(got[key]).toBe(value);
  });

  test("several mistakes: the first in full, the others named with their lines", () => {
    const { what, next } = complaint("rl:\n  groupSize: 1\n  lerningRate: 3\n");
    expect(what).toBe("unknown key `rl.lerningRate`");
    expect(next).toMatch(/Did you mean `learningRate`\? Also: .*:2: `rl\.groupSize` is wrong\./);
  });

  test("missing, a folder, not UTF-8, too deep, too many values", () => {
    expect(() => load(join(folder, "none-at-all.yaml"), [], toy)).toThrow(/config not found/);
    expect(() => load(folder, [], toy)).toThrow(/not a file/);
    const binary = join(folder, "binary.yaml");
    writeFileSync(binary, Buffer.from([0x61, 0x3a, 0x20, 0xff, 0xfe]));
    expect(() => load(binary, [], toy)).toThrow(/not UTF-8/);
    expect(() => loaded("[".repeat(50_000))).toThrow(ConfigError);
    const lines = Array.from({ length: 9 }, (_, i) => `x${i + 1}: &x${i + 1} [${`*x${i},`.repeat(9)}]`);
    expect(() => loaded(`x0: &x0 [1]\n${lines.join("\n")}`)).toThrow(/too large/);
  });
});

describe("printing", () => {
  test("what is printed loads back to the same config, with origins as comments", () => {
    const { config, stated } = loaded("rl:\n  groupSize: 4\n  steps: [1, 2]\nindex: idx", [
      "run.name='a: #b'",
    ]);
    const text = printConfig(config, stated);
    expect(text).toMatch(/groupSize: 4 # .*:2\n/);
    expect(text).toMatch(/name: .* # override\n/);
    expect(text).toMatch(/seed: 0 # default\n/);
    expect(load(file(text), [], toy).config).toEqual(config);
  });

  test("law: any config survives printing and loading", () => {
    const anyConfig = fc.record({
      run: fc.record({ name: fc.string({ minLength: 1, unit: "grapheme" }), seed: fc.maxSafeInteger() }),
      rl: fc.record({
        learningRate: fc.double({ min: 1e-12, max: 1, noNaN: true }),
        steps: fc.array(fc.maxSafeInteger()),
      }),
      weights: fc.dictionary(
        fc.string().filter((key) => key !== "__proto__" && key !== "<<"),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
      ),
    });
    fc.assert(
      fc.property(anyConfig, (raw) => {
        const config = toy.parse(raw);
        const again = load(file(printConfig(config), "law.yaml"), [], toy).config;
        expect(again).toEqual(config);
      }),
      { numRuns: 100 },
    );
  });
});

test("a shipped config goes by its bare name, and a near miss is told", () => {
  const any = z.looseObject({});
  expect(load("tiny", [], any).files[0]).toMatch(/configs.tiny\.yaml$/);
  expect(() => load("quickstrat", [], any)).toThrow(/Did you mean `quickstart`/);
  expect(() => load("zzzzzzzz", [], any)).toThrow(/shipped ones are .*quickstart/);
});
