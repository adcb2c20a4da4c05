import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import { adapted, ask, lora } from "../rl/policy/continuous-toys.ts";
import { createSampler } from "../rl/policy/generate.ts";
import { initLora, type LoraConfig } from "../rl/policy/lora.ts";
import { writeAdapter } from "../rl/policy/peft.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { config, policy, randomPrompt, tokenizer } from "../rl/policy/sampling-toys.ts";
import { createApi } from "./api.ts";
import { ServedError, type ServedModel, type ServedRequest } from "./served-model.ts";
import { type ServedPolicyOptions, servedPolicy } from "./served-policy.ts";

let engine: Engine;
const folder = mkdtempSync(join(tmpdir(), "forager-adapters-"));

beforeAll(async () => {
  engine = await openEngine({ threads: 1, maxSessions: 400 });
});
afterAll(async () => {
  await engine.dispose();
  rmSync(folder, { recursive: true });
});

const serve = (change: Partial<ServedPolicyOptions> = {}) =>
  servedPolicy({ engine, policy, tokenizer, name: "base", ...change });

function adapterFolder(name: string, of: Pick<Policy, "trainable"> & { lora?: LoraConfig }): string {
  const path = join(folder, name);
  writeAdapter(path, { lora: of.lora as LoraConfig, params: of.trainable, base: "toy" });
  return path;
}

const { signal } = new AbortController();
const requestFor = (model: string, change: Parameters<typeof ask>[1] = {}, prompt = randomPrompt(20, 1)) => {
  const { params } = ask(prompt, { maxTokens: 6, ignoreEos: true, ...change });
  return { model, prompt, params } satisfies ServedRequest;
};
const logprobsOf = async (model: ServedModel, request: ServedRequest) =>
  (await model.generate(request, signal)).tokens.map(({ logprob }) => logprob);

async function refused(act: Promise<unknown>): Promise<[string, string]> {
  const error = await act.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ServedError);
  return [(error as ServedError).kind, (error as ServedError).message];
}

async function expectLike(of: Policy, request: ServedRequest, got: readonly number[]) {
  const never = { ...tokenizer, eosIds: [] };
  const { prompt, params } = request;
  const sampler = createSampler({ engine, policy: of, tokenizer: never });
  const [truth] = await sampler.sampleBatch([{ sequence: "s", prompt, params }]);
  expect(got).toHaveLength(truth?.logprobs.length as number);
  for (const [i, logprob] of got.entries())
    expect(Math.abs(logprob - (truth?.logprobs[i] as number))).toBeLessThan(1e-5);
}

describe("adapters at run time", () => {
  test("answer as themselves beside the base, and a zero adapter as the base", async () => {
    const model = serve();
    await model.loadAdapter("v1", adapterFolder("one", adapted(1)));
    await model.loadAdapter("v0", adapterFolder("zero", { trainable: initLora(config, lora, 1), lora }));
    expect(model.cards().map(({ id, parent, contextTokens }) => [id, parent, contextTokens])).toEqual([
      ["base", null, 700],
      ["v1", "base", null],
      ["v0", "base", null],
    ]);
    const names = ["v1", "base", "v0", "v1", "base"];
    const got = await Promise.all(names.map((name) => logprobsOf(model, requestFor(name))));
    const onBase = { ...adapted(1), frozen: policy.trainable };
    for (const [i, name] of names.entries())
      await expectLike(name === "v1" ? onBase : policy, requestFor(name), got[i] as number[]);
    expect(Math.abs((got[0]?.[0] as number) - (got[1]?.[0] as number))).toBeGreaterThan(0.01);
    await model.close();
  });

  test("a policy with an adapter of its own serves it, and others on the same base", async () => {
    const model = serve({ policy: adapted(4) });
    await model.loadAdapter("v1", adapterFolder("one", adapted(1)));
    await expectLike(adapted(4), requestFor("base"), await logprobsOf(model, requestFor("base")));
    await expectLike(adapted(1), requestFor("v1"), await logprobsOf(model, requestFor("v1")));
    await model.close();
  });

  test("unloading takes the name away at once; what runs ends as itself; a name that comes back is new", async () => {
    const model = serve();
    await model.loadAdapter("v", adapterFolder("one", adapted(1)));
    let unload: Promise<void> | undefined;
    const request: ServedRequest = {
      ...requestFor("v", { maxTokens: 20 }),
      onToken: () => {
        unload ??= model.unloadAdapter("v");
      },
    };
    const running = logprobsOf(model, request);
    const got = await running;
    await unload;
    await expectLike(adapted(1), request, got);
    expect(await refused(model.generate(requestFor("v"), signal))).toEqual([
      "unknownModel",
      "The model `v` does not exist. Valid aliases: base.",
    ]);
    expect((await refused(model.unloadAdapter("v")))[0]).toBe("adapterUnknown");
    // Nothing kept under the old weights may answer for the new ones.
    await model.loadAdapter("v", adapterFolder("two", adapted(2)));
    await expectLike(adapted(2), requestFor("v"), await logprobsOf(model, requestFor("v")));
    await model.close();
  });

  test("that cannot be are refused with the reason", async () => {
    const model = serve({ maxLoraRank: 2, maxAdapters: 1 });
    const path = adapterFolder("one", adapted(1));
    expect(await refused(model.loadAdapter("x", join(folder, "none")))).toEqual([
      "adapterMissing",
      `Loading lora x failed: No adapter found for ${join(folder, "none")}`,
    ]);
    expect(await refused(model.loadAdapter("x", path))).toEqual([
      "adapterInvalid",
      "LoRA rank 3 is greater than max_lora_rank 2.",
    ]);
    expect((await refused(model.loadAdapter("base", path)))[0]).toBe("adapterExists");
    const broken = adapterFolder("broken", adapted(1));
    writeFileSync(join(broken, "adapter_config.json"), '{"peft_type": "LORA", "r": 3');
    expect((await refused(model.loadAdapter("x", broken)))[0]).toBe("adapterInvalid");
    const small: LoraConfig = { ...lora, rank: 2 };
    const good = adapterFolder("small", adapted(1, small));
    await model.loadAdapter("y", good);
    expect((await refused(model.loadAdapter("y", good)))[0]).toBe("adapterExists");
    expect((await refused(model.loadAdapter("z", good)))[0]).toBe("overloaded");
    await model.unloadAdapter("y");
    await model.loadAdapter("z", good);
    await model.close();
  });
});

