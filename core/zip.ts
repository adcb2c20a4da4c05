import { InvariantError } from "./errors.ts";

/** Pairs two lists of equal length; unequal lengths are a bug and throw. */
export function zip<A, B>(a: readonly A[], b: readonly B[]): [A, B][] {
  if (a.length !== b.length)
    throw new InvariantError({ what: "zip of unequal lengths", got: `${a.length} and ${b.length}` });
  return a.map((x, i) => [x, b[i] as B]);
}
