import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sampler } from "../rollout/sampler.ts";
import { scriptedSampler, unbatched } from "../rollout/testing.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

/** Searches once for what both pages say, then answers with the author that it has read of. */
let asked = 0;
const reader = async ({ tokenizer }: { tokenizer: Tokenizer }): Promise<Sampler> =>
  unbatched(
    scriptedSampler(tokenizer, ({ prompt }, turn) => {
      asked++;
      if (turn === 0) return "<search> written </search>";
      const seen = ["Frank Herbert", "Jane Austen"].find((name) => tokenizer.decode(prompt).includes(name));
      return `<answer> ${seen ?? "nobody"} </answer>`;
    }),
  );

let project: Project;
let benchmark: string;
beforeAll(() => {
  project = toyProject({ samplers: { reader } });
  benchmark = `eval.benchmarks=[{ name: dev, source: { kind: jsonl, path: ${project.at("questions.jsonl")} } }]`;
});
afterAll(() => project.remove());

const searchValue = (...words: string[]) =>
  project.forager(
    ...["search-value", project.at("train.yaml"), benchmark, "--policy", "reader", "eval.modes=[greedy]"],
    ...["env.observationTokens=40", ...words],
  );
const resultOf = (events: Awaited<ReturnType<typeof searchValue>>["events"]) =>
  events.at(-1) as unknown as {
    values: {
      benchmark: string;
      value: { rows: { name: string; em: { mean: number; n: number }; stopped: number; recall: number }[] };
    }[];
  };

test("one table: search off, nothing found, random, gold first, and the engine; records are kept", async () => {
  asked = 0;
  const out = project.at("value");
  const first = await searchValue("--out", out, "--json");
  expect(first, first.stderr).toMatchObject({ code: 0 });
  const rows = resultOf(first.events).values[0]?.value.rows ?? [];
  const em = Object.fromEntries(rows.map((row) => [row.name, row.em.mean]));
  expect(Object.keys(em)).toEqual(["off", "empty", "random", "oracle", "engine"]);
  // The engine finds the first of two pages that fit alike, whatever the question.
  expect(em).toMatchObject({ off: 0, empty: 0, oracle: 1, engine: 0.5 });
  expect(rows[0]).toMatchObject({ name: "off", stopped: 1 });
  expect(rows[3]).toMatchObject({ name: "oracle", recall: 1 });
  for (const name of ["search-value.json", "search-value.md", "search-value.csv"])
    expect(existsSync(`${out}/${name}`), name).toBe(true);
  expect(readFileSync(`${out}/search-value.csv`, "utf8")).toMatch(/^benchmark,mode,searches answered by,/);
  const turns = asked;
  const again = await searchValue("--out", out);
  expect(asked).toBe(turns);
  expect(again.stdout).toMatch(/^oracle +2 +1\.000 .*\+0\.500/m);
  expect(again.stdout).toContain("right though nothing was found: 0.0 %");

  const report = await project.forager("report", out);
  expect(report.code, report.stderr).toBe(0);
  expect(report.stdout).toMatch(/^Exact match on dev \(greedy, 2 questions\) is 0\.500 .* with the engine/);
  expect(readFileSync(`${out}/report.html`, "utf8")).toContain("What search is worth");
  expect(readFileSync(`${out}/report.md`, "utf8")).toContain("| oracle | 2 | 1.000");
}, 60_000);

test("budgets between nothing and everything, and only what was named", async () => {
  const words = ["--retrievers", "oracle", "--budgets", "0,1,5", "env.maxTurns=4", "--json"];
  const { code, events, stderr } = await searchValue(...words, "--out", project.at("budgets"));
  expect(code, stderr).toBe(0);
  const names = resultOf(events).values[0]?.value.rows.map(({ name }) => name);
  expect(names).toEqual(["oracle", "budget-0", "budget-1", "engine"]);
}, 60_000);

test("questions without gold passages are left out of oracle, and the table says so", async () => {
  const path = project.write("half.jsonl", [
    { id: "q1", question: "who wrote Dune", golden_answers: ["Frank Herbert"], supporting_ids: ["p1"] },
    { id: "q2", question: "who wrote Emma", golden_answers: ["Jane Austen"] },
    { id: "q3", question: "who wrote Walden", golden_answers: ["Thoreau"], supporting_ids: ["gone"] },
  ]);
  const half = `eval.benchmarks=[{ name: half, source: { kind: jsonl, path: ${path} } }]`;
  const { code, events, stderr } = await searchValue(
    half,
    "--retrievers",
    "oracle",
    "--budgets",
    "0",
    "--json",
    "--out",
    project.at("half"),
  );
  expect(code, stderr).toBe(0);
  expect(stderr).toContain("half: oracle is asked 1 of 3 questions");
  const rows = resultOf(events).values[0]?.value.rows;
  expect(rows?.map(({ name, em }) => [name, em.n])).toEqual([
    ["oracle", 1],
    ["budget-0", 3],
    ["engine", 3],
  ]);
}, 60_000);

test("the retriever of a config is what its episodes are played with", async () => {
  const em = async (...words: string[]) => {
    const evaluated = await project.forager(
      ...["eval", project.at("train.yaml"), benchmark, "--policy", "reader", "eval.modes=[greedy]"],
      ...["env.observationTokens=40", "--out", project.at(`eval-${words.join("-").replace(/\W+/g, "-")}`)],
      ...["--json", ...words],
    );
    expect(evaluated.code, evaluated.stderr).toBe(0);
    return (evaluated.events.at(-1) as unknown as { evals: { em: number }[] }).evals[0]?.em;
  };
  expect(await em("search.retriever=oracle")).toBe(1);
  expect(await em("search.budget=0")).toBe(0);
  expect(await em("search.budget=1")).toBe(0.5);
}, 60_000);

describe("one clear error, exit code 2", () => {
  const refused = async (...words: string[]) => {
    const { code, stderr } = await searchValue("--out", project.at("never"), ...words);
    expect(code, stderr).toBe(2);
    expect(existsSync(project.at("never"))).toBe(false);
    return stderr;
  };

  test("a retriever that is none, a budget that is none, a prompt for a model that renders its own", async () => {
    expect(await refused("--retrievers", "orcale")).toMatch(
      /no retriever `orcale`[\s\S]*Did you mean `oracle`/,
    );
    expect(await refused("--budgets", "1.5")).toMatch(/a budget is a number of searches[\s\S]*1\.5/);
    expect(await refused("eval.benchmarks=[]")).toContain("names no benchmark");
  });

  test("an oracle that was asked for, of questions without gold passages", async () => {
    const path = project.write("bare.jsonl", [
      { id: "q1", question: "who wrote Dune Messiah", golden_answers: ["Frank Herbert"] },
    ]);
    const bare = `eval.benchmarks=[{ name: bare, source: { kind: jsonl, path: ${path} } }]`;
    expect(await refused(bare, "--retrievers", "oracle")).toContain("no question has gold passages");
    const trained = await project.forager(
      "train",
      project.at("train.yaml"),
      bare,
      "search.retriever=oracle",
      "--dry-run",
    );
    expect(trained.code).toBe(2);
    expect(trained.stderr).toMatch(/1 of 1 questions have no gold passages[\s\S]*benchmark bare/);
  });
});
