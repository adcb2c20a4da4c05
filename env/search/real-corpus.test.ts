import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readPassages } from "../../datasets/jsonl.ts";
import type { Passage } from "../../datasets/task.ts";
import { bruteForce } from "./brute-force.ts";
import { buildIndex } from "./build-index.ts";
import { openIndex } from "./lance.ts";
import { memoryRetriever } from "./memory.ts";
import type { Hit } from "./retriever.ts";

const shared = process.env.FORAGER_SHARED;
const title = "the benchmark's corpus (set FORAGER_SHARED to the folder that holds data/benchmark)";

describe.skipIf(shared === undefined)(title, () => {
  it("builds in a minute and finds what brute force finds", async () => {
    const benchmark = join(shared as string, "data", "benchmark");
    const corpus = join(benchmark, "corpus.jsonl.gz");
    const folder = mkdtempSync(join(tmpdir(), "forager-real-"));
    try {
      const start = performance.now();
      await buildIndex({ corpus, out: join(folder, "index") });
      const seconds = (performance.now() - start) / 1000;
      expect(seconds).toBeLessThan(60);
      const passages: Passage[] = [];
      for await (const passage of readPassages(corpus)) passages.push(passage);
      const asked = readFileSync(join(benchmark, "questions.dev.jsonl"), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as { question: string; supporting_ids: string[] });
      const questions = asked.map(({ question }) => question);
      const recall = (found: readonly Hit[][]): number =>
        found.reduce((sum, hits, i) => {
          const gold = asked[i]?.supporting_ids ?? [];
          return sum + gold.filter((id) => hits.some((hit) => hit.id === id)).length / gold.length;
        }, 0) / found.length;

      const lance = await openIndex(join(folder, "index"));
      const fromLance = recall(await lance.search(questions, 5));
      await lance.close();
      const fromMemory = recall(await memoryRetriever(passages).search(questions, 5));
      const brute = bruteForce(passages);
      const fromBrute = recall(questions.map((question) => brute(question, 5)));
      console.log({ seconds, fromLance, fromMemory, fromBrute });
      expect(Math.abs(fromLance - fromBrute)).toBeLessThanOrEqual(0.02);
      expect(Math.abs(fromMemory - fromBrute)).toBeLessThanOrEqual(0.001);
      expect(fromBrute).toBeGreaterThan(0.7);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 300_000);
});
