import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Task } from "../datasets/task.ts";
import type { Environment, Seat } from "../env/environment.ts";
import { endpointConfig } from "../rollout/endpoint/config.ts";
import { createFleet } from "../rollout/endpoint/create-fleet.ts";
import { drivers } from "../rollout/endpoint/drivers.ts";
import type { FleetEvent } from "../rollout/endpoint/fleet-event.ts";
import { openConnection } from "../rollout/endpoint/open-connection.ts";
import type { RetryCause } from "../rollout/endpoint/retry.ts";
import { createEndpoint } from "../rollout/endpoint/sampler.ts";
import { type Rolled, rollGroups } from "../rollout/groups.ts";
import { byteTokenizer, toyRenderer } from "../rollout/testing.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { type FaultName, faults } from "../serve/faults.ts";
import { type Stub, type StubOptions, startStub } from "../serve/stub.ts";

/** Groups rolled against servers that fail, as they come out of a run against servers that do not. */
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const folder = mkdtempSync(join(tmpdir(), "forager-faults-"));
writeFileSync(join(folder, "adapter_config.json"), "{}");
afterAll(() => rmSync(folder, { recursive: true }));

const tokenizer = byteTokenizer();
const { signal: never } = new AbortController();
const tasks = ["Dune", "Emma", "Ulysses", "Walden"].map(
  (id): Task => ({ id, question: `who wrote ${id}?`, goldenAnswers: ["x"], dataset: "toy", hops: 1 }),
);

/** The stub's own words: it searches one to four times at random, then answers. */
const searches: Environment = {
  name: "searches",
  seats: ["one"],
  async play(_, seats) {
    const seat = seats.one as Seat;
    for (let turns = 1; ; turns++) {
      const { text } = await seat.act({ stop: ["</search>", "</answer>"], maxTokens: 200 });
      const answered = text.endsWith("</answer>");
      if (answered || turns === 6) {
        const outcome = answered ? "answered" : "turn_limit";
        return { outcome, turns, searches: [], invalidActions: 0, observationTokensCut: 0 };
      }
      await seat.observe({ open: "<information>", body: "seen", close: "</information>", maxTokens: 40 });
    }
  },
};

type Change = Partial<ReturnType<typeof endpointConfig.parse>>;

/** Some stubs as one policy, `v1` published on all of them. */
async function fleetOf(options: readonly StubOptions[], change: Change = {}) {
  const stubs: Stub[] = [];
  for (const each of options) stubs.push(await startStub({ tokenizer, ...each }));
  const events: FleetEvent[] = [];
  const fleet = createFleet({
    replicas: stubs.map(({ url }) => ({ connection: openConnection({ url }), driver: drivers.vllm })),
    // Fewer than there are episodes at a time: both servers are used, whichever a group's home is.
    ...{ maxInFlight: 5, probeIntervalMs: 5, metricsIntervalMs: 0, loadRetryMs: 5 },
    onEvent: (event) => events.push(event),
  });
  closing.push(...stubs.map(({ close }) => close), fleet.close);
  const config = endpointConfig.parse({
    ...{ servers: ["http://h"], retryDelayMs: 1, retryShare: 5, attempts: 20, requestTimeoutMs: 10_000 },
    ...change,
  });
  const endpoint = createEndpoint({ fleet, tokenizer, contextTokens: 4_096, config });
  await fleet.publish({ name: "v1", path: folder }, never);
  return { stubs, fleet, events, endpoint };
}

type Rig = Awaited<ReturnType<typeof fleetOf>>;
const roll = ({ endpoint }: Rig, change: { retries?: number; groupSize?: number } = {}): Promise<Rolled> =>
  rollGroups(tasks, {
    policy: endpoint.sampler({ model: "v1", version: 1 }),
    ...{ environment: searches, tokenizer, renderer: toyRenderer(tokenizer), seed: 3, step: 2 },
    decoding: { temperature: 1, topP: 1, topK: 0 },
    ...{ groupSize: 6, maxRows: 1, concurrency: 8, retries: 0, retryDelayMs: 0, episodeTimeoutMs: 0 },
    ...change,
  });

const episodesOf = ({ groups }: Rolled) =>
  groups
    .flatMap((group) => group.members)
    .map(({ task, member, outcome, ending, sequences }) => ({
      ...{ task: task.id, member, outcome, turns: ending?.turns, sequences },
    }));
