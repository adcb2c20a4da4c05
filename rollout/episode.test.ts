import { describe, expect, it } from "vitest";
import { DataError, EngineError, EnvError, SamplerError, ToolError } from "../core/errors.ts";
import { seedOf } from "../core/rng.ts";
import { envConfig } from "../env/config.ts";
import type { Environment } from "../env/environment.ts";
import { researcher } from "../env/researcher.ts";
import { tinyIndex } from "../env/testing.ts";
import { type EpisodeOptions, rollEpisode } from "./episode.ts";
import type { Sampler } from "./sampler.ts";
import {
  byteTokenizer,
  type Line,
  lines,
  type ScriptedOptions,
  scriptedSampler,
  toyRenderer,
} from "./testing.ts";

const tokenizer = byteTokenizer();
const renderer = toyRenderer(tokenizer);
const task = { id: "t1", question: "Who?", goldenAnswers: ["Tom Vale"], dataset: "toy", hops: 1 };
const index = tinyIndex([{ id: "a", title: "Blue Harbour", text: "Its director is Tom Vale, café owner" }]);
const environment = researcher({ retriever: index, config: envConfig.parse({ maxTurns: 3 }), seed: 1 });
const decoding = { temperature: 0.7, topP: 1, topK: 0 };
const search = "<think>look</think><search>Blue Harbour</search>";
const answer = "<answer>Tom Vale</answer>";

function roll(script: readonly Line[], change: Partial<EpisodeOptions> = {}, options: ScriptedOptions = {}) {
  const sampler = scriptedSampler(tokenizer, lines(script), options);
  const base = { task, member: 2, environment, sampler, tokenizer, renderer, decoding, seed: 5, step: 9 };
  return { sampler, trajectory: rollEpisode({ ...base, ...change }) };
}

describe("rollEpisode", () => {
  it("records what the model saw, who wrote it, and how it ended", async () => {
    const { sampler, trajectory } = roll([search, answer], {}, { version: () => 4 });
    const { sequences, outcome, ending, member, temperature, failure } = await trajectory;
    expect({ outcome, member, temperature, failure }).toEqual({
      outcome: "answered",
      member: 2,
      temperature: 0.7,
      failure: undefined,
    });
    expect(ending?.searches.map((s) => s.query)).toEqual(["Blue Harbour"]);
    const [sequence] = sequences;
    expect(sequence?.segments.map((s) => [s.source, s.finish, s.version])).toEqual([
      ["prompt", undefined, undefined],
      ["policy", "stop", 4],
      ["observation", undefined, undefined],
      ["policy", "eos", 4],
    ]);
    const all = sequence?.segments.flatMap((s) => s.tokens) ?? [];
    const last = sampler.requests.at(-1)?.prompt ?? [];
    expect(all.slice(0, last.length)).toEqual(last);
    expect(all.at(-1)).toBe(tokenizer.eosIds[0]);
    expect(sequence?.segments.at(-1)?.text).toBe(answer);
    expect(sampler.released).toEqual([sampler.requests[0]?.sequence]);
  });

  it("keys each turn's seed by step, task, member and turn, and a repeat by its attempt too", async () => {
    const { sampler, trajectory } = roll([search, answer]);
    await trajectory;
    expect(sampler.requests.map((r) => r.params.seed)).toEqual(
      [0, 1].map((turn) => seedOf(5, "sample", 9, "t1", 2, turn)),
    );
    const again = roll([answer], { attempt: 1 });
    await again.trajectory;
    expect(again.sampler.requests[0]?.params.seed).not.toBe(sampler.requests[0]?.params.seed);
    expect(again.sampler.requests[0]?.sequence).not.toBe(sampler.requests[0]?.sequence);
  });

  it("gives the environment a question without gold answers", async () => {
    const seen: unknown[] = [];
    const spy: Environment = {
      ...environment,
      play(question, seats, signal) {
        seen.push(question);
        return environment.play(question, seats, signal);
      },
    };
    await roll([answer], { environment: spy }).trajectory;
    expect(seen).toEqual([{ id: "t1", question: "Who?" }]);
  });

  it("marks corrections as injected", async () => {
    const { sequences } = await roll(["</search>", answer]).trajectory;
    expect(sequences[0]?.segments.map((s) => s.source)).toEqual(["prompt", "policy", "injected", "policy"]);
  });
});

