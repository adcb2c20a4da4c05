import { afterEach, describe, expect, test } from "vitest";
import { type FaultName, type FaultRule, faultAt, faultNames, faults } from "./faults.ts";
import { type Stub, type StubOptions, startStub } from "./stub.ts";

const open: Stub[] = [];
afterEach(async () => {
  for (const stub of open.splice(0)) await stub.close();
});

async function started(options: StubOptions): Promise<Stub> {
  const stub = await startStub({ adapterFiles: "ignore", ...options });
  open.push(stub);
  return stub;
}

const asked = { prompt: [72, 105], max_tokens: 4, logprobs: 0, return_token_ids: true, seed: 1 };

function post(stub: Stub, path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(stub.url + path, {
    ...{ method: "POST", headers, body: JSON.stringify(body) },
    ...(signal ? { signal } : {}),
  });
}

const complete = (stub: Stub, signal?: AbortSignal) => post(stub, "/v1/completions", asked, signal);
const load = (stub: Stub, name: string) =>
  post(stub, "/v1/load_lora_adapter", { lora_name: name, lora_path: "/x" });

interface Reply {
  readonly model: string;
  readonly choices: { token_ids?: number[]; logprobs: { token_logprobs: (number | null)[] } }[];
}

/** A stub whose first request of the fault's kind is struck, and whose second is not. */
const struckOnce = (fault: FaultName, rule: Partial<FaultRule> = {}) =>
  started({ faults: [{ fault, at: [1], ...rule }] });

describe("each fault, as a raw client sees it", () => {
  test.each([
    ["status500", 500, "InternalServerError"],
    ["status503", 503, "ServiceUnavailableError"],
    ["status429", 429, "RateLimitError"],
  ] as const)("%s", async (fault, status, type) => {
    const stub = await struckOnce(fault);
    const response = await complete(stub);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { type, code: status } });
    expect((await complete(stub)).status).toBe(200);
    expect(stub.counters).toMatchObject({ requests: { generate: 2 }, faults: { [fault]: 1 } });
  });

  test("hang: no answer, until the client goes", async () => {
    const stub = await struckOnce("hang");
    await expect(complete(stub, AbortSignal.timeout(50))).rejects.toThrow(/aborted due to timeout/);
    expect((await complete(stub)).status).toBe(200);
  });

  test("hang: closing the stub ends it", async () => {
    const stub = await struckOnce("hang");
    const failed = complete(stub).catch((error: unknown) => error);
    while (stub.counters.faults.hang === 0) await new Promise((resolve) => setImmediate(resolve));
    await stub.close();
    expect(await failed).toBeInstanceOf(Error);
  });

  test("badJson: 200, and a body that does not parse", async () => {
    const response = await complete(await struckOnce("badJson"));
    expect(response.status).toBe(200);
    await expect(response.json()).rejects.toBeInstanceOf(SyntaxError);
  });

  test.each([
    ["noTokenIds", (reply: Reply) => expect(reply.choices[0]).not.toHaveProperty("token_ids")],
    ["fewTokenIds", (reply: Reply) => expect(reply.choices[0]?.token_ids).toHaveLength(3)],
    ["nullLogprob", (reply: Reply) => expect(reply.choices[0]?.logprobs.token_logprobs[0]).toBeNull()],
    ["clampedLogprob", (reply: Reply) => expect(reply.choices[0]?.logprobs.token_logprobs[0]).toBe(-9999)],
    ["wrongModel", (reply: Reply) => expect(reply.model).toBe("another-model")],
  ] as const)("%s", async (fault, check) => {
    const stub = await struckOnce(fault);
    const broken = (await (await complete(stub)).json()) as Reply;
    check(broken);
    expect(broken.choices[0]?.logprobs.token_logprobs).toHaveLength(4);
    const right = (await (await complete(stub)).json()) as Reply;
    expect(right).toMatchObject({ model: "stub", choices: [{ token_ids: expect.any(Array) }] });
    expect(right.choices[0]?.token_ids).toHaveLength(4);
    expect(right.choices[0]?.logprobs.token_logprobs.every((each) => each !== null && each > -100)).toBe(
      true,
    );
  });

  test("dropBeforeHead: the connection is reset, there is no head", async () => {
    const stub = await struckOnce("dropBeforeHead");
    await expect(complete(stub)).rejects.toThrow(/fetch failed/);
    expect((await complete(stub)).status).toBe(200);
  });

  test("dropHalfBody: the head is there, the body breaks off", async () => {
    const stub = await struckOnce("dropHalfBody");
    const response = await complete(stub);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    expect((await complete(stub)).status).toBe(200);
  });

  test("slow and loadSlow: the answer comes, later", async () => {
    const stub = await started({
      faults: [
        { fault: "slow", at: [1], delayMs: 60 },
        { fault: "loadSlow", at: [1], delayMs: 60 },
      ],
    });
    for (const ask of [() => complete(stub), () => load(stub, "a")]) {
      const began = performance.now();
      expect((await ask()).status).toBe(200);
      expect(performance.now() - began).toBeGreaterThan(50);
    }
    expect(stub.model.cards()).toHaveLength(2);
  });

  test.each([
    ["load500", 500],
    ["load404", 404],
  ] as const)("%s: the adapter is not there, and may be tried again", async (fault, status) => {
    const stub = await struckOnce(fault);
    const response = await load(stub, "a");
    expect(response.status).toBe(status);
    if (status === 404) expect(await response.text()).toMatch(/No adapter found/);
    expect(stub.model.cards()).toHaveLength(1);
    expect((await load(stub, "a")).status).toBe(200);
  });

  test("restart: connections break, adapters are forgotten, and it serves again", async () => {
    const stub = await started({ faults: [{ fault: "restart", at: [1] }] });
    await load(stub, "run-v1");
    await expect(complete(stub)).rejects.toThrow(/fetch failed/);
    const response = await post(stub, "/v1/completions", { ...asked, model: "run-v1" });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { type: "NotFoundError", param: "model" } });
    expect((await load(stub, "run-v1")).status).toBe(200);
  });

  test("every fault is shown here", () => {
    const shown =
      "status500 status503 status429 hang slow badJson noTokenIds fewTokenIds nullLogprob clampedLogprob wrongModel dropBeforeHead dropHalfBody loadSlow load500 load404 restart";
    expect(faultNames).toEqual(shown.split(" "));
  });
});

