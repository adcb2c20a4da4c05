import { afterAll, beforeAll, expect, test } from "vitest";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import { createPolicySampler } from "./adapter-sampler.ts";
import { joinParams, viewOf } from "./adapters.ts";
import { createSampler } from "./generate.ts";
import { initPolicy } from "./init.ts";
import type { Policy } from "./policy.ts";
import { config, randomPrompt, request, policy as sharp, sharpen, tokenizer } from "./sampling-toys.ts";

const other = sharpen(initPolicy(config, 4));
const policy: Policy = {
  ...sharp,
  trainable: joinParams({ one: sharp.trainable, two: other.trainable }),
  adapters: ["one", "two"],
};
const adapterOf = (seat: string) => ({ a: "one", b: "two", c: "two" })[seat];

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine({ threads: 1 });
});
afterAll(() => engine.dispose());

const asked = (seats: string, turn = 0) =>
  Array.from(seats, (seat, i) => ({
    ...request(`s${i}`, randomPrompt(20 + i, i), { seed: 10 * turn + i }),
    seat,
  }));

test("each turn is drawn by its seat's adapter, in its place, over turns and updates, the same each time", async () => {
  const sampler = createPolicySampler({ engine, policy, tokenizer, adapterOf });
  const again = createPolicySampler({ engine, policy, tokenizer, adapterOf });
  const alone = [sharp, other].map((each) => createSampler({ engine, policy: each, tokenizer }));
  const plain = (seats: string, version: number, requests: ReturnType<typeof asked>) =>
    Promise.all(
      ["one", "two"].map((adapter, i) =>
        alone[i]!.sampleBatch(requests.filter(({ seat }) => adapterOf(seat) === adapter)),
      ),
    ).then(([one, two]) =>
      Array.from(seats, (seat) => ({ ...(seat === "a" ? one : two)!.shift()!, version })),
    );
  const seats = "abcab";
  let requests = asked(seats);
  for (let turn = 0; turn < 3; turn++) {
    const done = await sampler.sampleBatch(requests);
    expect(await again.sampleBatch(requests)).toEqual(done);
    expect(done).toEqual(await plain(seats, 0, requests));
    requests = requests.map((each, i) => ({
      ...{ ...each, prompt: [...each.prompt, ...done[i]!.tokens, 5, 6] },
      params: { ...each.params, seed: 100 * turn + i },
    }));
  }
  const swapped = {
    ...policy,
    trainable: joinParams({ one: other.trainable, two: sharp.trainable }),
    version: 1,
  };
  sampler.update(swapped);
  const [first] = await sampler.sampleBatch(asked("a"));
  const [own] = await alone[1]!.sampleBatch(asked("a"));
  expect(first).toEqual({ ...own, version: 1 });
  for (const each of [sampler, again, ...alone]) each.dispose();
});

test("a seat that no adapter plays is told; a policy of one set asks nobody", async () => {
  const sampler = createPolicySampler({ engine, policy, tokenizer, adapterOf });
  await expect(sampler.sampleBatch(asked("x"))).rejects.toThrow(/got x: no adapter/);
  await expect(sampler.sampleBatch([request("s", [5, 6])])).rejects.toThrow(/no seat/);
  expect(await sampler.sampleBatch(asked("b"))).toHaveLength(1);
  const single = createPolicySampler({ engine, policy: viewOf(policy, "two"), tokenizer });
  expect((await single.sampleBatch([request("s", [5, 6])]))[0]!.tokens.length).toBeGreaterThan(0);
  for (const each of [sampler, single]) each.dispose();
});