describe("limits", () => {
  it("length: the turn's tokens are used up", async () => {
    const short = researcher({ retriever: index, config: envConfig.parse({ turnTokens: 10 }), seed: 1 });
    const { outcome, sequences } = await roll([search], { environment: short }).trajectory;
    expect(outcome).toBe("length");
    expect(sequences[0]?.segments.at(-1)).toMatchObject({ finish: "length", text: search.slice(0, 10) });
  });

  it("context: the sequence is full in the middle of a turn", async () => {
    const room = renderer.prompt(task.question).length + 20;
    const { outcome, sequences } = await roll([search], {}, { contextTokens: room }).trajectory;
    expect(outcome).toBe("length");
    expect(sequences[0]?.segments.at(-1)).toMatchObject({ finish: "context" });
    expect(sequences[0]?.segments.flatMap((s) => s.tokens)).toHaveLength(room);
  });

  it("context: an observation that does not fit is left out, and the episode ends", async () => {
    const room = renderer.prompt(task.question).length + search.length + 20;
    const { outcome, ending, sequences } = await roll([search, answer], {}, { contextTokens: room })
      .trajectory;
    expect(outcome).toBe("length");
    expect(ending).toMatchObject({ turns: 1 });
    expect(sequences[0]?.segments.map((s) => s.source)).toEqual(["prompt", "policy"]);
  });

  it("a prompt longer than the context is the user's mistake", async () => {
    await expect(roll([answer], {}, { contextTokens: 5 }).trajectory).rejects.toThrow(DataError);
    await expect(roll([answer], {}, { contextTokens: 5 }).trajectory).rejects.toThrow(
      /question t1: the prompt does not fit/,
    );
  });
});

