import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { benchmarkConfig, dataConfig, sourceConfig } from "./config.ts";
import { loadBenchmark, loadSource } from "./load.ts";

const normalize = (text: string) => text.trim();

it("has defaults for everything in the world", () => {
  expect(dataConfig.parse({})).toMatchInlineSnapshot(`
    {
      "train": {
        "clusters": 400,
        "hopMix": {
          "1": 1,
          "2": 1,
          "3": 1,
        },
        "kind": "world",
        "seed": 1,
        "split": "train",
      },
    }
  `);
  expect(benchmarkConfig.parse({ kind: "world" })).toMatchObject({ split: "test", n: 384, clusters: 400 });
});

it("refuses unknown keys, kinds and mixes of nothing", () => {
  const wrong = [
    { kind: "word" },
    { kind: "world", cluster: 3 },
    { kind: "world", clusters: 2 },
    { kind: "world", hopMix: { 1: 0, 2: 0, 3: 0 } },
    { kind: "world", hopMix: { 1: 1, 2: 1 } },
    { kind: "jsonl" },
    { kind: "jsonl", path: "q.jsonl", format: "csv" },
    { kind: "parquet", path: "q.parquet", split: "" },
    { kind: "jsonl", path: "q.jsonl", hops: [] },
    { kind: "jsonl", path: "q.jsonl", hops: [0] },
    { kind: "world", hops: [1] },
  ];
  for (const row of wrong) expect(sourceConfig.safeParse(row).success).toBe(false);
});

it("opens both kinds", async () => {
  const world = await loadSource(
    sourceConfig.parse({ kind: "world", clusters: 3, ramp: { to: { 1: 0, 2: 0, 3: 1 }, steps: 1 } }),
    1,
    normalize,
  );
  expect(world.world?.passages).toHaveLength(246);
  expect(world.source.batch(1, 4).map(({ hops }) => hops)).toEqual([3, 3, 3, 3]);

  const folder = mkdtempSync(join(tmpdir(), "forager-data-"));
  const path = join(folder, "q.jsonl");
  writeFileSync(path, '{"id":"a","question":"Q?","answer":"x"}\n{"id":"b","question":"Q?"}\n');
  const file = await loadSource(sourceConfig.parse({ kind: "jsonl", path }), 1, normalize);
  expect(file.source.batch(0, 1).map(({ id }) => id)).toEqual(["a"]);
  expect(file.loaded?.dropped).toHaveLength(1);
  const benchmark = await loadBenchmark(benchmarkConfig.parse({ kind: "jsonl", path, limit: 1 }), normalize);
  expect(benchmark.tasks).toHaveLength(1);
  rmSync(folder, { recursive: true });
});

it("draws a world's benchmark by the world's seed alone", async () => {
  const row = benchmarkConfig.parse({ kind: "world", clusters: 20, n: 30 });
  const [first, second] = [await loadBenchmark(row, normalize), await loadBenchmark(row, normalize)];
  expect(first).toEqual(second);
  expect([1, 2, 3].map((h) => first.tasks.filter(({ hops }) => hops === h).length)).toEqual([10, 10, 10]);
});
