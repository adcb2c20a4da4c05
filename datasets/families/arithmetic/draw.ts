import type { Rng } from "../../../core/rng.ts";
import type { Mine } from "../family.ts";
import { isNumber } from "../words.ts";
import { followArithmetic } from "./follow.ts";
import {
  type ArithmeticProblem,
  type Asked,
  type Move,
  operatorNames,
  operators,
  pathOf,
} from "./problem.ts";
import { arithmeticQuestion, distractorWordings, moveWordings, persons, units } from "./wording.ts";

/** A problem of `level + 1` operations, or undefined when these draws came to none. */
export function drawArithmetic(
  draw: Rng,
  level: number,
  most: number,
  mine: Mine,
): ArithmeticProblem | undefined {
  const [unit = "", otherUnit = ""] = draw.shuffle(units);
  const [who = "", other = "", third = ""] = draw.shuffle(persons);
  const two = draw() < (level === 1 ? 0.25 : 0.5);
  const asked: Asked = two ? { kind: draw.pick(["together", "more"]), who, other } : { kind: "has", who };
  const people = two ? [who, other] : [who];
  const starts = people.map((person) => ({ who: person, number: upTo30(draw, most) }));
  const has = new Map(starts.map((start) => [start.who, start.number]));
  const moves: Move[] = [];
  while (moves.length < level + 1 - (two ? 1 : 0)) {
    const person = draw.pick(people);
    const move = drawMove(draw, person, has.get(person) as number);
    if (move === undefined) return undefined;
    has.set(person, operators[move.operator](has.get(person) as number, move.number));
    moves.push(move);
  }
  const distractors = Array.from({ length: draw.int(3) }, () => {
    const wording = draw.int(distractorWordings.length);
    return {
      at: 1 + draw.int(moves.length),
      who: draw.pick([...people, third]),
      number: upTo30(draw, most),
      unit: wording === 0 ? otherUnit : draw.pick([unit, otherUnit]),
      wording,
    };
  }).filter(({ at }, i, all) => all.findIndex((each) => each.at === at) === i);
  const problem = { unit, starts, moves, asked, distractors };
  return mine(arithmeticQuestion(problem)) && isSound(problem, most) ? problem : undefined;
}

const upTo30 = (draw: Rng, most: number) => 2 + draw.int(Math.min(29, most - 1));

function drawMove(draw: Rng, who: string, has: number): Move | undefined {
  const operator = draw.pick(operatorNames);
  const numbers = {
    plus: range(2, 20),
    minus: range(2, Math.min(20, has - 1)),
    times: range(2, 4).filter((n) => has * n <= 90),
    over: range(2, 6).filter((n) => has % n === 0 && has > n),
  }[operator];
  if (numbers.length === 0) return undefined;
  return { who, operator, number: draw.pick(numbers), wording: draw.int(moveWordings[operator].length) };
}

const range = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);

/**
 * One thing is changed: a start's or a move's number (the steps, the persons and the unit stay, and the answer follows),
 * or the unit, or a sentence that has nothing to do with the answer.
 */
export function changeArithmetic(
  problem: ArithmeticProblem,
  draw: Rng,
  most: number,
  mine: Mine,
): ArithmeticProblem | undefined {
  const what = draw();
  const changed =
    what < 0.6
      ? changeNumber(problem, draw)
      : what < 0.8
        ? { ...problem, unit: draw.pick(freeUnits(problem)) }
        : changeDistractor(problem, draw, most);
  return mine(arithmeticQuestion(changed)) && isSound(changed, most) ? changed : undefined;
}

function changeNumber(problem: ArithmeticProblem, draw: Rng): ArithmeticProblem {
  const { starts, moves } = problem;
  const at = draw.int(starts.length + moves.length);
  const other = <T extends { readonly number: number }>(old: T, most: number): T => {
    const number = 2 + draw.int(most - 1);
    return { ...old, number: number === old.number ? number + 1 : number };
  };
  const small = (move: Move) => move.operator === "times" || move.operator === "over";
  return {
    ...problem,
    starts: starts.map((start, i) => (i === at ? other(start, 30) : start)),
    moves: moves.map((move, i) => (i + starts.length === at ? other(move, small(move) ? 6 : 20) : move)),
  };
}

/** In the place of one there is, if there is one. */
function changeDistractor(problem: ArithmeticProblem, draw: Rng, most: number): ArithmeticProblem {
  const { starts, moves, distractors } = problem;
  const distractor = {
    at: distractors[0]?.at ?? 1 + draw.int(moves.length),
    who: draw.pick(starts).who,
    number: upTo30(draw, most),
    unit: draw.pick(freeUnits(problem)),
    wording: draw.int(distractorWordings.length),
  };
  return { ...problem, distractors: [distractor, ...distractors.slice(1)] };
}

const freeUnits = ({ unit, distractors }: ArithmeticProblem) =>
  units.filter((each) => each !== unit && !distractors.some((other) => other.unit === each));

/**
 * Every number on the way is whole and from 0 to `most`, no two steps are written alike, and whoever leaves a step out
 * comes to another answer: so a skipped step always shows.
 */
export function isSound(problem: ArithmeticProblem, most: number): boolean {
  const path = pathOf(problem);
  const { worked, answer } = followArithmetic(problem, path);
  if (problem.starts.some(({ number }) => number > most)) return false;
  if (worked.length < path.length || new Set(path).size < path.length) return false;
  if (!worked.every(({ after }) => isNumber(after) && after <= most) || Number.parseInt(answer, 10) < 2)
    return false;
  return path.every((_, skipped) => followArithmetic(problem, path.toSpliced(skipped, 1)).answer !== answer);
}
