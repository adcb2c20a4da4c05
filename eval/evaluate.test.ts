import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { DataError, SamplerError } from "../core/errors.ts";
import type { Task } from "../datasets/task.ts";
import { envConfig } from "../env/config.ts";
import { researcher } from "../env/researcher.ts";
import { tinyIndex } from "../env/testing.ts";
import { rewardConfig } from "../reward/config.ts";
import { normalizers } from "../reward/normalize.ts";
import { scoreFile } from "../reward/score-file.ts";
import { makeScorer } from "../reward/scorer.ts";
import { rollGroups } from "../rollout/groups.ts";
import type { SampleRequest } from "../rollout/sampler.ts";
import { byteTokenizer, type Line, scriptedSampler, toyRenderer } from "../rollout/testing.ts";
import { type EvaluateOptions, evaluate } from "./evaluate.ts";
import type { EvalRecord } from "./record.ts";
import { readLatency } from "./timing.ts";

const root = mkdtempSync(join(tmpdir(), "forager-eval-"));
afterAll(() => rmSync(root, { recursive: true }));
let folders = 0;
const newFolder = () => join(root, `${folders++}`);

const tokenizer = byteTokenizer();
const renderer = toyRenderer(tokenizer);
const retriever = tinyIndex([{ id: "p", title: "Doors", text: "What is behind each door" }]);
const environment = researcher({ retriever, config: envConfig.parse({ maxTurns: 3 }), seed: 1 });
const tasks: Task[] = Array.from({ length: 60 }, (_, i) => ({
  id: `t:${i}`,
  question: `What is behind door ${i}?`,
  goldenAnswers: [`thing ${i}`],
  dataset: "doors",
  hops: (i % 2) + 1,
}));

/** Searches once, then is right about even doors; when sampled, about doors the seed likes. */
function honest({ prompt, params }: SampleRequest, turn: number): Line {
  if (turn === 0) return "<think>look</think><search>doors</search>";
  const door = Number(/door (\d+)/.exec(tokenizer.decode(prompt))?.[1]);
  const knows = params.temperature === 0 ? door % 2 === 0 : params.seed % 2 === 0;
  return knows ? `<answer>thing ${door}</answer>` : "<answer>nothing</answer>";
}

/** The real rollouts over a scripted policy; `rolled` counts the questions asked. */
function setup(over: Partial<EvaluateOptions> = {}, script: typeof honest = honest) {
  const asked: string[] = [];
  const options: EvaluateOptions = {
    benchmark: "doors",
    tasks,
    mode: "greedy",
    samples: 1,
    decoding: { temperature: 1, topP: 1, topK: 0 },
    step: 3,
    seed: 5,
    episodesAtOnce: 16,
    roll: (chunk, request) => {
      asked.push(...chunk.map(({ id }) => id));
      const policy = scriptedSampler(tokenizer, script);
      const fixed = { maxRows: 8, concurrency: 4, retries: 1, retryDelayMs: 0, episodeTimeoutMs: 0 };
      return rollGroups(chunk, { environment, tokenizer, renderer, policy, ...fixed, ...request });
    },
    scorer: makeScorer(rewardConfig.parse({})),
    folder: newFolder(),
    identity: { policy: "honest" },
    ...over,
  };
  return { asked, options };
}
const recordsOf = ({ folder }: EvaluateOptions) => readFileSync(join(folder, "records.jsonl"), "utf8");

