import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tinyTokenizer } from "../rollout/tiny-tokenizer.ts";
import type { ServedRequest, ServedToken } from "./served-model.ts";
import { adapterWeights, baseWeights, stubDistribution } from "./stub-logprobs.ts";
import { type StubModelOptions, stubModel } from "./stub-model.ts";
import { parseStubScript, placeOf } from "./stub-script.ts";

const params: ServedRequest["params"] = {
  ...{ temperature: 1, topP: 1, topK: 0, maxTokens: 500, stop: [], seed: 1 },
  ...{ topLogprobs: 0, stopTokenIds: [], ignoreEos: false, minTokens: 0 },
};
const never = new AbortController().signal;

async function say(prompt: string, own: Partial<typeof params> = {}, options: StubModelOptions = {}) {
  const model = stubModel(options);
  const ids = model.tokenizer.encode(prompt);
  const request = { model: model.name, prompt: ids, params: { ...params, ...own } };
  const completion = await model.generate(request, never);
  const text = model.tokenizer.decode(completion.tokens.map(({ id }) => id));
  return { model, ids, completion, text };
}

describe("random completions", () => {
  test("think, then search or answer; by the seed and the turn", async () => {
    const texts = await Promise.all(
      [1, 1, 2, 3].map(async (seed) => (await say("Question: who?", { seed })).text),
    );
    expect(texts[0]).toBe(texts[1]);
    expect(new Set(texts).size).toBe(3);
    for (const text of texts)
      expect(text).toMatch(/^<think> [a-z ]+ <\/think>\n<(search|answer)> [a-z ]+ <\/\1><eos>$/);
  });

  test("after three searches there is an answer", async () => {
    const prompt = `Question: who?${"<search> x </search><information> y </information>".repeat(3)}`;
    for (const seed of [1, 2, 3, 4, 5, 6]) expect((await say(prompt, { seed })).text).toContain("<answer>");
  });

  test("greedy: by the prompt alone", async () => {
    const greedy = (prompt: string, seed: number) => say(prompt, { temperature: 0, seed });
    expect((await greedy("a", 1)).text).toBe((await greedy("a", 2)).text);
    expect((await greedy("a", 1)).text).not.toBe((await greedy("b", 1)).text);
  });

  test("in another vocabulary: with words that it has", async () => {
    const tokenizer = tinyTokenizer({
      special: ["<pad>", "<eos>", "<think>", "</think>", "<search>", "</search>", "<answer>", "</answer>"],
      words: ["zebra", "yak"],
      syllables: ["ba", "bo"],
    });
    const { text } = await say("zebra", {}, { tokenizer });
    expect(text).toMatch(/^<think> ((zebra|yak|ba|bo)+ ?)+<\/think> </);
  });
});

