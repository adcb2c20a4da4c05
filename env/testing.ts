/** Public toys for tests of environments, ours and yours: no model, no index, no clock. */
import { EnvError } from "../core/errors.ts";
import type { Passage } from "../datasets/task.ts";
import type { Act, ActOptions, Finish, Observation, Seat } from "./environment.ts";
import type { Hit, Retriever } from "./search/retriever.ts";

export interface ScriptedSeat extends Seat {
  /** Everything that was observed, as one text each, in order. */
  readonly observed: readonly string[];
  readonly observations: readonly (string | Observation)[];
  /** Options of every act, in order. */
  readonly acts: readonly ActOptions[];
}

/** A turn: its text, or the text and how it ended. Plain text ends at the stop string it holds, else at end of text. */
export type ScriptedTurn = string | { readonly text: string; readonly finish: Finish };

/**
 * A seat that says the given turns one after another. Tokens are words here, so budgets cut at words.
 * Throws EnvError when the environment asks for more turns than there are.
 */
export function scriptedSeat(turns: readonly ScriptedTurn[]): ScriptedSeat {
  const observations: (string | Observation)[] = [];
  const observed: string[] = [];
  const acts: ActOptions[] = [];
  return {
    observations,
    observed,
    acts,
    async observe(text) {
      observations.push(text);
      const { open, body, close, maxTokens } = typeof text === "string" ? whole(text) : text;
      const words = body.match(/\s*\S+/gu) ?? [];
      const room = Math.max(0, maxTokens - count(open) - count(close));
      observed.push(open + words.slice(0, room).join("") + close);
      const kept = Math.min(room, words.length);
      return { tokens: count(open) + kept + count(close), cut: words.length - kept };
    },
    async act(options) {
      const turn = turns[acts.length];
      acts.push(options);
      if (turn === undefined)
        throw new EnvError({
          what: "the script is over",
          got: `act number ${acts.length}`,
          expected: `at most ${turns.length}`,
        });
      return typeof turn === "string" ? spoken(turn, options.stop) : { ...turn, tokens: count(turn.text) };
    },
  };
}

/** Cuts a text after its first stop string, as a sampler does. */
export function spoken(text: string, stop: readonly string[]): Act {
  const ends = stop.map((s) => text.indexOf(s) + s.length).filter((end, i) => end >= (stop[i]?.length ?? 0));
  const said = ends.length > 0 ? text.slice(0, Math.min(...ends)) : text;
  return { text: said, finish: ends.length > 0 ? "stop" : "eos", tokens: count(said) };
}

const whole = (body: string): Observation => ({ open: "", body, close: "", maxTokens: Infinity });
const count = (text: string) => text.match(/\S+/gu)?.length ?? 0;

/** An index in memory: passages that share words with the query, most shared first, ties by id. */
export function tinyIndex(
  passages: readonly Passage[],
  options: { readonly failing?: Error } = {},
): Retriever {
  const postings = new Map<string, number[]>();
  passages.forEach((passage, i) => {
    for (const word of new Set(words(`${passage.title} ${passage.text}`))) {
      const list = postings.get(word);
      if (list) list.push(i);
      else postings.set(word, [i]);
    }
  });
  // Place of each passage in the order of ids, so that ties are numbers too.
  const place = new Int32Array(passages.length);
  const byId = passages
    .map((_, i) => i)
    .sort((a, b) => ((passages[a] as Passage).id < (passages[b] as Passage).id ? -1 : 1));
  byId.forEach((i, rank) => {
    place[i] = rank;
  });
  const scores = new Int32Array(passages.length); // All 0 between searches.
  const find = (query: string, k: number): Hit[] => {
    const touched: number[] = [];
    for (const word of new Set(words(query)))
      for (const i of postings.get(word) ?? []) if ((scores[i] as number)++ === 0) touched.push(i);
    // One number orders by score, then by id.
    const keys = new Float64Array(touched.length);
    touched.forEach((i, at) => {
      keys[at] = (place[i] as number) - (scores[i] as number) * passages.length;
      scores[i] = 0;
    });
    keys.sort();
    return Array.from(keys.subarray(0, k), (key) => {
      const score = Math.ceil(-key / passages.length);
      const rank = key + score * passages.length;
      return { ...(passages[byId[rank] as number] as Passage), score };
    });
  };
  return {
    version: `tiny-${passages.length}`,
    size: passages.length,
    async search(queries, k, signal) {
      signal?.throwIfAborted();
      if (options.failing) throw options.failing;
      return queries.map((query) => find(query, k));
    },
    async close() {},
  };
}

const words = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
