import { followArithmetic, type Worked } from "../../../../datasets/families/arithmetic/follow.ts";
import {
  type ArithmeticProblem,
  operators,
  pathOf,
} from "../../../../datasets/families/arithmetic/problem.ts";
import type { Solved } from "../../../../datasets/families/plan.ts";
import { isNumber } from "../../../../datasets/families/words.ts";
import type { Skills } from "./skills.ts";

const slips = [1, -1, 2, -2, 10, -10];
const inverse = { plus: "minus", minus: "plus", times: "over", over: "times" } as const;

export function arithmeticSkills({ plan }: Solved<ArithmeticProblem>): Skills {
  const { problem } = plan;
  const right = followArithmetic(problem, pathOf(problem)).worked;
  return {
    draft(path, slip) {
      const plain = followArithmetic(problem, path);
      const places = slip?.shuffle(plain.worked.map((_, at) => at)) ?? [];
      const wrong = places
        .flatMap((at) => (slip?.shuffle(slips) ?? []).map((by) => ({ at, by })))
        .map((each) => followArithmetic(problem, path, each))
        .find(({ worked, answer }) => worked.length === plain.worked.length && answer !== plain.answer);
      const { worked, answer } = wrong ?? plain;
      return { steps: worked.map(({ text }) => text).join(" ; ") || "nothing", answer };
    },
    backward: ({ answer }) => undo(problem, right, answer),
  };
}

/** Undoes the steps of the person who is asked about, last first: an answer that holds ends at what it began with. */
function undo({ starts, asked, unit }: ArithmeticProblem, right: readonly Worked[], answer: string): string {
  const [number = "", ...rest] = answer.trim().split(/\s+/u);
  if (!/^\d{1,2}$/.test(number) || rest.join(" ") !== unit) return `answer ${answer} is not in ${unit}`;
  const start = starts.find(({ who }) => who === asked.who)?.number;
  const said: string[] = [];
  let value = Number(number);
  for (const { operator, by } of right.filter(({ who }) => who === asked.who).reverse()) {
    const back = inverse[operator];
    const before = operators[back](value, by);
    if (!isNumber(before)) return [...said, `${value} ${back} ${by} is not whole numbers`].join(" , ");
    said.push(`${value} ${back} ${by} is ${before}`);
    value = before;
  }
  const end = value === start ? "holds" : `${value} is not ${start}`;
  return [`answer ${number} ${unit}`, ...said, end].join(" , ");
}
