import { expect, test } from "vitest";
import { DataError } from "../core/errors.ts";
import { toyTrajectory } from "../reward/testing.ts";
import { sftBatches, sftRows } from "./sft.ts";

const demonstration = (length: number) =>
  toyTrajectory(["p".repeat(length), ["observation", "o".repeat(5)], "a"]);

test("weight 1 on what the policy wrote, the observation's own on the rest, none on the first token", () => {
  const [row] = sftRows(demonstration(2), 0.1);
  expect(row!.weights).toEqual([0, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.1, 1]);
  expect(row!.mask).toEqual([0, 1, 1, 0, 0, 0, 0, 0, 1]);
  expect(sftRows(demonstration(2), 0)[0]!.weights.slice(3, 8)).toEqual([0, 0, 0, 0, 0]);
});

const options = { slots: 256, observationWeight: 0, contextTokens: 64 };

test("a step's batch is a pure function of its number and fills one block", async () => {
  const demonstrate = async (index: number) => demonstration(3 + (index % 40));
  const one = sftBatches(demonstrate, options);
  const all = [];
  for (let step = 0; step < 20; step++) all.push(await one(step));
  const other = sftBatches(demonstrate, options);
  expect(await other(17)).toEqual(all[17]);
  expect(await other(3)).toEqual(all[3]);
  for (const rows of all) {
    const longest = Math.max(...rows.map((r) => r.tokens.length - 1));
    expect(rows.length * longest).toBeLessThanOrEqual(256 + longest);
  }
});

test("demonstrations that the expert could not give, or that are too long, are left out", async () => {
  const demonstrate = async (index: number) =>
    index % 3 === 0 ? undefined : demonstration(index % 3 === 1 ? 10 : 200);
  for (const row of await sftBatches(demonstrate, options)(0)) expect(row.tokens).toHaveLength(17);
});

test("demonstrations that never fill a batch are an error that says so", async () => {
  await expect(sftBatches(async () => undefined, options)(0)).rejects.toThrow(DataError);
});

test("where seats have adapters a batch is of one of them, and of those that learn alone", async () => {
  const shown = async (index: number) => {
    const { sequences, ...episode } = demonstration(3 + (index % 3));
    return { ...episode, sequences: ["a", "b", "c"].map((seat) => ({ ...sequences[0]!, seat })) };
  };
  const adapterOf = (seat: string) => (seat === "a" ? "first" : "second");
  const batch = sftBatches(shown, { ...options, adapterOf, learns: (seat) => seat !== "c" });
  const batches = await Promise.all(Array.from({ length: 16 }, (_, step) => batch(step)));
  const adapters = batches.map((rows) => [...new Set(rows.map(({ adapter }) => adapter))]);
  expect(adapters.every(({ length }) => length === 1)).toBe(true);
  const count = (name: string) => adapters.filter(([adapter]) => adapter === name).length;
  expect([count("first"), count("second")]).toEqual([8, 8]);
});

test("of a team the roles that learn give rows, each for its own adapter", async () => {
  const { sequences } = demonstration(6);
  const shown = {
    ...demonstration(6),
    sequences: ["planner", "drafter", "verifier"].map((seat) => ({ ...sequences[0]!, seat })),
  };
  const batch = sftBatches(async () => shown, {
    ...options,
    adapterOf: (seat) => seat.slice(0, 1),
    learns: (seat) => seat !== "drafter",
  });
  const all = new Set<string | undefined>();
  for (let step = 0; step < 8; step++) {
    const adapters = new Set((await batch(step)).map(({ adapter }) => adapter));
    expect(adapters.size).toBe(1); // a step is of one
    for (const adapter of adapters) all.add(adapter);
  }
  expect([...all].sort()).toEqual(["p", "v"]);
});
