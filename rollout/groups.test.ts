import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataError, EngineError, SamplerError, ToolError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import type { Task } from "../datasets/task.ts";
import { envConfig } from "../env/config.ts";
import { researcher } from "../env/researcher.ts";
import type { Retriever } from "../env/search/retriever.ts";
import { tinyIndex } from "../env/testing.ts";
import { rolloutConfig } from "./config.ts";
import { type RollOptions, rollGroups } from "./groups.ts";
import { byteTokenizer, lines, type Script, scriptedSampler, toyRenderer, unbatched } from "./testing.ts";
import type { Trajectory } from "./trajectory.ts";

const tokenizer = byteTokenizer();
const renderer = toyRenderer(tokenizer);
const index = tinyIndex([{ id: "a", title: "Blue Harbour", text: "Its director is Tom Vale" }]);
const task = (id: string): Task => ({
  id,
  question: `Who is ${id}?`,
  goldenAnswers: ["x"],
  dataset: "toy",
  hops: 1,
});
const tasks = ["t0", "t1", "t2"].map(task);
const decoding = { temperature: 1, topP: 1, topK: 0 };

/** A policy that draws from its request's seed alone: searches some times, then answers with a number. */
const drawing: Script = ({ params }) => {
  const draw = rng(params.seed, "toy");
  return draw() < 0.6 ? `<search>blue ${draw.int(100)}</search>` : `<answer>${draw.int(1000)}</answer>`;
};

function options(change: Partial<RollOptions> & { retriever?: Retriever }): RollOptions {
  const { retriever = index, ...rest } = change;
  const environment = researcher({ retriever, config: envConfig.parse({ maxTurns: 4 }), seed: 1 });
  const base = rolloutConfig.parse({ groupSize: 4, retryDelayMs: 0 });
  return {
    ...base,
    environment,
    policy: scriptedSampler(tokenizer, drawing),
    tokenizer,
    renderer,
    decoding,
    seed: 5,
    step: 1,
    ...rest,
  };
}

/** What must not depend on timing: everything but clocks. */
function record({ task: { id }, member, outcome, sequences, ending }: Trajectory) {
  return {
    id,
    member,
    outcome,
    sequences,
    searches: ending?.searches.map(({ milliseconds: _, ...rest }) => rest),
  };
}

describe("rollGroups", () => {
  it("plays groupSize members of each task, in order, all different", async () => {
    const { groups, leftOut, tooFew, retried } = await rollGroups(tasks, options({}));
    expect(groups.map((g) => [g.task.id, g.members.map((m) => m.member)])).toEqual(
      ["t0", "t1", "t2"].map((id) => [id, [0, 1, 2, 3]]),
    );
    expect([leftOut, tooFew, retried]).toEqual([[], [], []]);
    const texts = groups[0]?.members.map((m) => m.sequences[0]?.segments.map((s) => s.text).join(""));
    expect(new Set(texts).size).toBeGreaterThan(1);
  });

  it("does not warn of a leak for being listened to by many episodes", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on("warning", listen);
    const run = new AbortController();
    const many = Array.from({ length: 12 }, (_, i) => task(`t${i}`));
    for (let round = 0; round < 12; round++) await rollGroups(many, options({ round, signal: run.signal }));
    await new Promise((resolve) => setTimeout(resolve, 0));
    process.off("warning", listen);
    expect(warnings.map(({ message }) => message)).toEqual([]);
  });

  it("gives the same tokens and the same batches whatever the latency of tools (waves)", async () => {
    const reference = scriptedSampler(tokenizer, drawing);
    const expected = await rollGroups(tasks, options({ policy: reference, maxRows: 5 }));
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (s) => {
        const slow: Retriever = {
          ...index,
          search: (q, k) => s.schedule(index.search(q, k), q[0] as string),
        };
        const policy = scriptedSampler(tokenizer, drawing);
        const rolled = await s.waitFor(rollGroups(tasks, options({ policy, retriever: slow, maxRows: 5 })));
        expect(policy.batches).toEqual(reference.batches);
        expect(rolled.groups.flatMap((g) => g.members.map(record))).toEqual(
          expected.groups.flatMap((g) => g.members.map(record)),
        );
      }),
      { numRuns: 30 },
    );
  });

  it("gives the same trajectories through a plain sampler, a few at a time", async () => {
    const waves = await rollGroups(tasks, options({}));
    const policy = scriptedSampler(tokenizer, drawing);
    let open = 0;
    let most = 0;
    const counted = unbatched(policy);
    const sample: typeof counted.sample = async (request, signal) => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 1));
      open--;
      return counted.sample(request, signal);
    };
    const plain = await rollGroups(tasks, options({ policy: { ...counted, sample }, concurrency: 3 }));
    expect(plain.groups.flatMap((g) => g.members.map(record))).toEqual(
      waves.groups.flatMap((g) => g.members.map(record)),
    );
    expect(most).toBeLessThanOrEqual(3);
    expect(policy.released.length).toBe(12);
  });

  it("a task that comes twice, or again in a refill, draws anew", async () => {
    const texts = async (list: Task[], round = 0) =>
      (await rollGroups(list, options({ round }))).groups.map((g) =>
        JSON.stringify(g.members.map((m) => m.sequences)),
      );
    const [first, again] = await texts([task("t0"), task("t0")]);
    expect(again).not.toBe(first);
    expect((await texts([task("t0")]))[0]).toBe(first);
    expect((await texts([task("t0")], 1))[0]).not.toBe(first);
  });
});

