import type { Combination, SynthesisProblem } from "./problem.ts";

/** A number that was read in a passage. */
export interface Read {
  readonly place: string;
  readonly number: number;
}

export interface FollowedSynthesis {
  /** As a draft writes them: `lamps mabo : 12`. */
  readonly works: readonly string[];
  readonly answer: string;
}

export const readItem = (thing: string, place: string): string => `${thing} ${place}`;

export const combineItem = (combination: Combination): string =>
  combination.kind === "count" ? `count over ${combination.over}` : combination.kind;

export function synthesisPath({ thing, places, combination }: SynthesisProblem): string[] {
  return [...places.map(({ name }) => readItem(thing, name)), combineItem(combination)];
}

/**
 * Follows a path as it is: reads the numbers that it names and combines those, no others. Items that are no step are
 * passed over; without the combination the answer is the number that was read last.
 * @param slip place in the path where a number is misread for that of the old days, or one too much is combined
 */
export function followSynthesis(
  problem: SynthesisProblem,
  path: readonly string[],
  slip?: number,
): FollowedSynthesis {
  const { thing, places, combination } = problem;
  const reads: Read[] = [];
  let answer = `1 ${thing}`; // of a path that reads nothing
  const works = path.flatMap((item, i) => {
    const place = places.find(({ name }) => item === readItem(thing, name));
    if (place && !reads.some((read) => read.place === place.name)) {
      const number = (i === slip ? place.had : place.has)[thing];
      reads.push({ place: place.name, number });
      answer = `${number} ${thing}`;
      return [`${item} : ${number}`];
    }
    if (item !== combineItem(combination) || reads.length === 0) return [];
    const combined = combine(combination, thing, reads, i === slip);
    answer = combined.answer;
    return [`${item} : ${combined.work}`];
  });
  return { works, answer };
}

interface Combined {
  readonly work: string;
  readonly answer: string;
}

/** @param slip the sum or count comes out one too high, the other end is taken of an order */
function combine(combination: Combination, thing: string, reads: readonly Read[], slip: boolean): Combined {
  const more = slip ? 1 : 0;
  const rising = [...reads].sort((a, b) => a.number - b.number);
  const list = (some: readonly Read[]) => some.map(({ place, number }) => `${place} ${number}`).join(" , ");
  switch (combination.kind) {
    case "sum": {
      const sum = reads.reduce((total, { number }) => total + number, 0) + more;
      return {
        work: `${reads.map(({ number }) => number).join(" plus ")} is ${sum}`,
        answer: `${sum} ${thing}`,
      };
    }
    case "count": {
      const above = reads.filter(({ number }) => number > combination.over);
      const count = above.length + more;
      return { work: `${list(above) || "nothing"} is ${count}`, answer: `${count} towns` };
    }
    case "order": {
      const order = slip ? rising.toReversed() : rising;
      return { work: list(order), answer: order.map(({ place }) => place).join(" , ") };
    }
    default: {
      const found = rising.at((combination.kind === "most") === slip ? 0 : -1) as Read;
      return { work: list([found]), answer: found.place };
    }
  }
}
