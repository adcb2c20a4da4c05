import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { Writable } from "node:stream";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { ConfigError, EngineError } from "../core/errors.ts";
import { packageRoot } from "../core/package-root.ts";
import { runCli } from "./cli.ts";
import { defineCommand } from "./command.ts";
import { type CommandRow, commandRows } from "./commands.ts";
import { defineForager } from "./define.ts";
import type { Streams } from "./output.ts";
import { withConfig } from "./with-config.ts";

/** Stands where a terminal would: keeps what is written. */
function capture() {
  const texts = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr") =>
    new Writable({
      write(chunk, _encoding, done) {
        texts[name] += String(chunk);
        done();
      },
    });
  const streams = { stdout: stream("stdout"), stderr: stream("stderr") } as unknown as Streams;
  return { texts, streams };
}

const greet = defineCommand({
  positionals: "<name>",
  examples: [["forager greet Ada", "says hello"]],
  builder: (yargs) =>
    yargs
      .positional("name", { type: "string", demandOption: true })
      .option("times", { type: "number", default: 1 })
      .option("style", { type: "string" })
      .option("dryRun", { type: "boolean", describe: "say nothing" }),
  async run({ name, times, style, dryRun }, output) {
    if (dryRun) return;
    if (name === "user")
      throw new ConfigError({ what: "a mistake", where: "x.yaml:3", expected: "a", got: "b", next: "Do c." });
    if (name === "engine") throw new EngineError({ what: "unknown kernel" });
    if (name === "bug") throw new TypeError("x is not a function");
    if (name === "full") throw Object.assign(new Error("write ENOSPC"), { code: "ENOSPC", path: "/runs/a" });
    output.progress("greeting", times).done();
    output.line(`hello ${name}${style ? ` (${style})` : ""}`);
    output.print("asked for");
    output.warn("careful");
    output.result({ name, times, loss: Number.NaN });
  },
});
const build = defineCommand({
  positionals: "<config> [overrides..]",
  examples: [["forager index build a.yaml", "builds"]],
  builder: withConfig,
  run: async (args, output) => output.result({ ...args }),
});
const rows: CommandRow[] = [
  { name: "greet", describe: "say hello", load: async () => greet },
  { name: "index build", describe: "build an index", load: async () => build },
  {
    name: "index search",
    describe: "search it",
    load: () => Promise.reject(new Error("must not be loaded")),
  },
];

