import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, describe, expect, test } from "vitest";
import { makeOutput } from "./output.ts";
import { command } from "./score-command.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-score-command-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "predictions.jsonl");
writeFileSync(
  file,
  [
    { id: "a", prediction: "The Paris", goldenAnswers: ["Paris"] },
    { id: "b", prediction: null, goldenAnswers: ["Paris", "the"] },
    { id: "c", prediction: "", goldenAnswers: ["the"] },
  ]
    .map((record) => `${JSON.stringify(record)}\n`)
    .join(""),
);

async function score(flags: { json: boolean; quiet: boolean }) {
  const text = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof text) =>
    new Writable({
      write(chunk, _encoding, done) {
        text[name] += chunk;
        done();
      },
    }) as unknown as NodeJS.WriteStream; // safe: the output only writes
  const output = makeOutput(flags, { stdout: stream("stdout"), stderr: stream("stderr") });
  await command.run(
    { file, normalizer: "squad", extraction: "last" },
    output,
    new AbortController().signal,
    {},
  );
  return text;
}

describe("forager score", () => {
  test("--json: each record, then the totals", async () => {
    const { stdout } = await score({ json: true, quiet: false });
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.filter(({ event }) => event === "record").map(({ id, em }) => [id, em])).toEqual([
      ["a", 1],
      ["b", 0],
    ]);
    expect(events.at(-1)).toMatchObject({
      event: "result",
      n: 2,
      em: 0.5,
      f1: 0.5,
      coverEm: 0.5,
      emptyGold: 1,
    });
  });

  test("for people: EM with its interval, and what was left out, by name", async () => {
    const { stdout, stderr } = await score({ json: false, quiet: false });
    expect(stdout).toContain("EM        0.5000  95 % [0.0945, 0.9055]  (1 of 2)");
    expect(stderr).toContain("1 left out, no gold answer is left: c");
    expect(stderr).toContain("2 gold aliases dropped");
  });

  test("--quiet says nothing on stdout", async () => {
    expect((await score({ json: false, quiet: true })).stdout).toBe("");
  });
});
