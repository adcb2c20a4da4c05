import { type Family, makeFamily } from "../family.ts";
import { type ConstraintCheck, checked, firstMissing, itemsOf, type Solved } from "../plan.ts";
import { largest } from "../words.ts";
import { changeArithmetic, drawArithmetic } from "./draw.ts";
import { followArithmetic } from "./follow.ts";
import { type ArithmeticProblem, pathOf } from "./problem.ts";
import { arithmeticQuestion, arithmeticWords, moveSentence, startSentence } from "./wording.ts";

export interface ArithmeticOptions {
  /** Largest number in a story and on the way to its answer; 99 by default. */
  readonly numbers?: number;
}

/**
 * Word problems of two to five operations (difficulty 1 to 4) about what one or two persons have, with sentences that
 * have nothing to do with the answer. An answer is a number from 2 with its unit: `34 pens`.
 */
export function arithmeticFamily(seed: number, o: ArithmeticOptions = {}): Family<ArithmeticProblem> {
  const { numbers = largest } = o;
  return makeFamily(seed, {
    name: numbers === largest ? "arithmetic" : `arithmetic-to${numbers}`,
    levels: 4,
    words: arithmeticWords,
    passages: [
      { id: "arithmetic/times", title: "times", text: "times : 3 times as many of 4 is 12 ." },
      { id: "arithmetic/over", title: "over", text: "over : one of 3 equal shares of 12 is 4 ." },
    ],
    draw: (draw, level, _split, mine) => drawArithmetic(draw, level, numbers, mine),
    change: (problem, draw, _split, mine) => changeArithmetic(problem, draw, numbers, mine),
    write,
    check,
  });
}

function write(
  problem: ArithmeticProblem,
  { id, level }: { readonly id: string; readonly level: number },
): Solved<ArithmeticProblem> {
  const path = pathOf(problem);
  const { worked, answer } = followArithmetic(problem, path);
  const begun = new Set<string>();
  const steps = worked.map(({ text, who }, i) => {
    const move = problem.moves[i];
    const start = problem.starts.find((each) => each.who === who && !begun.has(who));
    begun.add(who);
    // The person who is compared with may have done nothing: then what it has at the start is needed last.
    const idle = move ? undefined : problem.starts.find((each) => !begun.has(each.who));
    const starts = [start, idle].flatMap((each) => (each ? [startSentence(problem.unit, each)] : []));
    const conditions = [...starts, ...(move ? [moveSentence(problem.unit, move)] : [])];
    return { path: path[i] as string, work: text, conditions };
  });
  return {
    task: {
      id,
      question: arithmeticQuestion(problem),
      goldenAnswers: [answer],
      dataset: "arithmetic",
      hops: level,
    },
    plan: {
      problem,
      steps,
      constraints: [`answer in ${problem.unit}`, "whole numbers", "every step"],
      answer,
    },
  };
}

function check({ plan }: Solved<ArithmeticProblem>, answer: string, steps: string): ConstraintCheck[] {
  const [unit = "", whole = "", every = ""] = plan.constraints;
  const items = itemsOf(steps);
  const numbers = `${steps} ${answer}`.match(/-?\d+(?:[.,/]\d+)*/g) ?? [];
  const odd = numbers.find((number) => !/^\d+$/.test(number));
  const paths = items.map((item) => item.split(" : ")[0] as string);
  const skipped = plan.steps.find((step) => firstMissing([step.path], paths) !== undefined);
  return [
    checked(unit, answer.trim().split(/\s+/u).slice(1).join(" ") === plan.problem.unit ? undefined : answer),
    checked(whole, odd),
    checked(every, skipped?.path),
  ];
}
