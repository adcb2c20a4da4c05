import { ConfigError } from "../../core/errors.ts";
import { readPassages } from "../../datasets/jsonl.ts";
import type { Passage } from "../../datasets/task.ts";
import { type BuildProgress, buildIndex } from "./build-index.ts";
import { type CachedRetriever, cachedRetriever } from "./cache.ts";
import type { SearchConfig } from "./config.ts";
import { openIndex } from "./lance.ts";
import { checkCorpus, hasManifest, readManifest } from "./manifest.ts";
import { memoryRetriever } from "./memory.ts";
import type { Retriever } from "./retriever.ts";
import { withTimeout } from "./timeout.ts";

export interface SearchResources {
  /** Passages that come with the tasks (the synthetic world), used when the config names no corpus. */
  readonly passages?: Iterable<Passage> | undefined;
  /** Called while a missing index is built. */
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

type Open = (config: SearchConfig, resources: SearchResources) => Promise<Retriever>;

const engines: Readonly<Record<SearchConfig["engine"], Open>> = {
  async memory({ corpus, maxDocumentShare }, { passages, signal }) {
    if (corpus !== undefined) return memoryRetriever(await collect(corpus, signal), maxDocumentShare);
    if (passages !== undefined) return memoryRetriever(passages, maxDocumentShare);
    throw new ConfigError({
      what: "there is nothing to search",
      where: "search",
      expected: "`corpus`, since these questions bring no passages of their own",
      next: "Set `search.corpus`, or `search.engine: lancedb` with `search.index`.",
    });
  },
  async lancedb({ index, corpus }, resources) {
    if (index === undefined)
      throw new ConfigError({ what: "engine lancedb needs an index folder", where: "search.index" });
    if (corpus !== undefined && hasManifest(index)) checkCorpus(index, readManifest(index), corpus);
    else if (corpus !== undefined) await buildIndex({ ...resources, corpus, out: index });
    return openIndex(index);
  },
};

/**
 * Opens what the config names, with its time limit and its cache.
 * @throws ConfigError when the config names nothing to search, DataError for a bad corpus or index
 */
export async function openRetriever(
  config: SearchConfig,
  resources: SearchResources = {},
): Promise<CachedRetriever> {
  const engine = await engines[config.engine](config, resources);
  return cachedRetriever(withTimeout(engine, config.timeoutMs), config.cacheEntries);
}

async function collect(path: string, signal: AbortSignal | undefined): Promise<Passage[]> {
  const passages: Passage[] = [];
  for await (const passage of readPassages(path)) {
    if (passages.length % 4096 === 0) signal?.throwIfAborted();
    passages.push(passage);
  }
  return passages;
}
