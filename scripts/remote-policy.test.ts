import { existsSync, readdirSync, readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Stub, type StubOptions, startStub } from "../serve/stub.ts";
import { parseStubScript } from "../serve/stub-script.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";
import { schooled } from "./testing/toy-school.ts";
import { type Serving, serving, type ToyServed } from "./testing/toy-served.ts";

/** A policy behind an address: evaluated, examined, and refused where it cannot be trained. */
let project: Project;
let base: string;
let toys: Serving;
let server: ToyServed;
const stubs: Stub[] = [];

beforeAll(async () => {
  project = toyProject();
  base = await schooled(project);
  toys = await serving(base);
  server = await toys.start();
}, 120_000);
afterEach(async () => {
  for (const stub of stubs.splice(0)) await stub.close();
});
afterAll(async () => {
  await toys?.close();
  project?.remove();
});

const at = (name: string) => project.at(name);
async function stubbed(o: StubOptions): Promise<Stub> {
  const stub = await startStub(o);
  stubs.push(stub);
  return stub;
}

const model = () => `model={ path: ${base}, lora: { rank: 4, alpha: 8 } }`;
const benchmark = () =>
  `eval.benchmarks=[{ name: dev, source: { kind: jsonl, path: ${at("questions.jsonl")} } }]`;
const evaluate = (out: string, ...words: string[]) =>
  project.forager(
    ...["eval", at("train.yaml"), model(), benchmark(), "env.maxTurns=3", "--out", at(out), "--json"],
    ...["--quiet", ...words],
  );
const records = (out: string, mode: string) =>
  readFileSync(at(`${out}/dev-0-${mode}/records.jsonl`), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: string; em: number; segments: { text: string }[] });

describe("forager eval", () => {
  test("--endpoint: the served policy says what the same policy in process says", async () => {
    const modes = ["eval.modes=[greedy, sampled]", "eval.samples=4"];
    const remote = await evaluate("remote", "--endpoint", server.url, ...modes);
    expect(remote, remote.stderr).toMatchObject({ code: 0 });
    expect(remote.events).toContainEqual(expect.objectContaining({ policy: `base at ${server.url}` }));
    expect((await evaluate("local", "--policy", base, ...modes)).code).toBe(0);
    for (const mode of ["greedy", "sampled"]) {
      const texts = (out: string) =>
        records(out, mode).map(({ id, segments }) => [id, segments.map(({ text }) => text)]);
      expect(texts("remote")).toEqual(texts("local"));
    }
  });

  test("--endpoint --model: an adapter by its name, where nothing says so the base; another name is refused", async () => {
    const wrong = await evaluate("wrong", "--endpoint", server.url, "--model", "nobody");
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/no model nobody; the server lists base[\s\S]*--served-model-name/);
    expect(existsSync(at("wrong"))).toBe(false);
  });

  /** A stub counts bytes. */
  const room = "env.turnTokens=50";
  const script = parseStubScript({
    questionMark: "Question:",
    lines: [{ turn: 0, say: "<search> Dune </search>" }, { say: "<answer> Frank Herbert </answer>" }],
  });

  test("--chat: a server that gives no token ids is evaluated by its texts", async () => {
    const stub = await stubbed({ script, faults: [{ fault: "noTokenIds", probability: 1 }] });
    const refused = await evaluate("ids", "--endpoint", stub.url);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/tokenIds: [\s\S]*token_ids[\s\S]*--chat/);
    const chat = await evaluate("chat", "--endpoint", stub.url, "--chat", "--model", "stub", room);
    expect(chat, chat.stderr).toMatchObject({ code: 0 });
    expect(records("chat", "greedy").map(({ id, em }) => [id, em])).toEqual([
      ["q1", 1],
      ["q2", 0],
    ]);
    expect(records("chat", "greedy")[0]!.segments.map(({ text }) => text)).toEqual([
      expect.stringContaining("who wrote Dune"),
      "<search> Dune </search>",
      expect.stringContaining("Dune was written by Frank Herbert"),
      "<answer> Frank Herbert </answer>",
    ]);
  });

  test("--chat through failures: each request is made again, and none is counted twice", async () => {
    const rough = await stubbed({
      script,
      faults: [
        { fault: "status500", at: [1] },
        { fault: "dropHalfBody", at: [3] },
        { fault: "status429", at: [5] },
      ],
    });
    const words = [
      room,
      "eval.modes=[greedy]",
      "--chat",
      "--model",
      "stub",
      "endpoint={ servers: [http://x], retryDelayMs: 1 }",
    ];
    const chat = await evaluate("rough", "--endpoint", rough.url, ...words);
    expect(chat, chat.stderr).toMatchObject({ code: 0 });
    expect(records("rough", "greedy").map(({ em }) => em)).toEqual([1, 0]);
    expect(rough.counters.requests.generate).toBe(4 + 3);
  });
});