async function forager(...words: string[]) {
  const { texts, streams } = capture();
  const code = await runCli(words, {}, streams, rows);
  const events = texts.stdout.split("\n").filter((line) => line.startsWith("{"));
  return { code, ...texts, events: events.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe("words go where they belong", () => {
  test("plain: text on stdout, progress and warnings on stderr", async () => {
    const { code, stdout, stderr } = await forager("greet", "Ada", "--style", "loud");
    expect(code).toBe(0);
    expect(stdout).toBe("hello Ada (loud)\nasked for\n");
    expect(stderr).toMatch(/^greeting 0\/1 · in 0\.0s\nwarning: careful\n$/);
  });

  test("--json: only JSON Lines on stdout, the result last; NaN is not hidden", async () => {
    const { stdout, stderr, events } = await forager("--json", "greet", "Ada", "--times", "3");
    expect(stdout.trim().split("\n")).toHaveLength(events.length);
    expect(events).toEqual([
      { event: "warning", message: "careful" },
      { event: "result", name: "Ada", times: 3, loss: "NaN" },
    ]);
    expect(stderr).toMatch(/hello Ada/);
  });

  test("--quiet: what was asked for and warnings, nothing else", async () => {
    const { stdout, stderr } = await forager("greet", "Ada", "--quiet");
    expect([stdout, stderr]).toEqual(["asked for\n", "warning: careful\n"]);
  });
});

describe("errors", () => {
  test.each([
    ["user", 2, "error: a mistake\n  where    x.yaml:3\n  got      b\n  expected a\n  next     Do c.\n"],
    ["engine", 1, "error: unknown kernel\n"],
    ["full", 2, /^error: the disk is full\n {2}where {4}\/runs\/a\n/],
    [
      "bug",
      1,
      /^error: Forager failed in a way it has no words for\n {2}got {6}TypeError: x is not a function\n {2}next/,
    ],
  ])("%s: exit code %i, one clear error and no stack", async (name, expected, text) => {
    const { code, stderr, stdout } = await forager("greet", name);
    expect(code).toBe(expected);
    if (typeof text === "string") expect(stderr).toBe(text);
    else expect(stderr).toMatch(text);
    expect(stderr + stdout).not.toMatch(/ at .*:\d+:\d+/);
  });

  test("with --json the error is the last event", async () => {
    const { events } = await forager("greet", "user", "--json");
    expect(events.at(-1)).toMatchObject({
      event: "error",
      what: "a mistake",
      where: "x.yaml:3",
      next: "Do c.",
      exitCode: 2,
    });
  });

  test.each([
    [["gret", "Ada"], /unknown command `gret`[\s\S]*Did you mean `forager greet`\?/],
    [["index"], /unknown command `index`[\s\S]*one of index build, index search/],
    [["index", "biuld"], /Did you mean `forager index build`\?/],
    [["greet"], /Not enough non-option arguments/],
    [["greet", "Ada", "--stile", "x"], /unknown argument `stile`[\s\S]*Did you mean `--style`\?/],
    [["greet", "Ada", "--sty", "x"], /unknown argument `sty`/],
    [["greet", "Ada", "--dryrun"], /Did you mean `--dry-run`\?/],
    [["greet", "Ada", "Bob"], /unknown argument `Bob`/],
    [["greet", "Ada", "--times", "many"], /`times` has no usable value[\s\S]*a number/],
    [["greet", "Ada", "--style"], /`style` has no value/],
    [["greet", "Ada", "--times", "1", "--times", "2"], /`times` is given twice/],
  ])("%j is a mistake", async (words, text) => {
    const { code, stderr } = await forager(...words);
    expect(code).toBe(2);
    expect(stderr).toMatch(text);
  });
});

test("no command is listed twice", () => {
  const names = commandRows.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});

describe("help", () => {
  test("the overview lists every command without loading one", async () => {
    const { code, stdout } = await forager("--help");
    expect(code).toBe(0);
    for (const { name, describe } of rows) expect(stdout).toContain(`${name.padEnd(14)}${describe}`);
    expect((await forager()).code).toBe(2);
  });

  test("a command's help has its usage, its options and a worked example", async () => {
    const { code, stdout } = await forager("greet", "--help");
    expect(code).toBe(0);
    for (const part of [
      "forager greet <name>",
      "say hello",
      "--times",
      "--dry-run say nothing",
      "--json",
      "forager greet Ada",
      "says hello",
    ])
      expect(stdout).toContain(part);
  });

  test("every command of ours has an example that begins with its name", async () => {
    for (const { name, load } of commandRows) {
      const { examples } = await load();
      expect(examples.length, name).toBeGreaterThan(0);
      for (const [line] of examples) expect(line.startsWith(`forager ${name}`), line).toBe(true);
    }
  }, 180_000); // loads every command, and with them the native modules
});

test("--dry-run is the flag of `dryRun`", async () => {
  expect(await forager("greet", "Ada", "--dry-run")).toMatchObject({ code: 0, stdout: "", stderr: "" });
});

test("two-word commands, and overrides that look like numbers stay text", async () => {
  const { events } = await forager("index", "build", "a.yaml", "rl.lr=1e-6", "7=8", "--json");
  expect(events.at(-1)).toMatchObject({ config: "a.yaml", overrides: ["rl.lr=1e-6", "7=8"] });
});

test("a name YAML could not say is refused", () => {
  expect(() => defineForager({ rewards: { "My Part": () => 0 } })).toThrow(
    /`My Part` cannot name one of the rewards/,
  );
});

describe("as a process", () => {
  const tsx = join(packageRoot(), "node_modules/tsx/dist/cli.mjs");
  const toy = join(packageRoot(), "scripts/testing/toy-cli.ts");

  test("Ctrl-C once: the command stops at its safe point, exit 130", async () => {
    const child = spawn(process.execPath, [tsx, toy, "wait"], { stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
      if (String(chunk).includes("waiting")) child.kill("SIGINT");
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(out).toBe("waiting\nsaved\n");
    expect(code).toBe(130);
  });

  test("Ctrl-C twice: the process ends at once", async () => {
    const child = spawn(process.execPath, [tsx, toy, "deaf"], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", () => child.kill("SIGINT"));
    child.stderr.on("data", () => child.kill("SIGINT"));
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(130);
  });

  test("a reader that goes away (| head) is no error", async () => {
    const shell = promisify(execFile);
    const line = `set -o pipefail; "${process.execPath}" "${tsx}" "${toy}" talk | head -n 1`;
    const { stdout, stderr } = await shell("bash", ["-c", line]);
    expect(stdout).toBe("line 0\n");
    expect(stderr).toBe("");
  });
});
