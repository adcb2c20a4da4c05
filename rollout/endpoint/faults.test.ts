import { afterEach, expect, test } from "vitest";
import type { Task } from "../../datasets/task.ts";
import type { Environment, Seat } from "../../env/environment.ts";
import { rollGroups } from "../groups.ts";
import { byteTokenizer, toyRenderer } from "../testing.ts";
import { endpointConfig } from "./config.ts";
import { createEndpoint } from "./sampler.ts";
import { toyFleet } from "./toy-fleet.ts";
import { type Fault, toyServer } from "./toy-server.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const tokenizer = byteTokenizer();
const tasks = ["a", "b", "c"].map(
  (id): Task => ({ id, question: `${id}?`, goldenAnswers: ["x"], dataset: "toy", hops: 1 }),
);

/** One to seven turns, as the policy has it. */
const longPlay: Environment = {
  name: "long",
  seats: ["one"],
  async play(_, seats) {
    const seat = seats.one as Seat;
    let turns = 0;
    for (let said = "e"; turns < 7 && said.includes("e"); turns++) {
      said = (await seat.act({ stop: ["</"], maxTokens: 12 })).text;
      await seat.observe({ open: "[", body: "seen", close: "]", maxTokens: 10 });
    }
    return { outcome: "answered", turns, searches: [], invalidActions: 0, observationTokensCut: 0 };
  },
};

async function roll(fault?: (n: number) => Fault | undefined) {
  const toys = await Promise.all([
    toyServer({ ...(fault && { fault }) }),
    toyServer({ ...(fault && { fault }) }),
  ]);
  const { fleet } = toyFleet(toys.map(({ url }) => url));
  closing.push(...toys.map(({ close }) => close), fleet.close);
  const config = endpointConfig.parse({
    ...{ servers: ["http://h"], retryDelayMs: 0, retryShare: 5, attempts: 20 },
    requestTimeoutMs: fault ? 300 : 0,
  });
  const endpoint = createEndpoint({ fleet, tokenizer, contextTokens: 512, config });
  const rolled = await rollGroups(tasks, {
    policy: endpoint.sampler({ model: "base", version: 1 }),
    ...{ environment: longPlay, tokenizer, renderer: toyRenderer(tokenizer), seed: 3, step: 2 },
    decoding: { temperature: 1, topP: 1, topK: 0 },
    ...{ groupSize: 6, maxRows: 1, concurrency: 8, retries: 0, retryDelayMs: 0, episodeTimeoutMs: 0 },
  });
  const members = rolled.groups.flatMap((group) => group.members);
  return {
    rolled,
    counters: endpoint.counters(),
    episodes: members.map(({ sequences, ending }) => ({ turns: ending?.turns, sequences })),
  };
}

test("25 % of requests fail or hang: the episodes are those of a run without failures, to the last token", async () => {
  const calm = await roll();
  const kinds: readonly Fault[] = [
    "reset",
    "half",
    { status: 500, body: "boom" },
    "hang",
    { status: 429, body: "" },
  ];
  const rough = await roll((n) => (n % 4 === 3 ? kinds[((n - 3) / 4) % kinds.length] : undefined));
  expect(rough.episodes).toEqual(calm.episodes);
  expect(new Set(calm.episodes.map(({ turns }) => turns)).size).toBeGreaterThan(2);
  expect(rough.rolled.leftOut).toEqual([]);
  expect(rough.rolled.retried).toEqual([]);
  expect(rough.counters).toMatchObject({ requests: calm.counters.requests, failed: 0 });
  const { connection, server, timeout, overloaded } = rough.counters.retried;
  for (const count of [connection, server, timeout, overloaded]) expect(count).toBeGreaterThan(0);
  expect(calm.counters.retried).toMatchObject({ connection: 0, server: 0, timeout: 0, overloaded: 0 });
});

test("a server that fails for good loses its episodes to infrastructure, and no group has a zero of it", async () => {
  const { rolled, counters } = await roll(() => ({ status: 400, body: "no" }));
  expect(rolled.groups).toEqual([]);
  expect(rolled.leftOut.map(({ outcome }) => outcome)).toEqual(Array(18).fill("infra(model)"));
  expect(counters).toMatchObject({ requests: 18, failed: 18, completionTokens: 0 });
});
