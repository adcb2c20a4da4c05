import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readRecords } from "../datasets/records.ts";
import { openRunDb, type StoredTrajectory } from "../track/run-db.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";
import { schooled } from "./testing/toy-school.ts";

let project: Project;
let base = "";
let run = "";
let stored: StoredTrajectory[] = [];

beforeAll(async () => {
  project = toyProject();
  base = await schooled(project);
  run = project.at("run");
  const { code, stderr } = await project.forager(
    ...["train", project.at("train.yaml"), `model={ path: ${base} }`, "env.maxTurns=3", "rl.steps=2"],
    ...["rollout.groupSize=8", "rollout.maxRows=16", "rl.slots=512", "--quiet"],
  );
  if (code !== 0) throw new Error(stderr);
  const db = openRunDb(run);
  stored = [1, 2].flatMap((step) => db.trajectories(step));
  db.close();
}, 60_000);
afterAll(() => project.remove());

interface Row {
  readonly input_ids: readonly number[];
  readonly assistant_masks: readonly number[];
  readonly provenance: Readonly<Record<string, unknown>> & { readonly exact: boolean };
}

async function exported(...words: string[]) {
  const out = project.at("out.jsonl");
  rmSync(out, { force: true });
  const { code, events, stderr } = await project.forager("export", ...words, run, "--out", out, "--json");
  expect(code, stderr).toBe(0);
  const rows = [];
  for await (const { value } of readRecords(out)) rows.push(value);
  return { rows, result: events.at(-1)!, out };
}

const idsOf = ({ sequences }: StoredTrajectory) => sequences[0]!.segments.flatMap(({ tokens }) => tokens);
const turnIds = ({ sequences }: StoredTrajectory) =>
  sequences[0]!.segments.filter(({ source }) => source === "policy").flatMap(({ tokens }) => tokens);

describe("forager export sft", () => {
  test.each(["openai", "sharegpt", "trl"])(
    "%s: every row has the ids that were sampled, and says where it is from",
    async (form) => {
      const { rows, result } = await exported("sft", "--format", form, "--train-invalid");
      expect(rows).toHaveLength(stored.length);
      expect(result).toMatchObject({ rows: stored.length, seen: stored.length, partial: false });
      for (const [i, row] of (rows as unknown as Row[]).entries()) {
        const episode = stored[i]!;
        expect(row.input_ids).toEqual(idsOf(episode));
        expect(row.input_ids.filter((_, t) => row.assistant_masks[t])).toEqual(turnIds(episode));
        const { step, group, member, reward, outcome, parts } = episode;
        expect(row.provenance).toMatchObject({
          ...{ run: "run", step, group, member, reward, outcome, parts, partial: false },
          ...{ question_id: episode.taskId, version: step - 1, scorer: "dmi squad@1 last" },
        });
      }
      // Words of a small vocabulary are read back as they were written.
      expect(rows.filter((row) => (row as unknown as Row).provenance.exact).length).toBe(result.exact);
      expect(Number(result.exact)).toBeGreaterThan(0);
    },
  );

  test("filters leave out and say how many; a dry run counts the same and writes nothing", async () => {
    const right = stored.filter(({ reward, outcome }) => reward === 1 && outcome === "answered");
    const asked = ["sft", "--min-reward", "1", "--outcome", "answered", "--dedupe"];
    const { rows, result, out } = await exported(...asked);
    const texts = right.map(
      ({ taskId, sequences }) => taskId + sequences[0]!.segments.map(({ text }) => text).join("|"),
    );
    expect(rows).toHaveLength(new Set(texts).size);
    const left = Object.values(result.leftOut as Record<string, number>);
    expect(left.reduce((a, b) => a + b, rows.length)).toBe(stored.length);
    rmSync(out);
    const dry = await project.forager("export", ...asked, run, "--out", out, "--dry-run", "--json");
    expect(dry.events.at(-1)).toEqual({ ...result, dryRun: true });
    expect(() => readFileSync(out)).toThrow(/ENOENT/);
  });

  test("questions that a benchmark asks too are left out", async () => {
    const benchmark = project.write("bench.jsonl", [
      { id: "other", question: "Who wrote DUNE?", golden_answers: ["Herbert"] },
    ]);
    const { rows, result } = await exported("sft", "--exclude", benchmark);
    expect(rows).toHaveLength(stored.filter(({ question }) => question === "who wrote Emma").length);
    expect(result.leftOut).toEqual({ benchmark: stored.length - rows.length });
  });

  test("searches as calls of a tool", async () => {
    const { rows } = await exported("sft", "--tool-calls");
    const messages = rows.flatMap(
      (row) => row.messages as { role: string; content: string; tool_calls?: object[] }[],
    );
    const calls = messages.flatMap(({ tool_calls }) => tool_calls ?? []);
    expect(calls.length).toBe(messages.filter(({ role }) => role === "tool").length);
    expect(calls.length).toBeGreaterThan(0);
    expect(messages.some(({ role, content }) => role === "tool" && content.includes("<information>"))).toBe(
      false,
    );
  });
});