describe("infrastructure failures", () => {
  /** Fails the first `times` searches of each query. */
  const flaky = (times: number): Retriever => {
    const seen = new Map<string, number>();
    return {
      ...index,
      async search(queries, k) {
        const n = (seen.get(queries[0] as string) ?? 0) + 1;
        seen.set(queries[0] as string, n);
        if (n <= times) throw new ToolError({ what: "connection reset" });
        return index.search(queries, k);
      },
    };
  };
  const searching: Script = ({ sequence }, turn) =>
    turn === 0 ? `<search>${sequence}</search>` : "<answer>x</answer>";

  it("are played again under another attempt, within the budget", async () => {
    const member = ({ sequence }: { sequence: string }) => sequence.split("/").slice(1, 3).join(" ");
    const script: Script = (request, turn) =>
      turn === 0 ? `<search>${member(request)}</search>` : "<answer>x</answer>";
    const { groups, retried, leftOut } = await rollGroups(
      tasks,
      options({ policy: scriptedSampler(tokenizer, script), retriever: flaky(2), retries: 2 }),
    );
    expect(groups.map((g) => g.members.length)).toEqual([4, 4, 4]);
    expect(retried).toHaveLength(24);
    expect(retried.every((t) => t.outcome === "infra(retriever)")).toBe(true);
    expect(leftOut).toEqual([]);
  });

  it("then leave the group and its mean: never a zero", async () => {
    const script: Script = (request, turn) =>
      /^1\/t1\/[013]\//.test(request.sequence) ? "<search>broken</search>" : searching(request, turn);
    const broken: Retriever = {
      ...index,
      search: async (queries, k) => {
        if (queries[0] === "broken") throw new ToolError({ what: "down" });
        return index.search(queries, k);
      },
    };
    const rolled = await rollGroups(
      tasks,
      options({ policy: scriptedSampler(tokenizer, script), retriever: broken, retries: 1 }),
    );
    expect(rolled.groups.map((g) => g.task.id)).toEqual(["t0", "t2"]);
    expect(rolled.tooFew.map((g) => [g.task.id, g.members.map((m) => m.member)])).toEqual([["t1", [2]]]);
    expect(rolled.leftOut.map((t) => [t.task.id, t.member, t.outcome])).toEqual(
      [0, 1, 3].map((m) => ["t1", m, "infra(retriever)"]),
    );
    expect(rolled.retried).toHaveLength(3);
  });

  it("of a whole batch do not deadlock the others", async () => {
    const script: Script = (request, turn) =>
      request.sequence.startsWith("1/t0/0/") ? new SamplerError({ what: "503" }) : searching(request, turn);
    const rolled = await rollGroups(
      tasks,
      options({ policy: scriptedSampler(tokenizer, script), maxRows: 2, retries: 0 }),
    );
    expect(rolled.leftOut.map((t) => [t.task.id, t.member, t.outcome])).toEqual([
      ["t0", 0, "infra(model)"],
      ["t0", 1, "infra(model)"],
    ]);
    expect(rolled.groups).toHaveLength(3);
  });

  it("a group of one needs one member", async () => {
    const { groups } = await rollGroups(tasks, options({ groupSize: 1 }));
    expect(groups.map((g) => g.members.length)).toEqual([1, 1, 1]);
  });
});

describe("ends", () => {
  it("a bug stops everything and is thrown", async () => {
    const script: Script = (request, turn) =>
      request.sequence.startsWith("1/t1/") && turn === 1
        ? new EngineError({ what: "bad shape" })
        : "<search>blue</search>";
    await expect(
      rollGroups(tasks, options({ policy: scriptedSampler(tokenizer, script), maxRows: 3 })),
    ).rejects.toThrow(EngineError);
    const plain = unbatched(scriptedSampler(tokenizer, script));
    await expect(rollGroups(tasks, options({ policy: plain, concurrency: 2 }))).rejects.toThrow(EngineError);
  });

  it("an abort ends every episode as cancelled, none of them in a group", async () => {
    const controller = new AbortController();
    let searches = 0;
    const aborting: Retriever = {
      ...index,
      search(queries, k) {
        if (++searches === 3) controller.abort();
        return index.search(queries, k);
      },
    };
    const policy = scriptedSampler(tokenizer, () => "<search>blue</search>");
    const rolled = await rollGroups(
      tasks,
      options({ policy, retriever: aborting, signal: controller.signal }),
    );
    expect(rolled.groups).toEqual([]);
    expect(rolled.leftOut).toHaveLength(12);
    expect(rolled.leftOut.every((t) => t.outcome === "cancelled")).toBe(true);
  });

  it("an overlong prompt is named before anything is sampled", async () => {
    const policy = scriptedSampler(tokenizer, lines(["<answer>x</answer>"]), { contextTokens: 25 });
    await expect(rollGroups([...tasks, task("a much longer name")], options({ policy }))).rejects.toThrow(
      DataError,
    );
    expect(policy.requests).toEqual([]);
  });
});

describe("rolloutConfig", () => {
  it("refuses a group of one, with advice", () => {
    expect(() => rolloutConfig.parse({ groupSize: 1 })).toThrow(/at least 2.*take 8/);
    expect(() => rolloutConfig.parse({ temperature: 0 })).toThrow(/greedy/);
    expect(rolloutConfig.parse({})).toMatchObject({
      tasksPerStep: 32,
      groupSize: 8,
      temperature: 1,
      topP: 1,
      topK: 0,
    });
  });
});