const struck = ({ stubs }: Rig) =>
  stubs.reduce((sum, { counters }) => sum + Object.values(counters.faults).reduce((a, b) => a + b), 0);
const asked = ({ stubs }: Rig) => stubs.reduce((sum, { counters }) => sum + counters.requests.generate, 0);

/** What the same groups are where nothing fails. */
let calm: { episodes: ReturnType<typeof episodesOf>; counters: ReturnType<Rig["endpoint"]["counters"]> };
beforeAll(async () => {
  const rig = await fleetOf([{}, {}]);
  calm = { episodes: episodesOf(await roll(rig)), counters: rig.endpoint.counters() };
  expect(calm.episodes).toHaveLength(24);
  expect(new Set(calm.episodes.map(({ turns }) => turns)).size).toBeGreaterThan(2);
  expect(calm.counters.failed).toBe(0);
});

/** The same episodes to the last token, so the same accuracy and lengths; nothing left out, played again or lost. */
function expectCalm(rig: Rig, rolled: Rolled): void {
  expect(episodesOf(rolled)).toEqual(calm.episodes);
  expect(rolled).toMatchObject({ leftOut: [], tooFew: [], retried: [] });
  const { requests, failed, completionTokens, promptTokens } = rig.endpoint.counters();
  expect({ requests, failed, completionTokens, promptTokens }).toEqual({
    requests: calm.counters.requests,
    failed: 0,
    completionTokens: calm.counters.completionTokens,
    promptTokens: calm.counters.promptTokens,
  });
}
const retries = (rig: Rig) => Object.values(rig.endpoint.counters().retried).reduce((a, b) => a + b);

/** Faults that cost one request, and what it counts as. */
const single: Partial<Record<FaultName, RetryCause>> = {
  status500: "server",
  status503: "overloaded",
  status429: "overloaded",
  badJson: "malformed",
  noTokenIds: "malformed",
  fewTokenIds: "malformed",
  nullLogprob: "malformed",
  clampedLogprob: "malformed",
  wrongModel: "malformed",
  dropBeforeHead: "connection",
  dropHalfBody: "connection",
};

describe("a quarter of the requests to both servers", () => {
  test.each(Object.entries(single) as [FaultName, RetryCause][])("%s: retried as %s", async (fault, kind) => {
    const rules = [{ fault, probability: 0.25 }];
    const rig = await fleetOf([
      { faults: rules, seed: 1 },
      { faults: rules, seed: 2 },
    ]);
    expectCalm(rig, await roll(rig));
    const { retried } = rig.endpoint.counters();
    expect(struck(rig)).toBeGreaterThan(3);
    // A reset on a connection that was kept open may be an old one's end: the client itself sends that again once.
    if (fault === "dropBeforeHead") expect(retries(rig)).toBeLessThanOrEqual(struck(rig));
    else expect(retried).toMatchObject({ [kind]: struck(rig) });
    expect(retries(rig)).toBe(retried[kind]);
    expect(asked(rig)).toBe(calm.counters.requests + struck(rig));
  });

  test("of all kinds, hangs among them", async () => {
    const kinds = Object.keys(single) as FaultName[];
    const rules = [...kinds, "hang" as const].map((fault) => ({ fault, probability: 0.25 / 12 }));
    const rig = await fleetOf(
      [
        { faults: rules, seed: 1 },
        { faults: rules, seed: 2 },
      ],
      { requestTimeoutMs: 500 },
    );
    expectCalm(rig, await roll(rig));
    expect(struck(rig)).toBeGreaterThan(3);
  });
});

test("a replica that hangs is left for the other, and no request waits past its deadline", async () => {
  const rig = await fleetOf([{ faults: [{ fault: "hang", at: [1, 2, 3, 4, 5, 6, 7] }] }, {}], {
    requestTimeoutMs: 500,
  });
  expectCalm(rig, await roll(rig));
  const { timeouts, retried } = rig.endpoint.counters();
  expect(timeouts).toBeGreaterThan(0);
  expect(retried.timeout).toBe(timeouts);
  expect(rig.stubs[0]!.counters.requests.generate).toBeLessThan(calm.counters.requests);
});

