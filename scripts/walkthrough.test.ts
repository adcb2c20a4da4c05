import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { toyTrajectory } from "../reward/testing.ts";
import { openRunDb } from "../track/run-db.ts";

const docs = join(packageRoot(), "docs");
const text = readFileSync(join(docs, "walkthrough.md"), "utf8");

test("every stage links to a file that has the function it names", () => {
  const links = [...text.matchAll(/\[`(\w+)`\]\(([^)]+)\)/g)].map(
    ([, name, path]) => [name!, path!] as const,
  );
  expect(links.length).toBeGreaterThan(30);
  for (const [name, path] of links) {
    expect(existsSync(join(docs, path)), path).toBe(true);
    const source = readFileSync(join(docs, path), "utf8");
    expect(source, `${name} in ${path}`).toMatch(
      new RegExp(`(function|const|class|interface|type)\\*? ${name}\\b`),
    );
  }
});

test("its query reads the episodes of a group as they were sampled, a turn a line", () => {
  const folder = mkdtempSync(join(tmpdir(), "forager-walk-"));
  const store = openRunDb(folder);
  const turns = ["<search> a </search>", ["observation", "found b"], "<answer> b </answer>"] as const;
  const trajectories = [0, 1].map((member) => ({
    trajectory: { ...toyTrajectory(turns, { member }), reward: member, parts: {} },
    ...{ group: 0, verdict: "kept", advantage: member - 0.5 },
  }));
  store.commit({ phase: "rl", step: 1, metrics: {}, trajectories });
  store.close();
  const db = new Database(join(folder, "run.db"), { readonly: true });
  const query = /```sh\nsqlite3 -line RUN\/run\.db "([^"]+)"\n```/.exec(text)![1]!;
  expect(db.prepare(query).all()).toEqual(
    [0, 1].map((member) => ({
      ...{ member, verdict: "kept", reward: member, advantage: member - 0.5 },
      said: "Q\n<search> a </search>\nfound b\n<answer> b </answer>",
    })),
  );
  db.close();
  rmSync(folder, { recursive: true, force: true });
});
