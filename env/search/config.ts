import { z } from "zod";
import { filePath } from "../../core/path-schema.ts";

/** What can answer a search: the rows of stand-ins.ts. */
export const retrieverNames = ["engine", "empty", "random", "oracle"] as const;
export type RetrieverName = (typeof retrieverNames)[number];

/** Section `search`: what the policy searches. */
export const searchConfig = z
  .strictObject({
    engine: z
      .enum(["memory", "lancedb"])
      .default("memory")
      .describe(
        "memory: the corpus in memory, for up to some 100,000 passages; lancedb: an index folder on disk. Both are BM25, k1 1.2, b 0.75.",
      ),
    index: filePath()
      .optional()
      .describe(
        "Index folder (forager index build). Needed by lancedb; built from `corpus` when it is not there.",
      ),
    corpus: filePath()
      .optional()
      .describe(
        "JSONL or JSONL.gz of {id, title, text}. The memory engine needs it unless the tasks bring passages.",
      ),
    maxDocumentShare: z
      .number()
      .gt(0)
      .max(1)
      .default(1)
      .describe(
        "Engine memory: words that are in a larger share of the passages are passed over, as stop words are, unless a query has no others. 1 passes over none.",
      ),
    retriever: z
      .enum(retrieverNames)
      .default("engine")
      .describe(
        "What answers a search. engine: the engine above; the others measure what it is worth. empty: nothing is found; random: passages drawn at random; oracle: the question's gold passages, then what the engine finds.",
      ),
    budget: z
      .int()
      .min(0)
      .optional()
      .describe(
        "Searches of an episode that are answered; further ones find nothing. A query asked again does not count. All when absent.",
      ),
    cacheEntries: z
      .int()
      .min(0)
      .default(20_000)
      .describe("Answers kept in memory, least recently used out first. 0: none."),
    timeoutMs: z
      .int()
      .min(1)
      .max(2 ** 31 - 1)
      .default(30_000)
      .describe("Longest wait for an answer in milliseconds; after it the episode is void, never scored."),
  })
  .refine(({ engine, index }) => engine !== "lancedb" || index !== undefined, {
    path: ["index"],
    message: "engine lancedb needs an index folder",
  })
  .refine(({ engine, index }) => engine !== "memory" || index === undefined, {
    path: ["index"],
    message: "engine memory has no index folder: set `engine: lancedb`, or leave `index` out",
  })
  .refine(
    ({ engine, retriever, corpus }) =>
      engine !== "lancedb" || corpus !== undefined || !["random", "oracle"].includes(retriever),
    {
      path: ["corpus"],
      message: "retrievers random and oracle read their passages from the corpus: name it beside the index",
    },
  )
  .refine(({ engine, maxDocumentShare }) => engine === "memory" || maxDocumentShare === 1, {
    path: ["maxDocumentShare"],
    message: "only engine memory passes over common words",
  });
export type SearchConfig = z.infer<typeof searchConfig>;