test("a replica that dies mid-episode: its episodes go on at the other", async () => {
  let left = 15;
  let died: Promise<void> | undefined;
  const onRequest = ({ path }: { path: string }) => {
    if (path === "/v1/completions" && left-- === 0) died = rig.stubs[0]!.close();
  };
  const rig: Rig = await fleetOf([{ onRequest }, {}]);
  expectCalm(rig, await roll(rig));
  await died;
  expect(left).toBeLessThan(0);
  expect(rig.endpoint.counters().retried.connection).toBeGreaterThan(0);
  expect(rig.events).toContainEqual(
    expect.objectContaining({ event: "replicaQuarantined", url: rig.stubs[0]!.url }),
  );
});

describe("a server that forgets its adapters is given them again, and samples from no other", () => {
  const holds = ({ model }: Stub) => model.cards().map(({ id }) => id);

  test("after a restart that breaks its connections", async () => {
    const rig = await fleetOf([{ faults: [{ fault: "restart", at: [6] }] }, {}]);
    expectCalm(rig, await roll(rig));
    const [first] = rig.stubs as [Stub, Stub];
    expect(first.counters.faults.restart).toBeGreaterThan(0);
    expect(retries(rig)).toBeGreaterThan(0);
    await expect.poll(() => holds(first)).toContain("v1");
  });

  test("in silence", async () => {
    let left = 10;
    const onRequest = ({ path }: { path: string }) => {
      if (path === "/v1/completions" && left-- === 0) rig.stubs[0]!.model.forget();
    };
    const rig: Rig = await fleetOf([{ onRequest }, {}]);
    expectCalm(rig, await roll(rig));
    const [first] = rig.stubs as [Stub, Stub];
    expect(rig.endpoint.counters().retried.missingModel).toBeGreaterThan(0);
    await expect.poll(() => holds(first)).toContain("v1");
    const reloaded = { event: "replicaReloaded", url: first.url, adapters: ["v1"] };
    expect(rig.events).toContainEqual(reloaded);
  });
});

test("an adapter that one server does not load is published nowhere, and under another name everywhere", async () => {
  const rig = await fleetOf([{}, { faults: [{ fault: "load500", at: [2] }] }]);
  const held = () => rig.stubs.map(({ model }) => model.cards().map(({ id }) => id));
  await expect(rig.fleet.publish({ name: "v2", path: folder }, never)).rejects.toMatchObject({
    kind: "server",
  });
  expect(held()).toEqual([
    ["stub", "v1"],
    ["stub", "v1"],
  ]);
  await rig.fleet.publish({ name: "v2.1", path: folder }, never);
  expect(held().map((names) => names.at(-1))).toEqual(["v2.1", "v2.1"]);
  expectCalm(rig, await roll(rig));
});

test("what fails for good is left out by infrastructure: no group has a member of it, and the others are as they were", async () => {
  const rules = [{ fault: "status500", probability: 0.45 } as const];
  const rig = await fleetOf([{ faults: rules, seed: 4 }], { attempts: 2 });
  const rolled = await roll(rig);
  expect(rolled.leftOut.length).toBeGreaterThan(0);
  expect(rolled.leftOut.every(({ outcome }: Trajectory) => outcome === "infra(model)")).toBe(true);
  const kept = episodesOf(rolled);
  expect(kept.length + rolled.leftOut.length + rolled.tooFew.flatMap(({ members }) => members).length).toBe(
    24,
  );
  for (const each of kept)
    expect(calm.episodes.find(({ task, member }) => task === each.task && member === each.member)).toEqual(
      each,
    );
  expect(rig.endpoint.counters().failed).toBe(rolled.leftOut.length);
});

test("servers that hang for good end every episode at the turn's deadline", async () => {
  const hang = { faults: [{ fault: "hang", probability: 1 }] } as const;
  const rig = await fleetOf([hang, hang], { requestTimeoutMs: 40, turnTimeoutMs: 200, attempts: 99 });
  const rolled = await roll(rig, { groupSize: 1 });
  expect(rolled.groups).toEqual([]);
  expect(rolled.leftOut.map(({ outcome }) => outcome)).toEqual(tasks.map(() => "infra(model)"));
  expect(rolled.leftOut[0]!.failure).toMatch(/no end within 200 ms/);
  expect(rig.endpoint.counters()).toMatchObject({ requests: 4, failed: 4, completionTokens: 0 });
});

test("every fault of a stub is in one of these tests", () => {
  const elsewhere = ["hang", "restart", "load500", "slow", "loadSlow", "load404"];
  expect([...Object.keys(single), ...elsewhere].sort()).toEqual(Object.keys(faults).sort());
});
