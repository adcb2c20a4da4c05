import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../core/errors.ts";
import { type BuildIndex, type BuildProgress, buildIndex } from "../env/search/build-index.ts";
import { openIndex } from "../env/search/lance.ts";
import { readManifest } from "../env/search/manifest.ts";
import type { Hit } from "../env/search/retriever.ts";
import { queryTerms } from "../env/search/terms.ts";
import { defineCommand } from "./command.ts";
import type { Output } from "./output.ts";

export const build = defineCommand({
  positionals: "<corpus>",
  examples: [
    [
      "forager index build corpus.jsonl.gz --out indexes/wiki",
      "index {id, title, text} passages, one JSON object a line",
    ],
  ],
  builder: (yargs) =>
    yargs
      .positional("corpus", { type: "string", demandOption: true, describe: "JSONL or JSONL.gz of passages" })
      .option("out", { type: "string", demandOption: true, describe: "folder to make" })
      .option("force", { type: "boolean", default: false, describe: "replace an index that is there" }),
  run: (args, output, signal) => buildIndexCommand({ ...args, signal }, output),
});

export const search = defineCommand({
  positionals: "<index> <query..>",
  examples: [
    ['forager index search indexes/wiki "who directed Modern Husbands" --k 3', "the best three passages"],
  ],
  builder: (yargs) =>
    yargs
      .positional("index", { type: "string", demandOption: true, describe: "index folder" })
      .positional("query", { type: "string", array: true, demandOption: true, describe: "what to look for" })
      .option("k", { type: "number", default: 5, describe: "passages to show" }),
  run: ({ index, query, k }, output, signal) =>
    searchIndexCommand({ index, query: query.join(" "), k, signal }, output),
});

export const stats = defineCommand({
  positionals: "<index>",
  examples: [["forager index stats indexes/wiki", "passages, size, and how the index was made"]],
  builder: (yargs) =>
    yargs.positional("index", { type: "string", demandOption: true, describe: "index folder" }),
  run: async ({ index }, output) => indexStatsCommand({ index }, output),
});

/** `forager index build`. @throws DataError as `buildIndex` does */
export async function buildIndexCommand(
  { corpus, out, force, signal }: Pick<BuildIndex, "corpus" | "out" | "force" | "signal">,
  output: Output,
): Promise<void> {
  const start = performance.now();
  const show = buildProgress(output);
  const manifest = await buildIndex({ corpus, out, force: force === true, signal, onProgress: show.tick });
  show.done();
  const seconds = (performance.now() - start) / 1000;
  const megabytes = folderBytes(out) / 1e6;
  output.line(`${manifest.passages} passages in ${seconds.toFixed(1)} s, ${megabytes.toFixed(1)} MB: ${out}`);
  output.line(`Try it: forager index search ${out} "your question"`);
  output.result({ index: out, passages: manifest.passages, seconds, bytes: folderBytes(out) });
}

/** A bar for `buildIndex`'s progress; also used by commands that build a missing index on their way. */
export function buildProgress(output: Output): { tick: (progress: BuildProgress) => void; done: () => void } {
  let bar: ReturnType<Output["progress"]> | undefined;
  let shown = 0;
  let phase: BuildProgress["phase"] = "reading";
  return {
    tick(progress) {
      bar ??= output.progress("indexing", progress.total);
      if (progress.phase !== phase)
        output.event("phase", { phase: progress.phase, passages: progress.passages });
      phase = progress.phase;
      bar.tick(progress.passages - shown, phase === "reading" ? "reading passages" : "building the index");
      shown = progress.passages;
    },
    done: () => bar?.done(),
  };
}

/** `forager index search`. @throws ConfigError for a bad k, DataError for a bad index */
export async function searchIndexCommand(
  { index, query, k, signal }: { index: string; query: string; k: number; signal?: AbortSignal },
  output: Output,
): Promise<void> {
  if (!Number.isSafeInteger(k) || k < 1 || k > 1000)
    throw new ConfigError({ what: "--k is wrong", got: String(k), expected: "an integer from 1 to 1000" });
  const retriever = await openIndex(index);
  try {
    const start = performance.now();
    const hits = (await retriever.search([query], k, signal))[0] as Hit[];
    const milliseconds = performance.now() - start;
    for (const [i, hit] of hits.entries()) {
      output.event("hit", { rank: i + 1, ...hit });
      output.print(
        `${i + 1}. ${hit.title || "(no title)"}  [${hit.id}]  ${hit.score.toFixed(3)}\n   ${excerpt(hit.text)}`,
      );
    }
    if (hits.length === 0)
      output.line(
        queryTerms(query).length === 0
          ? "No passage: the query holds no word."
          : "No passage holds any of these words.",
      );
    output.line(`${hits.length} of ${retriever.size} passages in ${milliseconds.toFixed(1)} ms`);
    output.result({ index, query, k, hits: hits.length, milliseconds });
  } finally {
    await retriever.close();
  }
}

/** `forager index stats`. @throws DataError for a bad index */
export function indexStatsCommand({ index }: { index: string }, output: Output): void {
  const manifest = readManifest(index);
  const bytes = folderBytes(index);
  const { passages, terms, corpus, bm25, tokenizer, createdBy, fingerprint } = manifest;
  output.print(
    [
      `passages     ${passages}`,
      `terms        ${terms} (${(terms / passages).toFixed(1)} a passage)`,
      `on disk      ${(bytes / 1e6).toFixed(1)} MB`,
      `corpus       ${corpus.name}, ${(corpus.bytes / 1e6).toFixed(1)} MB, fingerprint ${fingerprint.slice(0, 16)}`,
      `ranking      BM25, k1 ${bm25.k1}, b ${bm25.b}, over title and text`,
      `tokenizer    ${tokenizer.name} ${tokenizer.version}: letters and digits, lower case, accents folded`,
      `made by      ${createdBy}, format ${manifest.format}`,
    ].join("\n"),
  );
  output.result({ index, bytes, ...manifest });
}

const excerpt = (text: string) => {
  const line = text.replace(/\s+/gu, " ").trim();
  return line.length > 200 ? `${line.slice(0, 197)}...` : line;
};

function folderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => statSync(join(folder, name)))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
}
