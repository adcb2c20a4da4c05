import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvariantError, SamplerError } from "../core/errors.ts";
import type { BatchSampler, Completion, SampleRequest } from "./sampler.ts";
import { type Place, waves } from "./waves.ts";

const params = { temperature: 1, topP: 1, topK: 0, maxTokens: 5, stop: [], seed: 0 };
const request = (sequence: string): SampleRequest => ({ sequence, prompt: [1], params });
const done: Completion = { tokens: [1], logprobs: [-1], text: "a", finish: "stop", version: 0 };

/** Records the sequences of each batch. */
function recorder(answer: (names: string[]) => Promise<void> = async () => {}) {
  const batches: string[][] = [];
  const released: string[] = [];
  const batch: BatchSampler = {
    contextTokens: 100,
    async sampleBatch(requests) {
      const names = requests.map((r) => r.sequence);
      batches.push(names);
      await answer(names);
      return requests.map(() => done);
    },
    release: (sequence) => void released.push(sequence),
  };
  return { batch, batches, released };
}

/** Episode i takes turns[i] turns; before each it waits for its tool. */
async function episode(place: Place, name: string, turns: number, tool: (label: string) => Promise<void>) {
  try {
    for (let turn = 0; turn < turns; turn++) {
      await place.sample(request(name));
      await tool(`${name} ${turn}`);
    }
  } finally {
    place.leave();
  }
}

