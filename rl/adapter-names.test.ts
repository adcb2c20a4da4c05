import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claimNames } from "./adapter-names.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "forager-names-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));
const claim = (folder: string, name = "run") => claimNames(join(root, folder), name);

test("a run keeps its suffix, each start has its own names, claimed before any is used", () => {
  const [first, second] = [claim("a"), claim("a")];
  expect(first.run).toMatch(/^run-[0-9a-f]{8}$/);
  expect(second.run).toBe(first.run);
  expect([first.incarnation, second.incarnation]).toEqual([1, 2]);
  expect(first.of(3, 0)).toBe(`${first.run}-r1-v3`);
  expect(second.of(3, 2)).toBe(`${first.run}-r2-v3.2`);
  expect(second.probe(0)).toBe(`${first.run}-r2-probe`);
  expect(JSON.parse(readFileSync(join(root, "a", "names.json"), "utf8")).incarnation).toBe(2);
});

test("two runs of one name have nothing in common", () => {
  const [a, b] = [claim("a"), claim("b")];
  expect(a.run).not.toBe(b.run);
  expect(a.ours(b.of(0, 0))).toBe(false);
});

test("a run takes its own whole names only, of every incarnation", () => {
  const { ours, run, of, probe } = claim("a", "x.y");
  for (const name of [
    ...[of(0, 0), of(12, 3), probe(1), `${run}-r99-v4`],
    ...[of(2, 0, "verifier"), of(2, 1, "planner-2")],
  ])
    expect(ours(name)).toBe(true);
  for (const name of [
    ...[
      run,
      `${run}-v4`,
      `${run}-r1-r2-v4`,
      `${run}-r1-v4-r1-v0`,
      `${run}-r1-v4-verifier-0be4af29-r1-v0`,
      `${run}-r1-v4-Verifier`,
      `other-${of(0, 0)}`,
      `${of(0, 0)}x`,
      "base",
    ],
    of(0, 0).replace("x.y", "xzy"),
  ])
    expect(ours(name), name).toBe(false);
});

test("a copy of the folder is another run: both may be going on", () => {
  const original = claim("a");
  cpSync(join(root, "a"), join(root, "copy"), { recursive: true });
  const copy = claim("copy");
  expect(copy.run).not.toBe(original.run);
  expect(copy.incarnation).toBe(1);
});

test.each(["", "{", "[]", '{"run":"x","incarnation":0,"folder":"y"}'])(
  "what %j says is as nothing",
  (text) => {
    const { run } = claim("a");
    writeFileSync(join(root, "a", "names.json"), text);
    expect(claim("a").run).not.toBe(run);
  },
);
