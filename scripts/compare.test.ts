import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, describe, expect, test } from "vitest";
import { answered, writeEvaluation } from "../eval/testing.ts";
import { runCli } from "./cli.ts";
import type { Streams } from "./output.ts";

const root = mkdtempSync(join(tmpdir(), "forager-compare-cli-"));
afterAll(() => rmSync(root, { recursive: true }));

async function forager(...words: string[]) {
  const text = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof text) =>
    new Writable({
      write(chunk, _encoding, done) {
        text[name] += String(chunk).replaceAll(root, "DIR");
        done();
      },
    });
  const streams = { stdout: stream("stdout"), stderr: stream("stderr") } as unknown as Streams; // safe: it only writes
  const code = await runCli(["compare", ...words], {}, streams);
  return {
    code,
    ...text,
    events: text.stdout
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line)),
  };
}

/** A run folder with evaluations at steps 0 and 9: more right answers with training, by `gain`. */
function run(name: string, gain: number, benchmarks: readonly string[] = ["dev"]): string {
  const path = join(root, name);
  mkdirSync(join(path, "evals"), { recursive: true });
  writeFileSync(join(path, "config.yaml"), "");
  for (const benchmark of benchmarks)
    for (const [step, right] of [
      [0, 20],
      [9, 20 + gain],
    ] as const)
      writeEvaluation(
        join(path, "evals"),
        answered(80, (i) => i < right),
        {
          manifest: { benchmark, step, weights: `${name}-${step}` },
        },
      );
  return path;
}
const base = run("base", 4);
const better = run("better", 30);

describe("forager compare", () => {
  test("two runs: their last evaluations, pair by pair, for people", async () => {
    const { code, stdout, stderr } = await forager(base, better);
    expect(code).toBe(0);
    expect(stderr).toBe("");
    expect(stdout.split("\n").slice(0, 13)).toEqual([
      "dev, greedy: B against A",
      "",
      "A: DIR/base/evals/dev-9-greedy, step 9",
      "B: DIR/better/evals/dev-9-greedy, step 9",
      "they differ in: weights base-9 → better-9",
      "ends: answered 80 | answered 80",
      "",
      "em  questions                     A                     B  difference            95 %",
      "           80  0.300 [0.211, 0.408]  0.625 [0.515, 0.723]      +0.325  [0.232, 0.434]",
      "",
      "right in both 24, in A alone 0, in B alone 26, in neither 30",
      "McNemar's exact test: p < 0.0001; sign-flip permutation test: p = 0.0001",
      "B is higher than A in em: +0.325 [0.232, 0.434]",
    ]);
  });

  test("a run against itself, before and after; one evaluation by its folder", async () => {
    const { events } = await forager(better, better, "--base-step", "0", "--json");
    expect(events.at(-1)).toMatchObject({
      event: "result",
      comparisons: [{ a: { step: 0, mean: 0.25 }, b: { step: 9, mean: 0.625 }, verdict: "higher" }],
    });
    const one = await forager(join(base, "evals/dev-0-greedy"), join(base, "evals/dev-9-greedy"), "--json");
    expect(one.events.at(-1).comparisons[0]).toMatchObject({
      verdict: "noise",
      difference: { pairs: { onlyB: 4 } },
    });
  });

  test("--json: one event a comparison, the result last, nothing for people on stdout", async () => {
    const { events, stdout, stderr } = await forager(base, better, "--json");
    expect(events.map(({ event }) => event)).toEqual(["comparison", "result"]);
    expect(stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(events[0]).toMatchObject({ base: "A", other: "B", benchmark: "dev", tests: 1 });
    expect(stderr).toContain("B is higher than A");
  });

  test("several against the first: Holm, and a summary", async () => {
    const { events, stderr } = await forager(base, better, run("same", 4), "--json");
    expect(events.at(-1)).toMatchObject({
      tests: 2,
      comparisons: [{ tests: 2, verdict: "higher" }, { verdict: "noise" }],
    });
    expect(stderr).toMatch(/^C +dev, greedy +80 +0\.300 +0\.300 +\+0\.000 .* noise$/m);
  });

  test("several benchmarks: each, and all together; --benchmark takes one; what has no twin is named", async () => {
    const [a, b] = [run("two", 0, ["dev", "nq"]), run("two-better", 20, ["dev", "nq", "pop"])];
    const { events, stderr } = await forager(a, b, "--json");
    expect(events.at(-1).comparisons.map((each: { benchmark: string }) => each.benchmark)).toEqual([
      "dev",
      "nq",
      "all 2 benchmarks",
    ]);
    expect(events.at(-1).comparisons[2]).toMatchObject({
      questions: { compared: 160 },
      difference: { difference: 0.25 },
    });
    expect(stderr).toContain("not compared: pop, greedy in DIR/two-better alone");
    const one = await forager(a, b, "--benchmark", "nq", "--json");
    expect(one.events.at(-1).comparisons).toHaveLength(1);
  });

  test("--markdown, --metric", async () => {
    const { stdout } = await forager(base, better, "--metric", "f1", "--markdown");
    expect(stdout).toContain("| f1 | questions | A | B | difference | 95 % |");
    expect(stdout).toContain("- sign-flip permutation test: p = 0.0001");
  });

  test("questions in common alone, with a warning", async () => {
    const short = writeEvaluation(
      join(root, "short"),
      answered(50, (i) => i < 20),
      { manifest: { step: 9 } },
    );
    expect((await forager(base, short)).code).toBe(2);
    const { code, events, stderr } = await forager(base, short, "--force-intersection", "--json");
    expect(code).toBe(0);
    expect(events.at(-1).comparisons[0].questions).toEqual({
      compared: 50,
      onlyA: 30,
      onlyB: 0,
      withoutValue: 0,
    });
    expect(stderr).toContain(
      "warning: dev: 50 questions in common; 30 and 0 asked in one alone are left out",
    );
  });

  test.each([
    [
      "another scorer",
      () => [
        base,
        writeEvaluation(
          join(root, "strict"),
          answered(80, () => true),
          { manifest: { normalizer: "strict" } },
        ),
      ],
      /differ in `normalizer`[\s\S]*got +squad and strict/,
    ],
    [
      "another mode",
      () => [
        base,
        writeEvaluation(
          join(root, "mode"),
          answered(80, () => true),
          { manifest: { mode: "sampled" } },
        ),
      ],
      /differ in `mode`[\s\S]*greedy and sampled/,
    ],
    [
      "other questions",
      () => [
        base,
        writeEvaluation(
          join(root, "few"),
          answered(5, () => true),
        ),
      ],
      /different questions[\s\S]*75 in the first alone/,
    ],
    ["one alone", () => [base], /one evaluation cannot be compared/],
    ["no folder", () => [base, join(root, "none")], /no such folder/],
    ["no evaluation", () => [base, root], /no evaluation in this folder/],
    [
      "no such step",
      () => [base, better, "--step", "5"],
      /no such evaluation[\s\S]*one of dev, greedy, step 0; dev, greedy, step 9/,
    ],
    [
      "no such metric",
      () => [base, better, "--metric", "tuns"],
      /no metric `tuns`[\s\S]*Did you mean `turns`/,
    ],
  ])("%s: exit 2 with the difference named", async (_, words, says) => {
    const { code, stdout, stderr } = await forager(...words());
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(says);
  });
});
