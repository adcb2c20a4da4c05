import { ForagerError, ToolError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import type { Question } from "../datasets/task.ts";
import type { EnvConfig } from "./config.ts";
import type { Observation, SearchRecord } from "./environment.ts";
import { showPassages } from "./passages.ts";
import type { Hit, Retriever } from "./search/retriever.ts";

export interface SearchToolOptions {
  readonly retriever: Retriever;
  readonly config: EnvConfig;
  /** The run's seed; only `shuffle` draws from it. */
  readonly seed: number;
  readonly question: Question;
  readonly signal: AbortSignal;
}

/** The search of one episode: a query that was asked before gets its earlier answer. */
export class SearchTool {
  readonly #options: SearchToolOptions;
  readonly #records: SearchRecord[] = [];
  readonly #shown = new Map<string, readonly Hit[]>();

  constructor(options: SearchToolOptions) {
    this.#options = options;
  }

  /** Every search so far, in order. */
  get records(): readonly SearchRecord[] {
    return this.#records;
  }

  /** @param seat who searches, where there are several. @throws ToolError */
  async search(query: string, seat?: string): Promise<Observation> {
    const { config } = this.#options;
    const key = query.toLowerCase().replace(/\s+/gu, " ");
    const earlier = this.#shown.get(key);
    const start = performance.now();
    const hits = earlier ?? (await this.#retrieve(query, key));
    const milliseconds = earlier ? 0 : performance.now() - start;
    this.#shown.set(key, hits);
    this.#records.push({
      query,
      passageIds: hits.map((hit) => hit.id),
      repeated: earlier !== undefined,
      milliseconds,
      ...(seat === undefined ? {} : { seat }),
    });
    return {
      open: config.observationOpen,
      body: hits.length > 0 ? showPassages(hits, config.passageFormat) : config.noResults,
      close: config.observationClose,
      maxTokens: config.observationTokens,
    };
  }

  /** Hits in the order shown. The order depends on the question and the query alone: all members see the same. */
  async #retrieve(query: string, key: string): Promise<readonly Hit[]> {
    const { retriever, config, seed, question, signal } = this.#options;
    let answers: Hit[][];
    try {
      answers = await retriever.search([query], config.topK, signal);
    } catch (cause) {
      if (signal.aborted || cause instanceof ForagerError) throw cause;
      throw new ToolError({ what: "the search failed", where: query, got: String(cause), cause });
    }
    const [hits] = answers;
    if (hits === undefined || answers.length !== 1)
      throw new ToolError({
        what: "the retriever did not answer one query with one list",
        where: query,
        got: `${answers.length} lists`,
        expected: "1 list",
      });
    const top = hits.slice(0, config.topK);
    return config.shuffle ? rng(seed, "shuffle", question.id, key).shuffle(top) : top;
  }
}