describe("requests", () => {
  test("that cannot be are refused with vLLM's words", async () => {
    const model = serve({ contextTokens: 40 });
    expect(model.contextTokens).toBe(40);
    const kinds = await Promise.all(
      [[], [4, 999_999], randomPrompt(40, 1), randomPrompt(41, 1)].map((prompt) =>
        refused(model.generate(requestFor("base", {}, prompt), signal)),
      ),
    );
    expect(kinds.map(([kind]) => kind)).toEqual(Array(4).fill("badRequest"));
    expect(kinds[0]?.[1]).toBe("You must pass at least one prompt");
    expect(kinds[1]?.[1]).toBe("Token id 999999 is out of vocabulary");
    expect(kinds[3]?.[1]).toMatch(/maximum context length is 40 tokens.*contains 41 input tokens/);
    // More than there is room for is clipped in silence.
    const clipped = await model.generate(requestFor("base", { maxTokens: 100 }, randomPrompt(35, 1)), signal);
    expect(clipped).toMatchObject({ finish: "context", tokens: { length: 5 } });
    const gone = AbortSignal.abort(new Error("hung up"));
    await expect(model.generate(requestFor("base"), gone)).rejects.toThrow("hung up");
    await model.close();
    expect((await refused(model.generate(requestFor("base"), signal)))[0]).toBe("broken");
  });

  test("scores are the logprobs of greedy sampling, at temperature 1, under the model asked for", async () => {
    const model = serve();
    await model.loadAdapter("v1", adapterFolder("one", adapted(1)));
    for (const name of ["base", "v1"]) {
      const request = requestFor(name, { temperature: 0, topLogprobs: 2 });
      const { tokens } = await model.generate(request, signal);
      const text = [...request.prompt, ...tokens.map(({ id }) => id)];
      const scores = await model.score(name, text, 2, signal);
      expect(scores).toHaveLength(text.length - 1);
      for (const [i, token] of tokens.entries()) {
        const score = scores[request.prompt.length - 1 + i];
        expect(score).toMatchObject({ id: token.id, rank: 1 });
        expect(score?.logprob).toBeCloseTo(token.logprob, 5);
        expect(score?.top[1]?.logprob).toBeCloseTo(token.top[1]?.logprob as number, 5);
      }
    }
    expect((await refused(model.score("v2", [4, 5], 0, signal)))[0]).toBe("unknownModel");
    expect((await refused(model.score("base", [4, 999_999], 0, signal)))[0]).toBe("badRequest");
    await model.close();
  });

  test("come through the API, chat by the model's template", async () => {
    const source =
      "{% for m in messages %}{{ m.content }} {% endfor %}{% if add_generation_prompt %}star{% endif %}";
    const model = serve({ chatTemplate: { source, bosToken: "", eosToken: "", where: "toy" } });
    expect(model.chat?.([{ role: "user", content: "what is" }], true)).toBe("what is star");
    expect(serve()).not.toHaveProperty("chat");
    const app = createApi({ model });
    const post = async (path: string, body: object) => {
      const headers = { "content-type": "application/json" };
      const answer = await app.request(path, { method: "POST", headers, body: JSON.stringify(body) });
      expect(answer.status).toBe(200);
      return (await answer.json()) as {
        choices: { token_ids: number[]; logprobs: { token_logprobs: number[] } }[];
      };
    };
    const request = requestFor("base", { seed: 7 });
    const fields = { model: "base", max_tokens: 6, seed: 7, ignore_eos: true, return_token_ids: true };
    const [text] = (await post("/v1/completions", { ...fields, prompt: request.prompt, logprobs: 0 }))
      .choices;
    expect(text?.token_ids).toHaveLength(6);
    await expectLike(policy, request, text?.logprobs.token_logprobs as number[]);
    const messages = [{ role: "user", content: "what is the" }];
    const [said] = (await post("/v1/chat/completions", { ...fields, messages })).choices;
    expect(said?.token_ids).toHaveLength(6);
    expect(model.load()).toMatchObject({ running: 0, waiting: 0, requests: 2, generationTokens: 12 });
    await model.close();
  });
});
