import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { StoredTrajectory } from "../track/run-db.ts";
import type { Project } from "./testing/toy-project.ts";
import { rowsOf, type ToyTeam, toyTeam } from "./testing/toy-team.ts";

let team: ToyTeam;
let project: Project;
let run = "";
let stored: readonly StoredTrajectory[] = [];

beforeAll(async () => {
  team = await toyTeam();
  ({ project, run, stored } = team);
}, 60_000);
afterAll(() => team?.close());

const idsOf = ({ segments }: StoredTrajectory["sequences"][number]) =>
  segments.flatMap(({ tokens }) => tokens);

describe("forager export sft of a team", () => {
  test("each conversation is a row with its role's own opening, its very ids, and every message learnt from", async () => {
    const out = project.at("sft.jsonl");
    const { code, stderr, events } = await project.forager(
      "export",
      "sft",
      run,
      "--from-step",
      "2",
      "--out",
      out,
      "--json",
    );
    expect(code, stderr).toBe(0);
    const rows = await rowsOf(out);
    const sequences = stored.flatMap(({ sequences: all }) => all);
    expect(rows.map(({ input_ids }) => input_ids)).toEqual(sequences.map(idsOf));
    expect(rows.map(({ provenance }) => provenance.role)).toEqual(sequences.map(({ seat }) => seat));
    expect(events.at(-1)).toMatchObject({ rows: rows.length, exact: rows.length });
    for (const { messages, provenance } of rows)
      expect(messages[0]?.content).toMatch(new RegExp(`^<${provenance.role}> <question>`));
    const revised = rows.filter(({ messages }) =>
      messages.some(({ content }) => content.includes("<revise>")),
    );
    expect(revised.length).toBeGreaterThan(0);
    for (const { messages } of revised)
      expect(messages.filter(({ content, weight }) => content !== "" && weight === 0)).toEqual([]);
  });

  test("--role writes these roles alone, and a warm-up learns from them, with and without ids", async () => {
    const losses = async (...words: string[]) => {
      const out = project.at(`roles${words.join("")}.jsonl`);
      const asked = ["--from-step", "2", "--role", "planner,verifier", "--out", out, ...words];
      expect((await project.forager("export", "sft", run, ...asked)).code).toBe(0);
      expect(new Set((await rowsOf(out)).map(({ provenance }) => provenance.seat))).toEqual(
        new Set(["planner", "verifier"]),
      );
      const { code, stderr, events } = await project.forager(
        ...["sft", project.at("team.yaml"), `run.dir=${project.at(`warm${words.join("")}`)}`, "--json"],
        ...["sft.steps=2", "sft.slots=512", "sft.learn=[verifier]"],
        `sft.source={ kind: trajectories, path: ${out}, onlyRight: false }`,
      );
      expect(code, stderr).toBe(0);
      expect(stderr).toMatch(/\d+ of other roles than verifier/);
      return events.filter(({ event }) => event === "step").map(({ loss }) => loss);
    };
    const withIds = await losses();
    expect(withIds).toHaveLength(2);
    expect(await losses("--no-ids")).toEqual(withIds);
  });

  test.each([
    [
      ["--role", "planner,editor"],
      /no such role plays in the team[\s\S]*editor[\s\S]*planner, drafter, verifier/,
    ],
    [["--tool-calls"], /no form as calls of tools/],
  ])("%j is the user's mistake", async (words, message) => {
    const { code, stderr } = await project.forager("export", "sft", run, "--dry-run", ...words);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  test("roles of a file whose rows say no role cannot be told apart", async () => {
    const path = project.write("plain.jsonl", [
      {
        id: "a",
        messages: [
          { role: "user", content: "what" },
          { role: "assistant", content: "is" },
        ],
      },
    ]);
    const { code, stderr } = await project.forager(
      ...[
        "sft",
        project.at("team.yaml"),
        `run.dir=${project.at("untold")}`,
        "sft.steps=1",
        "sft.learn=[planner]",
      ],
      `sft.source={ kind: trajectories, path: ${path} }`,
    );
    expect(code).toBe(2);
    expect(stderr).toMatch(/whose words these are is not said[\s\S]*plain\.jsonl:1/);
  });
});

test("forager export experts: demonstrations of a team for others, errors that were caught among them", async () => {
  const out = project.at("experts.jsonl");
  const { code, stderr, events } = await project.forager(
    ...[
      "export",
      "experts",
      project.at("team.yaml"),
      "sft.steps=1",
      "sft.source={ kind: experts, habits: careful }",
    ],
    ...["-n", "12", "--role", "planner", "--out", out, "--json"],
  );
  expect(code, stderr).toBe(0);
  expect(events.at(-1)).toMatchObject({ episodes: 12, rows: 12 });
  const rows = await rowsOf(out);
  expect(rows.every(({ provenance }) => provenance.role === "planner" && provenance.exact)).toBe(true);
  expect(rows.some(({ messages }) => messages.some(({ content }) => content.includes("<revise>")))).toBe(
    true,
  );
});