describe("forager doctor", () => {
  const examine = (url: string, ...words: string[]) =>
    project.forager(
      "doctor",
      at("train.yaml"),
      model(),
      `endpoint={ servers: [${url}] }`,
      "--json",
      ...words,
    );
  const verdicts = (events: readonly Readonly<Record<string, unknown>>[]) =>
    Object.fromEntries(
      events.filter(({ event }) => event === "check").map((each) => [each.name, each.verdict]),
    );

  test("finds everything in order with our own server, and leaves nothing behind", async () => {
    const { code, events, stderr } = await examine(server.url);
    expect(code, stderr).toBe(0);
    const found = verdicts(events);
    for (const fact of ["reachable", "model", "context", "tokenIds", "logprobs", "temperature"])
      expect(found).toHaveProperty(fact, "ok");
    for (const fact of ["sampling", "stop", "clipping", "adapter", "retriever", "scorer", "disk", "memory"])
      expect(found).toHaveProperty(fact, "ok");
    expect(server.adapters()).toEqual([]);
    expect(existsSync(at("run"))).toBe(false);
  });

  test("tells a server of other weights by the adapter that it applies to them", async () => {
    const other = await serving(project.model("other"));
    try {
      const { code, stderr } = await examine((await other.start()).url);
      expect(code).toBe(1);
      expect(stderr).toMatch(/adapter/);
    } finally {
      await other.close();
    }
  });

  test("says what a server lacks, and fails", async () => {
    const stub = await stubbed({ faults: [{ fault: "nullLogprob", probability: 1 }] });
    const { code, events, stderr } = await examine(stub.url, "--quick");
    expect(code).toBe(1);
    expect(verdicts(events)).toMatchObject({ reachable: "ok", logprobs: "fail" });
    expect(stderr).toMatch(/checks failed[\s\S]*logprobs/);
  });
});

describe("forager train refuses, before there is a run folder,", () => {
  const complaint = async (endpoint: string, ...words: string[]) => {
    const { code, stdout, stderr } = await project.forager(
      ...["train", at("train.yaml"), model(), `endpoint=${endpoint}`, "--quiet", ...words],
    );
    expect(stderr).not.toMatch(/\.ts:\d+|at async/);
    expect(stdout).toBe("");
    expect(code, stderr).toBe(2);
    expect(readdirSync(project.dir).filter((name) => /^run|tmp/.test(name))).toEqual([]);
    return stderr;
  };

  test("a server that gives no token ids, or no logprobs", async () => {
    const noIds = await stubbed({ faults: [{ fault: "noTokenIds", probability: 1 }] });
    expect(await complaint(`{ servers: [${noIds.url}] }`)).toMatch(
      /for training[\s\S]*tokenIds: [\s\S]*token_ids/,
    );
    const clamped = await stubbed({ faults: [{ fault: "clampedLogprob", probability: 1 }] });
    expect(await complaint(`{ servers: [${clamped.url}] }`)).toMatch(
      /logprobs: [\s\S]*-9999[\s\S]*evaluated/,
    );
  });

  test("another model, a server of less context, and nobody there", async () => {
    expect(await complaint(`{ servers: [${server.url}], model: other }`)).toMatch(/no model other/);
    const short = await toys.start({ contextTokens: 64 });
    expect(await complaint(`{ servers: [${short.url}] }`)).toMatch(/64 tokens, 96 are wanted/);
    expect(await complaint("{ servers: ['http://127.0.0.1:9'] }")).toMatch(
      /reachable[\s\S]*the connection broke/,
    );
  });

  test("too few adapter slots", async () => {
    const few = `{ servers: [${server.url}], adapterSlots: 3 }`;
    expect(await complaint(few, "rl.maxStaleness=2")).toMatch(
      /too few adapter slots[\s\S]*got +3[\s\S]*at least 4[\s\S]*--max-loras 4/,
    );
  });

  test("a key that is not set, or that the server does not take", async () => {
    const locked = await toys.start({ apiKey: "secret" });
    const named = `{ servers: [${locked.url}], apiKeyEnv: FORAGER_TEST_KEY }`;
    expect(await complaint(`{ servers: [${locked.url}] }`)).toMatch(/401[\s\S]*endpoint\.apiKeyEnv/);
    expect(await complaint(named)).toMatch(/FORAGER_TEST_KEY is not set/);
    process.env.FORAGER_TEST_KEY = "guess";
    try {
      expect(await complaint(named)).toMatch(/401/);
    } finally {
      delete process.env.FORAGER_TEST_KEY;
    }
  });
});