describe("infrastructure", () => {
  const failing = (error: Error) =>
    researcher({ retriever: tinyIndex([], { failing: error }), config: envConfig.parse({}), seed: 1 });

  it("retriever: the episode so far is kept, there is no ending", async () => {
    const { outcome, ending, failure, sequences } = await roll([search], {
      environment: failing(new ToolError({ what: "index is gone" })),
    }).trajectory;
    expect({ outcome, ending, failure }).toEqual({
      outcome: "infra(retriever)",
      ending: undefined,
      failure: "index is gone.",
    });
    expect(sequences[0]?.segments.map((s) => s.source)).toEqual(["prompt", "policy"]);
  });

  it("model: also when the environment swallows the failure", async () => {
    const error = new SamplerError({ what: "503" });
    expect((await roll([error]).trajectory).outcome).toBe("infra(model)");
    const swallowing: Environment = {
      ...environment,
      play: async (_, { researcher: seat }) => {
        await seat?.act({ stop: [], maxTokens: 5 }).catch(() => {});
        return { outcome: "no_answer", turns: 0, searches: [], invalidActions: 0, observationTokensCut: 0 };
      },
    };
    expect(await roll([error], { environment: swallowing }).trajectory).toMatchObject({
      outcome: "infra(model)",
      failure: "503.",
    });
  });

  const replies: [string, object, RegExp][] = [
    ["unequal lengths", { logprobs: [-1] }, /unequal length/],
    ["vLLM's mark for no logprob", { logprobs: [-9999, -1] }, /without a logprob/],
    ["NaN", { logprobs: [Number.NaN, -1] }, /without a logprob/],
    ["an unknown id", { tokens: [1, 5000] }, /outside the vocabulary/],
    ["text that was trimmed", { text: "h" }, /not what the tokens decode to/],
    ["no version", { version: Number.NaN }, /no policy version/],
    [
      "too many tokens",
      { tokens: Array(501).fill(104), logprobs: Array(501).fill(-1) },
      /more tokens than asked/,
    ],
  ];
  it.each(replies)("model: a broken reply with %s", async (_, change, message) => {
    const sampler: Sampler = {
      contextTokens: 10_000,
      sample: async () => ({
        tokens: [104, 105],
        logprobs: [-1, -1],
        text: "hi",
        finish: "length",
        version: 0,
        ...change,
      }),
      release: () => {},
    };
    const { outcome, failure } = await roll([], { sampler }).trajectory;
    expect(outcome).toBe("infra(model)");
    expect(failure).toMatch(message);
  });

  it("timeout: a hanging tool, even one that is deaf", async () => {
    const hanging = { ...index, search: () => new Promise<never>(() => {}) };
    const stuck = researcher({ retriever: hanging, config: envConfig.parse({}), seed: 1 });
    const deadlines = { episodeMs: 20, countSampling: true };
    const { outcome, failure } = await roll([search], { environment: stuck, deadlines }).trajectory;
    expect([outcome, failure]).toEqual(["infra(timeout)", "no end within 20 ms"]);
  });

  it("timeout: waiting for an in-process policy does not count", async () => {
    const slow = (base: Sampler): Sampler => ({
      ...base,
      sample: async (request, signal) => {
        await new Promise((resolve) => setTimeout(resolve, 60));
        return base.sample(request, signal);
      },
    });
    const sampler = slow(scriptedSampler(tokenizer, lines([answer])));
    const free = await roll([], { sampler, deadlines: { episodeMs: 30, countSampling: false } }).trajectory;
    expect(free.outcome).toBe("answered");
    const held = await roll([], { sampler, deadlines: { episodeMs: 30, countSampling: true } }).trajectory;
    expect(held.outcome).toBe("infra(timeout)");
  });

  it("cancelled: before it starts and in the middle", async () => {
    expect((await roll([answer], { signal: AbortSignal.abort() }).trajectory).outcome).toBe("cancelled");
    const controller = new AbortController();
    const aborting = {
      ...index,
      search() {
        controller.abort();
        return new Promise<never>(() => {});
      },
    };
    const environment = researcher({ retriever: aborting, config: envConfig.parse({}), seed: 1 });
    const cancelled = await roll([search], { environment, signal: controller.signal }).trajectory;
    expect(cancelled).toMatchObject({ outcome: "cancelled" });
    expect(cancelled.ending).toBeUndefined();
  });
});

describe("bugs and the user's mistakes are thrown", () => {
  it("of tools, samplers and environments", async () => {
    const bug = new TypeError("x is not a function");
    await expect(roll([bug]).trajectory).rejects.toBe(bug);
    await expect(roll([new EngineError({ what: "unknown kernel" })]).trajectory).rejects.toThrow(EngineError);
    const odd = { ...environment, play: async () => ({ outcome: "won" }) as never };
    await expect(roll([answer], { environment: odd }).trajectory).rejects.toThrow(EnvError);
  });

  it("two acts at once on one seat", async () => {
    const hasty: Environment = {
      ...environment,
      play: async (_, { researcher: seat }) => {
        await Promise.all([seat?.act({ stop: [], maxTokens: 5 }), seat?.act({ stop: [], maxTokens: 5 })]);
        return { outcome: "answered", turns: 2, searches: [], invalidActions: 0, observationTokensCut: 0 };
      },
    };
    await expect(roll([answer, answer], { environment: hasty }).trajectory).rejects.toThrow(
      /act during an act/,
    );
  });
});

it("a chat frame does not close a turn twice", async () => {
  const chat = { ...renderer, observation: (text: string) => `<eos>user:${text}<eos>assistant:` };
  const strict = researcher({
    retriever: index,
    config: envConfig.parse({ noAction: "correct", correction: "act" }),
    seed: 1,
  });
  const { sequences } = await roll(["hm", search, answer], { renderer: chat, environment: strict })
    .trajectory;
  const text = tokenizer.decode(sequences[0]?.segments.flatMap((s) => s.tokens) ?? []);
  expect(text).toContain("hm<eos>user:act<eos>assistant:<think>");
  expect(text).toContain("</search><eos>user:");
});
