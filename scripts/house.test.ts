import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { biomeConfig, mayImport } from "./import-table.ts";

const root = packageRoot();
const folders = readdirSync(root, { withFileTypes: true })
  .filter(
    (entry) =>
      entry.isDirectory() &&
      !/^(\.|node_modules$|dist$|runs$|evals$|indexes$|data$|models$|coverage$)/.test(entry.name),
  )
  .map(({ name }) => name);
const sources = folders
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
  )
  .filter((path) => path.endsWith(".ts") && !path.includes("node_modules"));
const lines = (path: string) => readFileSync(join(root, path), "utf8").trimEnd().split("\n").length;

/** Files over 300 lines. This list may only shrink. */
const long: readonly string[] = [];

test("files stay short", () => {
  expect(sources.filter((path) => lines(path) > 300)).toEqual(long);
});

test("one training step fits one screen", () => {
  expect(lines("rl/step.ts")).toBeLessThanOrEqual(80);
});

test("no file is named for what it does not say, none is a scratch file", () => {
  expect(sources.filter((path) => /(^|\/)(utils?|common|helpers?|misc|_[^/]*)(\/|\.ts$)/.test(path))).toEqual(
    [],
  );
});

test("tests read nothing outside the repository, and code names no machine's paths", () => {
  const outside = new RegExp(["/wo", "rk/|\\.\\./sha", "red/"].join(""));
  const reading = sources.filter((path) => outside.test(readFileSync(join(root, path), "utf8")));
  expect(reading).toEqual([]);
});

describe("the import table", () => {
  test("biome.json is what scripts/write-biome.ts writes", () => {
    expect(JSON.parse(readFileSync(join(root, "biome.json"), "utf8"))).toEqual(biomeConfig());
  });

  test("every folder has its row", () => {
    const rows = [...Object.keys(mayImport), "configs", "scripts", "viewer", "bench", "docs"];
    expect(folders.filter((folder) => !rows.includes(folder))).toEqual([]);
  });

  test("has no way round: what a folder may import may not import it", () => {
    const table: Readonly<Record<string, readonly string[]>> = mayImport;
    const reach = (from: string, seen = new Set<string>()): Set<string> => {
      for (const next of table[from] ?? []) if (!seen.has(next)) reach(next, seen.add(next));
      return seen;
    };
    for (const folder of Object.keys(table)) expect(reach(folder).has(folder), folder).toBe(false);
  });

  test("lint refuses every import outside it with our own message, and no import inside it", () => {
    const folder = mkdtempSync(join(tmpdir(), "forager-lint-"));
    const names = [...Object.keys(mayImport), "configs", "scripts"];
    writeFileSync(join(folder, "biome.json"), JSON.stringify(biomeConfig()));
    for (const from of Object.keys(mayImport)) {
      mkdirSync(join(folder, from, "deep"), { recursive: true });
      for (const to of names) {
        writeFileSync(
          join(folder, from, `${to}.ts`),
          `import { x } from "../${to}/x.ts";\nconsole.log(x);\n`,
        );
        writeFileSync(
          join(folder, from, "deep", `${to}.ts`),
          `import { x } from "../../${to}/x.ts";\nconsole.log(x);\n`,
        );
      }
    }
    const { stdout } = spawnSync(
      join(root, "node_modules/.bin/biome"),
      ["lint", "--reporter=json", "--max-diagnostics=none", "--only=style/noRestrictedImports"],
      { cwd: folder, encoding: "utf8" },
    );
    const { diagnostics } = JSON.parse(stdout) as Diagnostics;
    const refused = diagnostics.map(({ location, message }) => {
      expect(message).toMatch(/^\w+\/ may import: /);
      return typeof location.path === "string" ? location.path : location.path.file;
    });
    const expected = Object.entries(mayImport).flatMap(([from, may]) =>
      names
        .filter((to) => to !== from && !(may as readonly string[]).includes(to))
        .flatMap((to) => [`${from}/${to}.ts`, `${from}/deep/${to}.ts`]),
    );
    expect(refused.sort()).toEqual(expected.sort());
    rmSync(folder, { recursive: true, force: true });
  });
});

interface Diagnostics {
  diagnostics: { message: string; location: { path: string | { file: string } } }[];
}

test("the package ships what it reads at run time", () => {
  const { files, bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    files: string[];
    bin: { forager: string };
  };
  for (const needed of ["dist", "configs", "README.md", "LICENSE", "CHANGELOG.md"]) {
    expect(files).toContain(needed);
    if (needed !== "dist") expect(existsSync(join(root, needed)), needed).toBe(true);
  }
  expect(bin.forager).toBe("dist/scripts/main.js");
});
