import type { Rng } from "../../core/rng.ts";
import type { Relation } from "./relations.ts";

/** The two ways to write a relation chain, outermost relation first or last. */
interface Chain {
  /** "the spouse of the director of zoriba" */
  readonly of: string;
  /** "zoriba 's director 's spouse" */
  readonly possessive: string;
}

/** Five ways to ask, with their shares. Punctuation stands apart: it is a token of its own. */
export const phrasings: readonly { readonly share: number; readonly ask: (chain: Chain) => string }[] = [
  { share: 0.35, ask: ({ of }) => `what is ${of} ?` },
  { share: 0.15, ask: ({ of }) => `who is ${of} ?` },
  { share: 0.15, ask: ({ of }) => `name ${of} .` },
  { share: 0.2, ask: ({ possessive }) => `what is ${possessive} ?` },
  { share: 0.15, ask: ({ possessive }) => `tell me ${possessive} .` },
];

/** Words that questions and pages are written in, the relations aside. */
export const frameWords = ["what", "who", "is", "the", "of", "?", "'s", "tell", "me", "name", ":", "."];

export function phrase(index: number, start: string, chain: readonly Relation[]): string {
  const row = phrasings[index];
  if (row === undefined) throw new RangeError(`phrasing ${index} of ${phrasings.length}`);
  const of = [...chain].reverse().map((relation) => `the ${relation}`);
  return row.ask({
    of: [...of, start].join(" of "),
    possessive: [start, ...chain].join(" 's "),
  });
}

/** Index of a phrasing, drawn by share. */
export function drawPhrasing(draw: Rng): number {
  let left = draw();
  const index = phrasings.findIndex(({ share }) => {
    left -= share;
    return left < 0;
  });
  return index < 0 ? phrasings.length - 1 : index;
}