describe("scripts", () => {
  const script = parseStubScript({
    lines: [
      { question: "capital", turn: 0, say: "<search> capital </search>" },
      { question: "capital", model: "v2$", say: "<answer> Lyon </answer>" },
      { question: "capital", say: "<answer> Paris </answer>" },
      { turn: "^[1-9]", say: ["<answer> a </answer>", "<answer> b </answer>"] },
    ],
  });
  const asked = (prompt: string, own: Partial<typeof params> = {}) => say(prompt, own, { script });

  test("the first line whose question, turn and model match", async () => {
    const chat = "Example\nQuestion: x\n<information> y </information>\nuser: Question: the capital?\n";
    expect((await asked(chat)).text).toBe("<search> capital </search><eos>");
    const second = `${chat}<search> capital </search><information> … </information>`;
    expect((await asked(second)).text).toBe("<answer> Paris </answer><eos>");
    const model = stubModel({ script, adapterFiles: "ignore" });
    await model.loadAdapter("run-v2", "/x");
    const prompt = model.tokenizer.encode(second);
    const { tokens } = await model.generate({ model: "run-v2", prompt, params }, never);
    expect(model.tokenizer.decode(tokens.map(({ id }) => id))).toContain("Lyon");
  });

  test("several texts are drawn from by the seed; greedy says the first", async () => {
    const prompt = "Question: other?</information>";
    const texts = await Promise.all(
      Array.from({ length: 20 }, async (_, seed) => (await asked(prompt, { seed })).text),
    );
    expect(new Set(texts).size).toBe(2);
    expect((await asked(prompt, { temperature: 0, seed: 7 })).text).toContain(" a ");
  });

  test("where no line matches, random words", async () => {
    expect((await asked("Question: other?")).text).toMatch(/^<think>/);
  });

  test("the question and the turn are read after its last mark", () => {
    const marks = parseStubScript({ lines: [{ say: "x" }] });
    expect(placeOf("<question> who is it? </question>", marks)).toEqual({ question: "who is it?", turn: 0 });
    expect(placeOf("no mark at all\nmore", marks)).toEqual({ question: "no mark at all", turn: 0 });
  });

  test.each([
    [{ lines: [] }, /lines/],
    [{ lines: [{ say: "x", question: "(" }] }, /lines\.0\.question/],
    [{ lines: [{ say: "x", qestion: "a" }] }, /lines\.0/],
  ])("%j is refused", (value, message) => {
    expect(() => parseStubScript(value)).toThrow(message);
  });

  test("a text that the tokenizer cannot write is refused at the start", () => {
    const tokenizer = tinyTokenizer({ special: ["<pad>", "<eos>"], words: ["yak"], syllables: [] });
    expect(() => stubModel({ tokenizer, script: parseStubScript({ lines: [{ say: "gnu" }] }) })).toThrow(
      /gnu/,
    );
  });
});

describe("how completions end", () => {
  const script = parseStubScript({ lines: [{ say: "one two three" }] });
  const end = async (own: Partial<typeof params>) => {
    const { completion, text } = await say("x", own, { script });
    return { text, finish: completion.finish, stopReason: completion.stopReason };
  };
  test.each([
    [{}, { text: "one two three<eos>", finish: "eos" }],
    [{ maxTokens: 3 }, { text: "one", finish: "length" }],
    [{ stop: ["three", "wo t"] }, { text: "one two t", finish: "stop", stopReason: "wo t" }],
    [
      { stop: ["e"], minTokens: 3 },
      { text: "one two thre", finish: "stop", stopReason: "e" },
    ],
    [{ stopTokenIds: [32] }, { text: "one ", finish: "stop", stopReason: 32 }],
    [
      { ignoreEos: true, maxTokens: 16 },
      { text: "one two three<eos>on", finish: "length" },
    ],
    [{ minTokens: 15, maxTokens: 60 }, { finish: "eos" }],
  ])("%j", async (own, expected) => {
    expect(await end(own)).toMatchObject(expected);
  });
});

describe("logprobs", () => {
  test("a completion's are what the same tokens score as a prompt, at temperature 1", async () => {
    const { model, ids, completion } = await say("Hi");
    const tokens = completion.tokens.map(({ id }) => id);
    const scored = await model.score(model.name, [...ids, ...tokens], 1, never);
    expect(scored).toHaveLength(ids.length + tokens.length - 1);
    expect(scored.slice(ids.length - 1).map(({ logprob }) => logprob)).toEqual(
      completion.tokens.map(({ logprob }) => logprob),
    );
  });

  test("law: each is a distribution over the vocabulary, sharper at lower temperature", () => {
    const id = fc.integer({ min: 0, max: 299 });
    fc.assert(
      fc.property(id, id, fc.double({ min: 0.4, max: 3, noNaN: true }), (before, next, temperature) => {
        const { of, ofOthers } = stubDistribution("w", 300);
        const total =
          Math.exp(of(before, next, temperature)) + 299 * Math.exp(ofOthers(before, next, temperature));
        expect(total).toBeCloseTo(1, 10);
        expect(of(before, next, temperature)).toBeGreaterThan(of(before, next, temperature + 0.1));
        expect(of(before, next, 0)).toBe(of(before, next, 1));
      }),
    );
  });

  test("the sampled token leads the likeliest", async () => {
    const { completion } = await say("Hi", { topLogprobs: 3 });
    for (const { id, logprob, top } of completion.tokens) {
      expect(top[0]).toEqual({ id, logprob });
      expect(new Set(top.map((each) => each.id)).size).toBe(3);
      expect(top[1]?.logprob).toBeLessThan(logprob);
    }
  });
});

