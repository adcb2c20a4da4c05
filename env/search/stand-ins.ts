import { rng } from "../../core/rng.ts";
import type { Passage, Question } from "../../datasets/task.ts";
import { withBudget } from "./budget.ts";
import type { RetrieverName } from "./config.ts";
import { oracleRetrievers } from "./oracle.ts";
import { checkRequest } from "./request.ts";
import type { Hit, Retriever } from "./retriever.ts";

/** What the rows below are made from. */
export interface StandInResources {
  /** The engine that the config names. */
  readonly engine: Retriever;
  /** `random` draws from these. */
  readonly pool: readonly Passage[];
  /** `oracle`: a question's gold passages; undefined for a question without any. */
  readonly gold: (question: Question) => readonly Passage[] | undefined;
}

export interface StandIn {
  readonly needs: "pool" | "gold" | undefined;
  /** The retriever of one question. */
  readonly open: (resources: StandInResources, question: Question) => Retriever;
  /** Names what answers, whatever the question. */
  readonly version: (engine: string) => string;
}

/** What can answer a search, by its name in the config. */
export const standIns: Readonly<Record<RetrieverName, StandIn>> = {
  engine: { needs: undefined, open: ({ engine }) => engine, version: (engine) => engine },
  empty: {
    needs: undefined,
    open: ({ engine }) => answering(engine, "empty", () => []),
    version: () => "empty",
  },
  random: {
    needs: "pool",
    open: ({ engine, pool }) =>
      answering(engine, `random-${engine.version}`, (query, k) => drawn(pool, query, k)),
    version: (engine) => `random-${engine}`,
  },
  oracle: {
    needs: "gold",
    open({ engine, gold }, question) {
      const passages = gold(question);
      return oracleRetrievers(new Map(passages ? [[question.id, passages]] : []), engine)(question.id);
    },
    version: (engine) => `oracle-${engine}`,
  },
};

/** What answers the searches of one episode, with its budget counted down. */
export function episodeRetriever(
  { retriever, budget }: { readonly retriever: RetrieverName; readonly budget?: number | undefined },
  resources: StandInResources,
  question: Question,
): Retriever {
  const opened = standIns[retriever].open(resources, question);
  return budget === undefined ? opened : withBudget(opened, budget);
}

function answering(
  { size }: Retriever,
  version: string,
  answer: (query: string, k: number) => Hit[],
): Retriever {
  let closed = false;
  return {
    version,
    size,
    async search(queries, k, signal) {
      checkRequest(k, closed, signal);
      return queries.map((query) => answer(query, k));
    },
    async close() {
      closed = true;
    },
  };
}

/** k different passages, the same for the same query. */
function drawn(pool: readonly Passage[], query: string, k: number): Hit[] {
  const draw = rng(1, "random retriever", query);
  const places = new Set<number>();
  while (places.size < Math.min(k, pool.length)) places.add(draw.int(pool.length));
  return [...places].map((place, rank) => ({ ...(pool[place] as Passage), score: k - rank }));
}