describe("waves", () => {
  it("have the same composition whatever the order in which tools answer", async () => {
    const plan = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 7 });
    await fc.assert(
      fc.asyncProperty(plan, fc.integer({ min: 1, max: 4 }), fc.scheduler(), async (turns, maxRows, s) => {
        const run = async (tool: (label: string) => Promise<void>) => {
          const { batch, batches } = recorder();
          const { enter } = waves(batch, maxRows);
          const places = turns.map((_, i) => enter(Math.floor(i / 2), i % 2));
          const all = turns.map((n, i) => episode(places[i] as Place, `e${i}`, n, tool));
          return { batches, all: Promise.all(all) };
        };
        const plain = await run(async () => {});
        await plain.all;
        const shuffled = await run((label) => s.schedule(Promise.resolve(), label));
        await s.waitFor(shuffled.all);
        expect(shuffled.batches).toEqual(plain.batches);
        // And they are what the rule says: wave t holds every episode with more than t turns, in order.
        const expected: string[][] = [];
        for (let t = 0; t < Math.max(...turns); t++) {
          const wave = turns.flatMap((n, i) => (n > t ? [`e${i}`] : []));
          for (let at = 0; at < wave.length; at += maxRows) expected.push(wave.slice(at, at + maxRows));
        }
        expect(plain.batches).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });

  it("orders by task and member, whatever the order of entry", async () => {
    const { batch, batches } = recorder();
    const { enter } = waves(batch, 10);
    const places = [
      [1, 1],
      [0, 1],
      [1, 0],
      [0, 0],
    ].map(([order, member]) => ({ order, member, place: enter(order as number, member as number) }));
    await Promise.all(places.map(({ order, member, place }) => place.sample(request(`${order}${member}`))));
    expect(batches).toEqual([["00", "01", "10", "11"]]);
  });

  it("carries the seats of one episode that act together in one wave", async () => {
    const { batch, batches } = recorder();
    const { enter } = waves(batch, 10);
    const a = enter(0, 0);
    const b = enter(0, 1);
    await Promise.all([a.sample(request("a/two")), b.sample(request("b/one")), a.sample(request("a/one"))]);
    expect(batches).toEqual([["a/one", "a/two", "b/one"]]);
  });

  it("does not wait for an episode that has left, in the middle or before it began", async () => {
    const { batch, batches } = recorder();
    const { enter } = waves(batch, 10);
    const [a, b, c] = [enter(0, 0), enter(0, 1), enter(0, 2)];
    const waiting = a.sample(request("a"));
    b.leave();
    setTimeout(() => c.leave(), 5);
    await waiting;
    expect(batches).toEqual([["a"]]);
    c.leave(); // Leaving twice changes nothing.
    a.leave();
    await expect(a.sample(request("a"))).rejects.toThrow(InvariantError);
  });

  it("a failing chunk fails its own rows, the others go on", async () => {
    const failure = new SamplerError({ what: "out of memory" });
    const { batch, batches } = recorder(async (names) => {
      if (names.includes("b")) throw failure;
    });
    const { enter } = waves(batch, 2);
    const places = ["a", "b", "c"].map((name, i) => ({ name, place: enter(0, i) }));
    const results = await Promise.allSettled(places.map(({ name, place }) => place.sample(request(name))));
    expect(results.map((r) => r.status)).toEqual(["rejected", "rejected", "fulfilled"]);
    expect(batches).toEqual([["a", "b"], ["c"]]);
  });

  it("an abort takes a waiting row out, and the rest goes without it", async () => {
    const { batch, batches } = recorder();
    const { enter } = waves(batch, 10);
    const [a, b] = [enter(0, 0), enter(0, 1)];
    const controller = new AbortController();
    const gone = a.sample(request("a"), controller.signal);
    controller.abort();
    await expect(gone).rejects.toBe(controller.signal.reason);
    a.leave();
    await b.sample(request("b"));
    expect(batches).toEqual([["b"]]);
    await expect(b.sample(request("b"), controller.signal)).rejects.toBe(controller.signal.reason);
  });

  it("aborts a running batch only when nobody waits for it any more", async () => {
    let signal: AbortSignal | undefined;
    const batch: BatchSampler = {
      contextTokens: 100,
      sampleBatch: (_, given) => {
        signal = given;
        return new Promise((_, reject) => given?.addEventListener("abort", () => reject(given.reason)));
      },
      release: () => {},
    };
    const { enter } = waves(batch, 10);
    const controllers = [new AbortController(), new AbortController()];
    const rows = controllers.map((c, i) =>
      enter(0, i)
        .sample(request(`${i}`), c.signal)
        .catch(() => "gone"),
    );
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    controllers[0]?.abort();
    expect(signal?.aborted).toBe(false);
    controllers[1]?.abort();
    expect(signal?.aborted).toBe(true);
    expect(await Promise.all(rows)).toEqual(["gone", "gone"]);
  });

  it("an abort while an earlier chunk runs takes a row out of a later one, of all seats under the signal", async () => {
    let finish = () => {};
    const { batch, batches } = recorder(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    const { enter } = waves(batch, 1);
    const [a, b] = [enter(0, 0), enter(0, 1)];
    const [one, other] = [new AbortController(), new AbortController()];
    const first = a.sample(request("a"));
    const gone = ["b/one", "b/two"].map((name) => b.sample(request(name), one.signal));
    const kept = b.sample(request("b/x"), other.signal);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(batches).toEqual([["a"]]);
    one.abort();
    for (const each of gone) await expect(each).rejects.toBe(one.signal.reason);
    finish();
    await first;
    await new Promise((resolve) => setImmediate(resolve));
    expect(batches).toEqual([["a"], ["b/x"]]);
    b.leave(); // What still waits can be aborted after that too.
    other.abort();
    await expect(kept).rejects.toBe(other.signal.reason);
  });

  it("listens once to a signal, however many requests are made under it, and not after leaving", async () => {
    const { batch } = recorder();
    const place = waves(batch, 10).enter(0, 0);
    const { signal } = new AbortController();
    for (let turn = 0; turn < 3; turn++) {
      await place.sample(request("a"), signal);
      expect(getEventListeners(signal, "abort").length).toBe(1);
    }
    place.leave();
    expect(getEventListeners(signal, "abort").length).toBe(0);
  });

  it("releases nothing while a batch runs", async () => {
    let finish = () => {};
    const { batch, released } = recorder(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    const { enter } = waves(batch, 10);
    const a = enter(0, 0);
    const waiting = a.sample(request("a"));
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    a.release("old");
    expect(released).toEqual([]);
    finish();
    await waiting;
    await new Promise((resolve) => setImmediate(resolve));
    expect(released).toEqual(["old"]);
  });

  it("a batch sampler that loses a row is a bug", async () => {
    const { batch } = recorder();
    const lossy = { ...batch, sampleBatch: async () => [] };
    await expect(waves(lossy, 10).enter(0, 0).sample(request("a"))).rejects.toThrow(InvariantError);
  });
});