describe("adapters", () => {
  test("are what is in their files; one whose B is zero is the base", () => {
    const folder = mkdtempSync(join(tmpdir(), "forager-stub-"));
    const write = (name: string, value: number) => {
      mkdirSync(join(folder, name));
      const header = Buffer.from(
        JSON.stringify({
          "x.lora_A.weight": { dtype: "F32", shape: [1], data_offsets: [0, 4] },
          "x.lora_B.weight": { dtype: "F32", shape: [1], data_offsets: [4, 8] },
        }),
      );
      const bytes = Buffer.alloc(8 + header.length + 8);
      bytes.writeBigUInt64LE(BigInt(header.length));
      header.copy(bytes, 8);
      bytes.writeFloatLE(1, 8 + header.length);
      bytes.writeFloatLE(value, 12 + header.length);
      writeFileSync(join(folder, name, "adapter_model.safetensors"), bytes);
      return adapterWeights(join(folder, name));
    };
    expect(write("zero", 0)).toBe(baseWeights);
    expect(write("one", 1)).toBe(write("same", 1));
    expect(write("two", 2)).not.toBe(adapterWeights(join(folder, "one")));
    rmSync(folder, { recursive: true, force: true });
  });

  test("must be there, unless files do not matter", async () => {
    const model = stubModel();
    await expect(model.loadAdapter("a", "/nowhere")).rejects.toMatchObject({ kind: "adapterMissing" });
    const loose = stubModel({ adapterFiles: "ignore" });
    await loose.loadAdapter("a", "/nowhere");
    await expect(loose.loadAdapter("a", "/nowhere")).rejects.toMatchObject({ kind: "adapterExists" });
    loose.forget();
    await expect(loose.unloadAdapter("a")).rejects.toMatchObject({ kind: "adapterUnknown" });
  });
});

describe("time", () => {
  const request: ServedRequest = { model: "stub", prompt: [65], params: { ...params, maxTokens: 3 } };

  test("a latency before the first token; aborted at once", async () => {
    const model = stubModel({ latencyMs: 60_000 });
    const leave = new AbortController();
    const work = model.generate(request, leave.signal);
    leave.abort();
    await expect(work).rejects.toMatchObject({ name: "AbortError" });
  });

  test("tokens are told as they come, at their pace", async () => {
    const model = stubModel({ tokensPerSecond: 50 });
    const told: ServedToken[] = [];
    const began = performance.now();
    const { tokens } = await model.generate({ ...request, onToken: (token) => told.push(token) }, never);
    expect(told).toEqual(tokens);
    expect(performance.now() - began).toBeGreaterThan(35);
  });

  test("more than may run wait, and the load says so", async () => {
    const model = stubModel({ latencyMs: { from: 20, to: 40 }, maxRunning: 2 });
    const all = Promise.all([1, 2, 3].map(() => model.generate(request, never)));
    await Promise.resolve();
    await Promise.resolve();
    expect(model.load()).toMatchObject({ running: 2, waiting: 1 });
    await all;
    expect(model.load()).toMatchObject({ running: 0, waiting: 0, requests: 3, generationTokens: 9 });
    model.pretend({ kvCacheUsage: 0.99, preemptions: 4 });
    expect(model.load()).toMatchObject({ kvCacheUsage: 0.99, preemptions: 4, requests: 3 });
  });
});
