import { type Family, makeFamily } from "../family.ts";
import { type ConstraintCheck, checked, itemsOf, type Solved } from "../plan.ts";
import { followSynthesis, readItem, synthesisPath } from "./follow.ts";
import { makePlaces, passageWords } from "./places.ts";
import { changeSynthesis, drawSynthesis, placesOf, type SynthesisProblem } from "./problem.ts";

export interface SynthesisOptions {
  /** Where the passages are: all in the question, or to be searched. Default: search. */
  readonly passages?: "question" | "search";
  /** Sentences of each passage; default 16. 12 of them are facts. */
  readonly sentences?: number;
}

/** Most that an answer about each combination must be. */
const answerForms = {
  sum: (thing: string) => `answer in ${thing}`,
  count: () => "answer in towns",
  most: () => "answer is one town",
  fewest: () => "answer is one town",
  order: () => "answer is every town",
};

const words = [
  ...passageWords,
  ...[
    "how",
    "many",
    "do",
    "have",
    "together",
    "which",
    "has",
    "most",
    "fewest",
    "name",
    "first",
    "more",
    "than",
  ],
  ...[
    "and",
    "of",
    "by",
    "plus",
    "minus",
    "sum",
    "order",
    "count",
    "over",
    "towns",
    "town",
    "one",
    "in",
    "passage",
  ],
];

/**
 * Questions that need one number from each of two to four long passages (difficulty 1 to 3), summed, compared, ordered
 * or counted. A passage is about one place, says what it has of six things, and for each what it had in the old days.
 * The places of a split are in no other.
 */
export function synthesisFamily(seed: number, options: SynthesisOptions = {}): Family<SynthesisProblem> {
  const { passages = "search", sentences = 16 } = options;
  const all = makePlaces(seed, sentences);
  return makeFamily(seed, {
    name: passages === "question" ? "synthesis-long" : "synthesis",
    levels: 3,
    words,
    passages: all.map(({ passage }) => passage),
    draw: (draw, level, split) => drawSynthesis(draw, level, placesOf(all, split)),
    change: (problem, draw, split) => changeSynthesis(problem, draw, placesOf(all, split)),
    write: (problem, at) => write(problem, at, passages === "question"),
    check,
  });
}

function ask({ thing, places, combination }: SynthesisProblem): string {
  const names = places.map(({ name }) => name);
  const list = `${names.slice(0, -1).join(" , ")} and ${names.at(-1)}`;
  if (combination.kind === "sum") return `how many ${thing} do ${list} have together ?`;
  if (combination.kind === "order") return `name ${list} by ${thing} , fewest first .`;
  if (combination.kind === "count")
    return `how many of ${list} have more than ${combination.over} ${thing} ?`;
  return `which of ${list} has the ${combination.kind} ${thing} ?`;
}

function write(
  problem: SynthesisProblem,
  { id, level }: { readonly id: string; readonly level: number },
  inQuestion: boolean,
): Solved<SynthesisProblem> {
  const { thing, places, combination } = problem;
  const path = synthesisPath(problem);
  const { works, answer } = followSynthesis(problem, path);
  const shown = inQuestion
    ? places
        .map(({ passage }) => `${passage.text}\n`)
        .sort()
        .join("")
    : "";
  return {
    task: {
      id,
      question: `${shown}${ask(problem)}`,
      goldenAnswers: [answer],
      dataset: "synthesis",
      hops: level,
      supportingIds: places.map(({ passage }) => passage.id),
    },
    plan: {
      problem,
      steps: works.map((work, i) => {
        const place = places[i];
        const own = path[i] as string;
        if (place === undefined) return { path: own, work, conditions: [] };
        const step = { path: own, work, conditions: [`${own} ${place.has[thing]}`] };
        return inQuestion ? step : { ...step, passageId: place.passage.id };
      }),
      constraints: ["every passage", answerForms[combination.kind](thing)],
      answer,
    },
  };
}

function check({ plan }: Solved<SynthesisProblem>, answer: string, steps: string): ConstraintCheck[] {
  const [every = "", form = ""] = plan.constraints;
  const { thing, places, combination } = plan.problem;
  const items = itemsOf(steps);
  const unread = places.find(
    ({ name }) => !items.some((item) => item.startsWith(`${readItem(thing, name)} :`)),
  );
  const names = places.map(({ name }) => name);
  const said = answer.trim().split(/[\s,]+/u);
  const unit = combination.kind === "sum" ? thing : "towns";
  const inForm = {
    sum: () => said.length === 2 && /^\d+$/.test(said[0] as string) && said[1] === unit,
    count: () => said.length === 2 && /^\d+$/.test(said[0] as string) && said[1] === unit,
    most: () => said.length === 1 && names.includes(said[0] as string),
    fewest: () => said.length === 1 && names.includes(said[0] as string),
    order: () => said.length === names.length && names.every((name) => said.includes(name)),
  }[combination.kind]();
  return [checked(every, unread && readItem(thing, unread.name)), checked(form, inForm ? undefined : answer)];
}