describe("evaluate", () => {
  test("greedy: the numbers, the records in the benchmark's order, and the same in result.json", async () => {
    const { options } = setup();
    const result = await evaluate(options);
    expect(result).toMatchObject({
      step: 3,
      mode: "greedy",
      benchmark: "doors",
      n: 60,
      em: 0.5,
      turns: 2,
      searches: 1,
    });
    expect(result).toMatchObject({
      infra: 0,
      valid: true,
      outcomes: { answered: 60 },
      byHops: { 1: { em: 1, n: 30 }, 2: { em: 0, n: 30 } },
    });
    expect(result.emAt).toMatchObject({ 50: { n: 50, em: 0.5 } });
    expect(result.emAt).not.toHaveProperty("100");
    const lines = recordsOf(options)
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ id, place }) => [id, place])).toEqual(tasks.map(({ id }, i) => [id, i]));
    expect(JSON.parse(readFileSync(join(options.folder, "result.json"), "utf8"))).toEqual(result);
    expect(readLatency(options.folder)).toMatchObject({ episodes: 60 });
  });

  test("its records are food for `forager score`, which finds the same EM", async () => {
    const { options } = setup();
    const result = await evaluate(options);
    const totals = await scoreFile(join(options.folder, "records.jsonl"), { normalizer: normalizers.squad });
    expect([totals.n, totals.em]).toEqual([60, result.em]);
  });

  test("sampled: several samples a question, the same numbers twice and at another step, others under another seed", async () => {
    const sampled = { mode: "sampled", samples: 3 } as const;
    const run = async (over: Partial<EvaluateOptions>) => {
      const { options } = setup({ ...sampled, ...over });
      const { step: _, ...numbers } = await evaluate(options);
      return { numbers, records: recordsOf(options) };
    };
    const first = await run({});
    expect(first.numbers).toMatchObject({ n: 60, samples: 3 });
    expect(Object.keys(first.numbers.passAt)).toEqual(["1", "2"]);
    expect(first.numbers.passAt["2"]).toBeGreaterThan(first.numbers.em);
    expect(first.numbers.atK?.["3"]).toMatchObject({
      n: 60,
      pass: expect.any(Number),
      maj: expect.any(Number),
    });
    expect(await run({ step: 50 })).toEqual(first);
    expect((await run({ seed: 6 })).numbers.em).not.toBe(first.numbers.em);
  });

  test("killed anywhere, it continues with what is missing and ends with the same file", async () => {
    const whole = setup({ mode: "sampled", samples: 2 });
    const result = await evaluate(whole.options);
    const full = recordsOf(whole.options);
    for (const cut of [0, 1, 700, 5000, full.indexOf("\n", full.length / 2) + 1, full.length - 1]) {
      const again = setup({ mode: "sampled", samples: 2 });
      mkdirSync(again.options.folder);
      const manifest = "manifest.json";
      copyFileSync(join(whole.options.folder, manifest), join(again.options.folder, manifest));
      writeFileSync(join(again.options.folder, "records.jsonl"), full.slice(0, cut));
      expect(await evaluate(again.options)).toEqual(result);
      expect(recordsOf(again.options)).toBe(full);
      const wholeLines = full.slice(0, cut).split("\n").length - 1;
      expect(again.asked.length).toBe(60 - Math.floor(wholeLines / 16) * 8);
    }
    await evaluate(whole.options);
    expect(whole.asked).toHaveLength(60);
  });

  test("an aborted evaluation throws the reason and leaves no half chunk", async () => {
    const controller = new AbortController();
    const { options } = setup({
      signal: controller.signal,
      onProgress: (done) => {
        if (done === 20) controller.abort(new Error("Ctrl-C"));
      },
    });
    await expect(evaluate(options)).rejects.toThrow("Ctrl-C");
    expect(recordsOf(options).trimEnd().split("\n")).toHaveLength(16);
  });

  test("a failed episode is reported apart, and played again by the next attempt", async () => {
    const sick = (request: SampleRequest, turn: number): Line =>
      tokenizer.decode(request.prompt).includes("door 21?")
        ? new SamplerError({ what: "the server is gone" })
        : honest(request, turn);
    // One sampler call at a time, so that the failure stays with its own question.
    const roll: EvaluateOptions["roll"] = (chunk, request) => {
      const { sample, release, contextTokens } = scriptedSampler(tokenizer, sick);
      const fixed = { maxRows: 8, concurrency: 1, retries: 1, retryDelayMs: 0, episodeTimeoutMs: 0 };
      return rollGroups(chunk, {
        environment,
        tokenizer,
        renderer,
        policy: { sample, release, contextTokens },
        ...fixed,
        ...request,
      });
    };
    const first = setup({ roll });
    const result = await evaluate(first.options);
    expect(result).toMatchObject({
      n: 59,
      em: 30 / 59,
      infra: 1,
      valid: true,
      outcomes: { "infra(model)": 1 },
    });
    expect(result.failure).toContain("the server is gone");
    const healthy = setup({ folder: first.options.folder });
    expect(await evaluate(healthy.options)).toMatchObject({ n: 60, infra: 0 });
    // Its chunk alone, questions 16 to 31.
    expect(healthy.asked).toEqual(tasks.slice(16, 32).map(({ id }) => id));
  });

  test("a dead server stops it early: invalid, no zeros", async () => {
    const { asked, options } = setup({}, () => new SamplerError({ what: "connection refused" }));
    expect(await evaluate(options)).toMatchObject({ n: 0, infra: 16, infraShare: 1, valid: false });
    expect(asked).toHaveLength(16);
  });

  test("records of another policy, seed or order are refused, naming what differs", async () => {
    const { options } = setup();
    await evaluate(options);
    await expect(evaluate({ ...options, identity: { policy: "other" } })).rejects.toThrow(
      /expected policy: other, got policy: honest/,
    );
    await expect(evaluate({ ...options, seed: 6 })).rejects.toThrow(DataError);
    await expect(evaluate({ ...options, tasks: tasks.toReversed() })).rejects.toThrow(/expected order: /);
  });

  test("a manifest of an earlier version goes on as it is; a reward or judge that it names must be the same", async () => {
    const { options, asked } = setup();
    const path = join(options.folder, "manifest.json");
    await evaluate(options);
    const old = readFileSync(path, "utf8");
    const scored = { policy: "honest", "reward.maxDivisor": 4, "judge.model": "m" };
    asked.length = 0;
    await evaluate({ ...options, identity: scored });
    expect(asked).toEqual([]);
    expect(readFileSync(path, "utf8")).toBe(old);
    writeFileSync(path, JSON.stringify({ ...scored, ...(JSON.parse(old) as object) }));
    await evaluate({ ...options, identity: scored });
    const other = { ...scored, "judge.model": "n", "reward.weights.f1": 1 };
    await expect(evaluate({ ...options, identity: other })).rejects.toThrow(
      /expected judge.model: n, reward.weights.f1: 1, got judge.model: m, reward.weights.f1: \(none\)/,
    );
    writeFileSync(path, "[]");
    await expect(evaluate(options)).rejects.toThrow(/manifest.json of an evaluation is damaged/);
  });

  test("prices: cost in every record and in the result; other prices play nothing again", async () => {
    const prices = { currency: "USD", promptPerMillionTokens: 2, completionPerMillionTokens: 10 };
    const { options, asked } = setup({ prices });
    const { cost } = await evaluate(options);
    const records = recordsOf(options).trim().split("\n");
    const parsed = records.map((line) => JSON.parse(line) as EvalRecord);
    const [first] = parsed;
    expect(first!.promptTokens).toBeGreaterThan(first!.policyTokens);
    expect(first!.cost).toEqual({
      currency: "USD",
      amount: (2 * first!.promptTokens! + 10 * first!.policyTokens) / 1e6,
    });
    const total = parsed.reduce((sum, each) => sum + each.cost!.amount, 0);
    expect(cost).toEqual({ currency: "USD", total, perQuestion: total / 60 });
    asked.length = 0;
    const dearer = await evaluate({ ...options, prices: { ...prices, currency: "EUR" } });
    expect(dearer.cost).toEqual({ ...cost, currency: "EUR" });
    expect(await evaluate({ ...options, prices: undefined })).not.toHaveProperty("cost");
    expect(recordsOf(options)).not.toContain("cost");
    expect(asked).toEqual([]);
  });

  test("a damaged line before the last, twice the same id, and no question at all are errors", async () => {
    const { options } = setup();
    await evaluate(options);
    appendFileSync(join(options.folder, "records.jsonl"), "{}\n");
    await expect(evaluate(options)).rejects.toThrow(/records.jsonl:61: an evaluation record is damaged/);
    await expect(evaluate(setup({ tasks: [...tasks, tasks[0]!] }).options)).rejects.toThrow(
      /two questions with one id/,
    );
    await expect(evaluate(setup({ tasks: [] }).options)).rejects.toThrow(/no questions/);
  });
});
