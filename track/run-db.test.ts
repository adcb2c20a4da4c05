import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { InvariantError } from "../core/errors.ts";
import { toyTrajectory } from "../reward/testing.ts";
import { openRunDb } from "./run-db.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-db-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each([Number.NaN, Number.POSITIVE_INFINITY])(
  "a step with a metric of %d is not stored, nothing of it",
  (value) => {
    const db = openRunDb(folder);
    const trajectories = [{ trajectory: toyTrajectory(["x"]), group: 0, verdict: "kept" }];
    const commit = () =>
      db.commit({ phase: "rl", step: 3, metrics: { em: 0.5, grad_norm: value }, trajectories });
    expect(commit).toThrow(InvariantError);
    expect(commit).toThrow(/rl step 3: metric `grad_norm`/);
    expect(db.metrics()).toEqual([]);
    expect(db.trajectories(3)).toEqual([]);
    db.commit({ phase: "rl", step: 3, metrics: { em: 0.5, grad_norm: 1 }, trajectories });
    expect(db.metrics()).toMatchObject([{ step: 3, metrics: { em: 0.5, grad_norm: 1 } }]);
    expect(db.trajectories(3)).toHaveLength(1);
    db.close();
  },
);

test("a seat that began anew has two sequences; who played them is kept, and the ending", () => {
  const db = openRunDb(folder);
  const { sequences, ending } = toyTrajectory(["one"]);
  const of = (text: string) => toyTrajectory([text]).sequences[0]!.segments;
  const twice = [
    { seat: "analyst", segments: of("a") },
    { seat: "analyst", segments: of("b") },
    { seat: "verifier", outside: true as const, segments: sequences[0]!.segments },
  ];
  const trajectory = toyTrajectory([], { sequences: twice, ending: ending! });
  const metrics = {};
  db.commit({ phase: "rl", step: 1, metrics, trajectories: [{ trajectory, group: 0, verdict: "kept" }] });
  const [stored] = db.trajectories(1);
  db.close();
  expect(
    stored?.sequences.map(({ seat, outside, segments }) => [seat, outside, segments.at(-1)?.text]),
  ).toEqual([
    ["analyst", undefined, "a"],
    ["analyst", undefined, "b"],
    ["verifier", true, "one"],
  ]);
  expect(stored?.ending).toEqual(ending);
});
