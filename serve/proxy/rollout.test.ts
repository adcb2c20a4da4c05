import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SamplerError } from "../../core/errors.ts";
import { lines, scriptedSampler } from "../../rollout/testing.ts";
import { type RecordingProxy, startProxy } from "./proxy.ts";
import { tokenizer, toyRollout } from "./testing.ts";

let proxy: RecordingProxy;
beforeAll(async () => {
  proxy = await startProxy();
});
afterAll(() => proxy.close());

const user = (content: string) => ({ role: "user" as const, content });

describe("the end of a rollout", () => {
  it("posts: the first stands, the same again is no news, another is refused", async () => {
    const { rollout, post } = toyRollout(proxy, () => "x");
    expect((await post("/reward", { reward: "high" })).status).toBe(400);
    expect((await post("/reward", {})).status).toBe(400);
    expect((await post("/reward", { reward: 0.5, outcome: "answered" })).status).toBe(200);
    const root = rollout.baseUrl.replace(/\/v1$/u, "");
    expect((await post("/reward", { reward: 0.5, outcome: "answered" }, root)).status).toBe(200);
    expect((await post("/reward", { reward: 1 })).status).toBe(409);
    const { posted, tally } = await rollout.close();
    expect(posted).toEqual({ reward: 0.5, outcome: "answered" });
    expect(tally.contradicted).toBe(1);
  });

  it("calls after the end are refused for good", async () => {
    const { rollout, openai, post } = toyRollout(proxy, () => "x");
    await rollout.close();
    const call = openai.chat.completions.create({ model: "m", messages: [user("hi")] });
    await expect(call).rejects.toMatchObject({ status: 410 });
    expect((await post("/reward", { reward: 1 })).status).toBe(410);
    expect((await rollout.finished).tally.calls).toBe(0);
  });

  it("a call under way is abandoned, and so is one whose agent hangs up", async () => {
    const asked: AbortSignal[] = [];
    let heard = () => {};
    const hanging = {
      contextTokens: 100,
      sample: (_request: unknown, signal?: AbortSignal) => {
        asked.push(signal!);
        heard();
        return new Promise<never>((_, reject) =>
          signal!.addEventListener("abort", () => reject(signal!.reason)),
        );
      },
      release: () => {},
    };
    const { rollout, openai } = toyRollout(proxy, () => "x", { sampler: hanging });
    const call = (signal?: AbortSignal) => {
      const sampling = new Promise<void>((resolve) => {
        heard = resolve;
      });
      const made = openai.chat.completions.create(
        { model: "m", messages: [user("hi")] },
        { signal, maxRetries: 0 },
      );
      return { made, sampling };
    };
    const leaving = new AbortController();
    const left = call(leaving.signal);
    await left.sampling;
    leaving.abort();
    await expect(left.made).rejects.toThrow();
    const late = call();
    await late.sampling;
    const { tally, failure } = await rollout.close();
    await expect(late.made).rejects.toMatchObject({ status: 410 });
    expect(asked.every((signal) => signal.aborted)).toBe(true);
    expect([failure, tally.failed]).toEqual([undefined, 0]);
  });
});

describe("a policy that fails", () => {
  it("is a 503 that clients do not repeat; nothing more is sampled, and the rollout has the reason", async () => {
    const error = new SamplerError({ what: "no server answers" });
    const { rollout, openai, sampler } = toyRollout(proxy, lines([error, "x"]));
    for (let i = 0; i < 2; i++)
      await expect(
        openai.chat.completions.create({ model: "m", messages: [user("hi")] }),
      ).rejects.toMatchObject({
        status: 503,
      });
    expect(sampler.requests).toHaveLength(1);
    expect(await rollout.close()).toMatchObject({ failure: error, sequences: [] });
  });

  it("a bug is a 500, and stays what it was", async () => {
    const bug = new TypeError("x is not a function");
    const { rollout, openai } = toyRollout(proxy, lines([bug]));
    const call = openai.chat.completions.create({ model: "m", messages: [user("hi")] });
    await expect(call).rejects.toMatchObject({ status: 500 });
    expect((await rollout.close()).failure).toBe(bug);
  });

  it("a reply that breaks its promises is a failure", async () => {
    const sampler = {
      contextTokens: 100,
      sample: async () => ({
        tokens: [65],
        logprobs: [-9999],
        text: "A",
        finish: "eos" as const,
        version: 0,
      }),
      release: () => {},
    };
    const { rollout, openai } = toyRollout(proxy, () => "x", { sampler });
    const call = openai.chat.completions.create({ model: "m", messages: [user("hi")] });
    await expect(call).rejects.toMatchObject({ status: 503, message: /without a logprob/ });
    await rollout.close();
  });
});

describe("slow answers", () => {
  /** A policy that answers when it is told to. */
  const slow = (patient: RecordingProxy, line: string | Error) => {
    let answer = () => {};
    const told = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const scripted = scriptedSampler(tokenizer, () => line);
    const sample: typeof scripted.sample = (...args) => told.then(() => scripted.sample(...args));
    return { answer, ...toyRollout(patient, () => line, { sampler: { ...scripted, sample } }) };
  };
  const body = { model: "m", messages: [user("hi")] };
  const ask = async (baseUrl: string) => {
    const made = await fetch(`${baseUrl}/chat/completions`, { method: "POST", body: JSON.stringify(body) });
    const reader = made.body!.pipeThrough(new TextDecoderStream()).getReader();
    return { status: made.status, next: async () => (await reader.read()).value };
  };
  let patient: RecordingProxy;
  beforeAll(async () => {
    patient = await startProxy({ keepAliveMs: 5 });
  });
  afterAll(() => patient.close());

  it("an agent that waits hears white space, so that its client does not give up", async () => {
    const { rollout, answer } = slow(patient, "late");
    const { next } = await ask(rollout.baseUrl);
    let text = "";
    while (text.length < 3) text += await next();
    expect(text).toMatch(/^ +$/u);
    answer();
    for (let more = await next(); more !== undefined; more = await next()) text += more;
    expect(JSON.parse(text)).toMatchObject({ choices: [{ message: { content: "late" } }] });
  });

  it("the official client reads through it, streaming or not", async () => {
    const { openai, answer } = slow(patient, "late");
    setTimeout(answer, 30);
    expect((await openai.chat.completions.create(body)).choices[0]?.message.content).toBe("late");
    const other = slow(patient, "late");
    setTimeout(other.answer, 30);
    let streamed = "";
    for await (const { choices } of await other.openai.chat.completions.create({ ...body, stream: true }))
      streamed += choices[0]?.delta.content ?? "";
    expect(streamed).toBe("late");
  });

  it("a failure after that hangs up: it must not look like an answer", async () => {
    const { rollout, answer } = slow(patient, new SamplerError({ what: "gone" }));
    const { status, next } = await ask(rollout.baseUrl);
    expect([status, await next()]).toEqual([200, " "]);
    answer();
    await expect(
      (async () => {
        while ((await next()) !== undefined);
      })(),
    ).rejects.toThrow();
    expect((await rollout.close()).failure).toMatchObject({ message: "gone." });
  });
});
