import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { toyProject } from "./testing/toy-project.ts";

const project = toyProject();
afterAll(() => project.remove());

function play(input: string, ...words: string[]) {
  const main = join(packageRoot(), "scripts", "main.ts");
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", main, "play", project.at("train.yaml"), ...words],
    { input, encoding: "utf8", cwd: packageRoot() },
  );
  return { status, stdout, stderr };
}

test("a person's turns from a pipe: pages, gold, and the reward that the policy would have had", () => {
  const turns = "<search> Dune </search>\n<answer> frank herbert. </answer>\n";
  const { status, stdout, stderr } = play(turns, "--question", "q1", "--json");
  expect(status, stderr).toBe(0);
  expect(stderr).toMatch(
    /who wrote Dune[^]*written by Frank Herbert[^]*answered: 2 turns[^]*Gold: Frank Herbert/,
  );
  expect(stderr).toMatch(/answer +frank herbert\. +right\nreward +1 /);
  expect(JSON.parse(stdout)).toMatchObject({
    event: "result",
    question: "q1",
    outcome: "answered",
    reward: 1,
    parts: { exactMatch: 1 },
  });
}, 120_000);

test("a drawn question left open is no failure; the same seed draws the same question", () => {
  const { status, stdout } = play("<search> Emma </search>\n", "--split", "train", "--seed", "3");
  expect(status).toBe(0);
  expect(stdout).toContain("The question stays open");
  const first = (text: string) => text.split("\n")[0];
  expect(first(play("", "--seed", "3").stdout)).toBe(first(stdout));
}, 120_000);
