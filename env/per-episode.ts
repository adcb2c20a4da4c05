import type { Question } from "../datasets/task.ts";
import type { Environment } from "./environment.ts";
import type { Retriever } from "./search/retriever.ts";

/** An environment in which each episode searches by a retriever of its own. */
export function perEpisode(
  make: (retriever: Retriever) => Environment,
  o: { readonly engine: Retriever; readonly retrieverOf: (question: Question) => Retriever },
): Environment {
  const { play: _, ...face } = make(o.engine);
  return {
    ...face,
    play: (question, seated, signal) => make(o.retrieverOf(question)).play(question, seated, signal),
  };
}
