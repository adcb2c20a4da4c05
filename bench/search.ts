/**
 * What a search costs: building the index, and queries one at a time, against brute force over the same passages
 * (every passage that holds a word of the query is scored). Times are of the clock; on a busy machine look at CPU.
 *
 *   npx tsx bench/search.ts                                                    32,800 synthetic pages
 *   npx tsx bench/search.ts --corpus corpus.jsonl.gz --questions dev.jsonl     your own; without questions: its titles
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { readJsonl } from "../core/jsonl.ts";
import { rng } from "../core/rng.ts";
import { readPassages } from "../datasets/jsonl.ts";
import type { Passage } from "../datasets/task.ts";
import { bruteForce } from "../env/search/brute-force.ts";
import { buildIndex } from "../env/search/build-index.ts";
import { openIndex } from "../env/search/lance.ts";
import { memoryRetriever } from "../env/search/memory.ts";
import { toyCorpus } from "../env/search/toy-corpus.ts";

const { values } = parseArgs({
  options: {
    corpus: { type: "string" },
    questions: { type: "string" },
    queries: { type: "string", default: "400" },
    k: { type: "string", default: "5" },
  },
});
const whole = z.coerce.number().int().min(1);
const k = whole.parse(values.k);

const folder = mkdtempSync(join(tmpdir(), "forager-bench-search-"));
try {
  const toy = values.corpus === undefined ? toyCorpus(32_800) : undefined;
  const corpus = values.corpus ?? join(folder, "corpus.jsonl");
  if (toy) writeFileSync(corpus, toy.passages.map((passage) => `${JSON.stringify(passage)}\n`).join(""));
  const passages: Passage[] = [];
  for await (const passage of readPassages(corpus)) passages.push(passage);
  const queries = await someQueries(passages, toy?.queries);
  console.log(`${passages.length} passages, ${queries.length} queries, k ${k}`);

  const [, lanceBuild] = await timed(() => buildIndex({ corpus, out: join(folder, "index") }));
  const [memory, memoryBuild] = await timed(async () => memoryRetriever(passages));
  const [reference, bruteBuild] = await timed(async () => bruteForce(passages));
  const lance = await openIndex(join(folder, "index"));
  const brute = await measure(async (query) => reference(query, k), queries);
  const rows = [
    { engine: "brute force", build: bruteBuild, ...brute },
    { engine: "memory", build: memoryBuild, ...(await measure((q) => memory.search([q], k), queries)) },
    { engine: "lancedb", build: lanceBuild, ...(await measure((q) => lance.search([q], k), queries)) },
  ];
  await lance.close();
  console.log("engine        build s  CPU s    p50 ms    p95 ms  mean CPU ms   p50 against brute force");
  for (const { engine, build, p50, p95, cpuMs } of rows)
    console.log(
      `${engine.padEnd(12)}${build.seconds.toFixed(2).padStart(9)}${build.cpuSeconds.toFixed(2).padStart(7)}` +
        `${p50.toFixed(3).padStart(10)}${p95.toFixed(3).padStart(10)}${cpuMs.toFixed(3).padStart(13)}` +
        `${(brute.p50 / p50).toFixed(1).padStart(10)}×`,
    );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function someQueries(passages: readonly Passage[], given?: readonly string[]): Promise<string[]> {
  const asked = [...(given ?? [])];
  if (values.questions !== undefined)
    for await (const { value } of readJsonl(values.questions, z.object({ question: z.string() })))
      asked.push(value.question);
  const all = asked.length > 0 ? asked : passages.map(({ title, text }) => title || text.slice(0, 60));
  return rng(1, "bench", "search").shuffle(all).slice(0, whole.parse(values.queries));
}

/** Fifty queries to warm up, then every query once, one at a time. */
async function measure(search: (query: string) => Promise<unknown>, queries: readonly string[]) {
  const milliseconds: number[] = [];
  for (const query of queries.slice(0, 50)) await search(query);
  let cpuMs = 0;
  for (const query of queries) {
    const [, { seconds, cpuSeconds }] = await timed(() => search(query));
    milliseconds.push(seconds * 1000);
    cpuMs += (cpuSeconds * 1000) / queries.length;
  }
  milliseconds.sort((a, b) => a - b);
  const at = (share: number) => milliseconds[Math.floor((milliseconds.length - 1) * share)] as number;
  return { p50: at(0.5), p95: at(0.95), cpuMs };
}

/** What the work gives, how long it took, and how long the processor worked on it, all threads together. */
async function timed<T>(work: () => Promise<T>): Promise<[T, { seconds: number; cpuSeconds: number }]> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const result = await work();
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return [result, { seconds, cpuSeconds: (user + system) / 1e6 }];
}
