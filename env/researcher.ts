import type { Question } from "../datasets/task.ts";
import type { EnvConfig } from "./config.ts";
import type { Ending, Environment, PolicyOutcome, Seat } from "./environment.ts";
import type { Retriever } from "./search/retriever.ts";
import { SearchTool } from "./search-tool.ts";
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
  readonly #config: EnvConfig;
  readonly #seat: Seat;
  readonly #signal: AbortSignal;
  readonly #tool: SearchTool;
  #turns = 0;
  #invalid = 0;
  #cut = 0;

  constructor(options: ResearcherOptions, question: Question, seat: Seat, signal: AbortSignal) {
    this.#config = options.config;
    this.#seat = seat;
    this.#signal = signal;
    this.#tool = new SearchTool({ ...options, question, signal });
  }

  async play(): Promise<Ending> {
    const { maxTurns, maxInvalid, turnTokens, noAction } = this.#config;
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
      if (move.kind === "search") await this.#observe(await this.#tool.search(move.query));
      else await this.#correct(corrections[move.cause]);
    }
  }

  async #observe(text: Parameters<Seat["observe"]>[0]): Promise<void> {
    this.#cut += (await this.#seat.observe(text)).cut;
  }

  async #correct(ours: string): Promise<void> {
    const text = this.#config.correction ?? ours;
    if (text !== "") await this.#observe(text);
  }

  #end(outcome: PolicyOutcome): Ending {
    return {
      outcome,
      turns: this.#turns,
      searches: this.#tool.records,
      invalidActions: this.#invalid,
      observationTokensCut: this.#cut,
    };
  }
}