test("forager export dpo: pairs of one group with one prompt, the better first", async () => {
  const { rows } = await exported("dpo", "--pairs-per-group", "3", "--margin", "0.05");
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) {
    const { step, group, member, rejected, margin, reward } = row.provenance as {
      readonly [key: string]: number;
    } & { readonly rejected: { readonly member: number; readonly reward: number } };
    const find = (who: number) =>
      stored.find((each) => each.step === step && each.group === group && each.member === who)!;
    expect(reward! - rejected.reward).toBe(margin);
    expect(margin).toBeGreaterThanOrEqual(0.05);
    const [prompt, chosen, other] = [row.prompt_ids, row.chosen_ids, row.rejected_ids] as number[][];
    expect([...prompt!, ...chosen!]).toEqual(idsOf(find(member!)));
    expect([...prompt!, ...other!]).toEqual(idsOf(find(rejected.member)));
  }
});

test.each(["parquet", "arrow"])(
  "forager export rl --format %s: tokens, masks and logprobs of run.db",
  async (format) => {
    const { rows } = await exported("rl", "--format", format);
    expect(rows.map(({ tokens }) => tokens)).toEqual(stored.map(idsOf));
    for (const [i, row] of rows.entries()) {
      const segments = stored[i]!.sequences[0]!.segments;
      expect(row.logprobs).toEqual(
        segments.flatMap(({ tokens, logprobs }) => logprobs ?? tokens.map(() => 0)),
      );
      expect(row).toMatchObject({
        advantage: stored[i]!.advantage,
        reward: stored[i]!.reward,
        temperature: 1,
      });
    }
  },
);

describe("a warm-up on exported episodes", () => {
  // From random weights: the vocabulary is made of the same corpus and questions, so the ids are the same.
  const warm = ["sft.steps=10", "sft.slots=512", "rl.steps=0", "sft.schedule.learningRate=0.02", "--json"];

  test.each([
    [["sft"]],
    [["sft", "--format", "sharegpt", "--no-ids"]],
    [["sft", "--format", "trl", "--tool-calls", "--no-ids"]],
    [["dpo", "--margin", "0.05"]],
    [["rl", "--format", "arrow"]],
  ])("forager sft learns from `export %s`", async (words) => {
    // Answers that nobody cut: a small vocabulary may not read back what a policy in training wrote.
    const { out } = await exported(...words, "--outcome", "answered");
    const to = project.at(`warm-${words.join("")}`);
    const { code, events, stderr } = await project.forager(
      ...["sft", project.at("train.yaml"), `run.dir=${to}`, ...warm],
      `sft.source={ kind: trajectories, path: ${out}, onlyRight: ${!words.includes("rl")} }`,
    );
    expect(code, stderr).toBe(0);
    const losses = events.filter(({ event }) => event === "step").map(({ loss }) => Number(loss));
    expect(losses.at(-1)).toBeLessThan(0.8 * losses[0]!);
  });

  test("without ids the same rows are trained on: the losses are equal", async () => {
    const losses = async (...words: string[]) => {
      const { out } = await exported("sft", "--min-reward", "1", ...words);
      const { events } = await project.forager(
        ...["sft", project.at("train.yaml"), `run.dir=${project.at(`same-${words.join("")}`)}`],
        ...[...warm, "sft.steps=2"],
        `sft.source={ kind: trajectories, path: ${out} }`,
      );
      return events.filter(({ event }) => event === "step").map(({ loss }) => loss);
    };
    expect(await losses()).toEqual(await losses("--no-ids"));
  });
});

describe("what cannot be exported, or not whole", () => {
  test("a run that is not done is exported and marked", async () => {
    const summary = `${run}/summary.json`;
    const text = readFileSync(summary, "utf8");
    rmSync(summary);
    const { rows, result } = await exported("rl");
    writeFileSync(summary, text);
    expect(result.partial).toBe(true);
    expect(rows.every(({ partial }) => partial === true)).toBe(true);
  });

  test.each([
    ["no run folder", ["sft", "DIR/nowhere"], /not a run folder/],
    [
      "filters that leave nothing",
      ["sft", "RUN", "--min-reward", "9"],
      /nothing to export[\s\S]*left out for reward/,
    ],
    ["a margin of nothing", ["dpo", "RUN", "--margin", "0"], /--margin[\s\S]*above 0/],
    ["a file that is there", ["sft", "RUN", "--out", "DIR/train.yaml"], /exists already/],
    ["an unknown form", ["sft", "RUN", "--format", "alpaca"], /alpaca/],
  ])("%s is the user's mistake", async (_name, words, message) => {
    const said = words.map((word) => word.replace("DIR", project.dir).replace("RUN", run));
    const { code, stderr } = await project.forager("export", ...said);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  test("a run that kept no ids gives its text alone", async () => {
    const other = project.at("texts");
    const { code } = await project.forager(
      ...["train", project.at("train.yaml"), `run.dir=${other}`, `model={ path: ${base} }`],
      ...["track.keepTokens=false", "--quiet"],
    );
    expect(code).toBe(0);
    const texts = await project.forager("export", "sft", other, "--json");
    expect(texts.events.at(-1)).toMatchObject({ rows: 4, partial: false });
    const rl = await project.forager("export", "rl", other);
    expect(rl.code).toBe(2);
    expect(rl.stderr).toContain("track.keepTokens");
  });
});
