import type { SearchRecord } from "../env/environment.ts";
import type { Segment } from "../rollout/trajectory.ts";

/** Share of the gold passages that some search showed, in [0, 1]. @param gold ids, at least one */
export function evidence(searches: readonly SearchRecord[], gold: readonly string[]): number {
  const shown = new Set(searches.flatMap(({ passageIds }) => passageIds));
  const wanted = new Set(gold);
  return [...wanted].filter((id) => shown.has(id)).length / wanted.size;
}

/** Share of the searches that showed a passage which no earlier one had shown; 0 without a search. */
export function novelSearch(searches: readonly SearchRecord[]): number {
  if (searches.length === 0) return 0;
  const seen = new Set<string>();
  const novel = searches.filter(({ passageIds }) => addsTo(seen, passageIds));
  return novel.length / searches.length;
}

/** Share of the searches whose query had not been asked before; 0 without a search. */
export const freshQuery = (searches: readonly SearchRecord[]): number =>
  searches.length === 0 ? 0 : searches.filter(({ repeated }) => !repeated).length / searches.length;

/** Is there an id that `seen` lacks? They are added. */
function addsTo(seen: Set<string>, ids: readonly string[]): boolean {
  const before = seen.size;
  for (const id of ids) seen.add(id);
  return seen.size > before;
}

/**
 * Does the answer stand in an observation, as whole words? Both normalised; yes, no and noanswer stand in no text and
 * are supported by any observation at all.
 */
export function isSupported(answer: string, observations: readonly string[]): boolean {
  if (answer === "") return false;
  if (answer === "yes" || answer === "no" || answer === "noanswer") return observations.length > 0;
  return observations.some((text) => hasWords(text, answer));
}

/** Both normalised: words one space apart. */
export const hasWords = (text: string, words: string): boolean => ` ${text} `.includes(` ${words} `);

/**
 * What each policy turn was worth, [turns], each in [0, 1]. A search that showed a gold passage for the first time: 1;
 * another that showed a passage for the first time: 1/2; any other search: 0. A turn with the judged answer: 1 when an
 * observation supports it. A turn that did neither: 0.
 * @param segments of one sequence; a search is a policy turn with an observation behind it, in the order of `searches`
 */
export function turnCredits(
  segments: readonly Pick<Segment, "source">[],
  searches: readonly SearchRecord[],
  o: { readonly gold: readonly string[]; readonly supported: boolean },
): number[] {
  const gold = new Set(o.gold);
  const seen = new Set<string>();
  const last = segments.findLastIndex(({ source }) => source === "policy");
  let at = 0;
  return segments.flatMap(({ source }, i) => {
    if (source !== "policy") return [];
    const search = segments[i + 1]?.source === "observation" ? searches[at++] : undefined;
    if (!search) return i === last && o.supported ? 1 : 0;
    const found = search.passageIds.some((id) => gold.has(id) && !seen.has(id));
    const novel = addsTo(seen, search.passageIds);
    return found ? 1 : novel ? 0.5 : 0;
  });
}