describe("when a fault strikes", () => {
  const rules: readonly FaultRule[] = [
    { fault: "load500", probability: 1 },
    { fault: "hang", at: [2] },
    { fault: "status500", probability: 0.25 },
  ];

  test("by the seed and the count of the request's kind alone", () => {
    const struck = (seed: number) =>
      Array.from({ length: 400 }, (_, i) => faultAt(rules, "generate", i + 1, seed)?.fault);
    expect(struck(1)).toEqual(struck(1));
    expect(struck(1)).not.toEqual(struck(2));
    expect(struck(1)[1]).toBe("hang");
    const share = struck(1).filter((fault) => fault === "status500").length / 400;
    expect(share).toBeGreaterThan(0.19);
    expect(share).toBeLessThan(0.31);
  });

  test("requests of other kinds are let alone", () => {
    expect(faultAt(rules, "load", 1, 0)?.fault).toBe("load500");
    expect(faultAt(rules, "other", 1, 0)).toBeUndefined();
    expect(new Set(Object.values(faults).map(({ on }) => on))).toEqual(new Set(["generate", "load"]));
  });

  test("chat completions are struck like completions", async () => {
    const stub = await started({ faults: [{ fault: "nullLogprob", at: [1] }] });
    const body = { messages: [{ role: "user", content: "Hi" }], logprobs: true, max_tokens: 2 };
    const reply = (await (await post(stub, "/v1/chat/completions", body)).json()) as {
      choices: { logprobs: { content: { logprob: number | null }[] } }[];
    };
    expect(reply.choices[0]?.logprobs.content.map(({ logprob }) => logprob === null)).toEqual([true, false]);
  });
});
