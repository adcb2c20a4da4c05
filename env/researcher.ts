import { ForagerError, ToolError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import type { Question } from "../datasets/task.ts";
import type { EnvConfig } from "./config.ts";
import type { Ending, Environment, PolicyOutcome, SearchRecord, Seat } from "./environment.ts";
import { showPassages } from "./passages.ts";
import type { Hit, Retriever } from "./search/retriever.ts";
import { corrections, type Move, readTurn } from "./turn.ts";

export interface ResearcherOptions {
  readonly retriever: Retriever;
  readonly config: EnvConfig;
  /** The run's seed; only `shuffle` draws from it. */
  readonly seed: number;
}

/** Stop at `</search>` and at end of text only: were `</answer>` a stop, a second answer could never be written. */
const stop: readonly string[] = ["</search>"];

/** One seat that thinks, searches and answers: the protocol of Search-R1. */
export function researcher(options: ResearcherOptions): Environment {
  return {
    name: "researcher",
    seats: ["researcher"],
    play: (question, seats, signal) =>
      new Episode(options, question, seats.researcher as Seat, signal).play(),
  };
}

class Episode {
  readonly #options: ResearcherOptions;
  readonly #question: Question;
  readonly #seat: Seat;
  readonly #signal: AbortSignal;
  readonly #searches: SearchRecord[] = [];
  readonly #shown = new Map<string, readonly Hit[]>();
  #turns = 0;
  #invalid = 0;
  #cut = 0;

  constructor(options: ResearcherOptions, question: Question, seat: Seat, signal: AbortSignal) {
    this.#options = options;
    this.#question = question;
    this.#seat = seat;
    this.#signal = signal;
  }

  async play(): Promise<Ending> {
    const { maxTurns, maxInvalid, turnTokens, noAction } = this.#options.config;
    for (let acts = 1; ; acts++) {
      this.#signal.throwIfAborted();
      const act = await this.#seat.act({ stop, maxTokens: turnTokens });
      if (act.tokens === 0 && act.finish === "context") return this.#end("length");
      if (act.tokens > 0) this.#turns++;
      let move: Move = readTurn(act);
      if (move.kind === "answer") return this.#end("answered");
      if (move.kind === "cut") return this.#end("length");
      if (move.kind === "nothing") {
        if (noAction === "end") return this.#end("no_answer");
        move = { kind: "invalid", cause: "noAction" };
      }
      if (move.kind === "invalid" && ++this.#invalid > maxInvalid) return this.#end("invalid");
      if (acts >= maxTurns) return this.#end("turn_limit");
      if (move.kind === "search") await this.#search(move.query);
      else await this.#correct(corrections[move.cause]);
    }
  }

  async #search(query: string): Promise<void> {
    const { config } = this.#options;
    const key = query.toLowerCase().replace(/\s+/gu, " ");
    const earlier = this.#shown.get(key);
    const start = performance.now();
    const hits = earlier ?? (await this.#retrieve(query, key));
    const milliseconds = earlier ? 0 : performance.now() - start;
    this.#shown.set(key, hits);
    this.#searches.push({
      query,
      passageIds: hits.map((hit) => hit.id),
      repeated: earlier !== undefined,
      milliseconds,
    });
    const { cut } = await this.#seat.observe({
      open: config.observationOpen,
      body: hits.length > 0 ? showPassages(hits, config.passageFormat) : config.noResults,
      close: config.observationClose,
      maxTokens: config.observationTokens,
    });
    this.#cut += cut;
  }

  /** Hits in the order shown. The order depends on the question and the query alone: all members see the same. */
  async #retrieve(query: string, key: string): Promise<readonly Hit[]> {
    const { retriever, config, seed } = this.#options;
    let answers: Hit[][];
    try {
      answers = await retriever.search([query], config.topK, this.#signal);
    } catch (cause) {
      if (this.#signal.aborted || cause instanceof ForagerError) throw cause;
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
    return config.shuffle ? rng(seed, "shuffle", this.#question.id, key).shuffle(top) : top;
  }

  async #correct(ours: string): Promise<void> {
    const text = this.#options.config.correction ?? ours;
    if (text !== "") this.#cut += (await this.#seat.observe(text)).cut;
  }

  #end(outcome: PolicyOutcome): Ending {
    return {
      outcome,
      turns: this.#turns,
      searches: this.#searches,
      invalidActions: this.#invalid,
      observationTokensCut: this.#cut,
    };
  }
}
