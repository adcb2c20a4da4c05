import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { packageRoot } from "../core/package-root.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 }); // npm, tar and tsc, on a machine that may be busy
const root = packageRoot();
const tsc = join(root, "node_modules/typescript/bin/tsc");
const app = mkdtempSync(join(tmpdir(), "forager-app-"));
const modules = join(app, "node_modules");
const installed = join(modules, "forager");
afterAll(() => rmSync(app, { recursive: true, force: true }));

function sh(command: string, args: readonly string[], cwd: string) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  return { status, said: stdout + stderr, stdout, stderr };
}

/**
 * What `npm install forager.tgz` does, without a registry: build, pack, unpack, link the declared dependencies (and no
 * others, so that one we forgot to declare is missed here), link the bin. Built from a copy: others may be using dist/.
 */
beforeAll(() => {
  const stage = join(app, "stage");
  const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { files: string[] };
  for (const name of ["package.json", ...files.filter((name) => name !== "dist")])
    cpSync(join(root, name), join(stage, name), { recursive: true });
  const built = sh(
    process.execPath,
    [tsc, "-p", "tsconfig.build.json", "--outDir", join(stage, "dist")],
    root,
  );
  expect(built.said).toBe("");
  const packed = sh("npm", ["pack", "--ignore-scripts", "--pack-destination", app], stage);
  expect(packed.status, packed.said).toBe(0);
  const tarball = readdirSync(app).find((name) => name.endsWith(".tgz"))!;
  mkdirSync(installed, { recursive: true });
  expect(sh("tar", ["-xzf", join(app, tarball), "-C", installed, "--strip-components=1"], app).status).toBe(
    0,
  );
  const { dependencies, bin } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
    bin: { forager: string };
  };
  for (const name of [...Object.keys(dependencies), "@types/node"]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  }
  mkdirSync(join(modules, ".bin"));
  chmodSync(join(installed, bin.forager), 0o755);
  symlinkSync(join(installed, bin.forager), join(modules, ".bin", "forager"));
  writeFileSync(join(app, "package.json"), '{ "name": "app", "type": "module", "private": true }');
});

test("npx forager works in a project that has it installed", () => {
  const help = sh("npx", ["--no-install", "forager", "--help"], app);
  expect(help.status, help.said).toBe(0);
  expect(help.stdout).toMatch(/Usage: forager COMMAND/);
  expect(sh("npx", ["--no-install", "forager", "trian"], app)).toMatchObject({ status: 2 });
});

test("the starter is in the package and can be written", () => {
  const made = sh("npx", ["--no-install", "forager", "init", "mine", "--json"], app);
  expect(made.status, made.said).toBe(0);
  const last = JSON.parse(made.stdout.trim().split("\n").at(-1)!) as { event: string; files: string[] };
  expect(last).toMatchObject({ event: "result", folder: "mine" });
  expect(readdirSync(join(app, "mine")).sort()).toEqual(last.files);
});

test("imports are typed, and run", () => {
  writeFileSync(
    join(app, "use.ts"),
    `import { defineForager, type Environment, memoryRetriever, rng } from "forager";
const quiet: Environment = {
  name: "quiet",
  seats: ["only"],
  async play(question, seats) {
    const act = await seats.only!.act({ stop: [], maxTokens: 1 });
    return { outcome: act.text === question.question ? "answered" : "no_answer", turns: 1, searches: [], invalidActions: 0, observationTokensCut: 0 };
  },
};
const forager = defineForager({ environments: { quiet: () => quiet } });
// @ts-expect-error a trajectory has no such outcome: types are not \`any\`
const wrong: Awaited<ReturnType<Environment["play"]>>["outcome"] = "won";
const pages = memoryRetriever([{ id: "mill", title: "Garrow Mill", text: "It was built by Tobias Renn." }]);
const [hits] = await pages.search(["who built the mill"], 1);
console.log(hits?.[0]?.id, typeof forager.run, rng(1, "a").int(10) === rng(1, "a").int(10), wrong.length);
`,
  );
  const options = {
    strict: true,
    module: "NodeNext",
    target: "ES2023",
    types: ["node"],
    skipLibCheck: false,
    outDir: "out",
  };
  writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["use.ts"] }));
  const compiled = sh(process.execPath, [tsc, "-p", app], app);
  expect(compiled.said).toBe("");
  const ran = sh(process.execPath, [join(app, "out/use.js")], app);
  expect(ran.said).toBe("mill function true 3\n");
});
