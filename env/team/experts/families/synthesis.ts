import { itemsOf, plainSpace, type Solution, type Solved } from "../../../../datasets/families/plan.ts";
import { followSynthesis, readItem, synthesisPath } from "../../../../datasets/families/synthesis/follow.ts";
import type { SynthesisProblem } from "../../../../datasets/families/synthesis/problem.ts";
import { isNumber } from "../../../../datasets/families/words.ts";
import type { Draft } from "../../message.ts";
import type { Skills } from "./skills.ts";

export function synthesisSkills({ plan }: Solved<SynthesisProblem>): Skills {
  const { problem } = plan;
  const searched = plan.steps.some(({ passageId }) => passageId !== undefined);
  const seenBy = (draft: Draft) => (searched ? asRead(problem, draft) : problem);
  return {
    draft(path, slip) {
      const { works, answer } = followSynthesis(problem, path, slip?.int(Math.max(1, path.length)));
      return { steps: works.join(" ; ") || "nothing", answer };
    },
    backward(draft) {
      const said = plainSpace(draft.answer);
      const unread = searched ? unreadIn(problem, draft) : [];
      if (unread.length > 0)
        return [`answer ${said}`, ...unread.map((item) => `${item} is missing`)].join(" , ");
      const seen = seenBy(draft);
      const right = solutionOf(seen).answer;
      return [`answer ${said}`, ...evidence(seen, said), said === right ? "holds" : `not ${right}`].join(
        " , ",
      );
    },
    ...(searched ? { believing: (draft) => solutionOf(seenBy(draft)) } : {}),
  };
}

/** The number that a draft says a place has, if it does. */
function readOf(item: string, { steps }: Draft): number | undefined {
  const before = `${item} : `;
  const read = itemsOf(steps)
    .find((each) => each.startsWith(before))
    ?.slice(before.length);
  const number = read !== undefined && /^\d+$/.test(read) ? Number(read) : undefined;
  return number !== undefined && isNumber(number) ? number : undefined;
}

const unreadIn = ({ thing, places }: SynthesisProblem, draft: Draft): string[] =>
  places.map(({ name }) => readItem(thing, name)).filter((item) => readOf(item, draft) === undefined);

/** The problem with the numbers that a draft says it read. */
function asRead(problem: SynthesisProblem, draft: Draft): SynthesisProblem {
  const { thing, places } = problem;
  const believed = places.map((place) => {
    const number = readOf(readItem(thing, place.name), draft);
    return number === undefined ? place : { ...place, has: { ...place.has, [thing]: number } };
  });
  return { ...problem, places: believed };
}

function solutionOf(problem: SynthesisProblem): Pick<Solution<unknown>, "steps" | "answer"> {
  const path = synthesisPath(problem);
  const { works, answer } = followSynthesis(problem, path);
  return {
    steps: works.map((work, i) => ({ path: path[i] as string, work, conditions: [] })),
    answer,
  };
}

/** What was read, held against an answer: for a sum the other numbers taken away from it, else every place with its number. */
function evidence({ places, thing, combination }: SynthesisProblem, answer: string): string[] {
  const [first = 0, ...others] = places.map(({ has }) => has[thing]);
  const [number = "", unit] = answer.split(" ");
  if (combination.kind !== "sum" || !/^\d{1,2}$/.test(number) || unit !== thing)
    return places.map(({ name, has }) => `${name} ${has[thing]}`);
  const said: string[] = [];
  let left = Number(number);
  for (const other of others) {
    if (left < other) return [...said, `${left} is not over ${other}`];
    said.push(`${left} minus ${other} is ${left - other}`);
    left -= other;
  }
  return [...said, `${places[0]?.name} ${first}`];
}
