import { isNumber } from "../words.ts";
import { type ArithmeticProblem, type Operator, operatorNames, operators } from "./problem.ts";

/** One item of a path, done. */
export interface Worked {
  /** As a draft writes it: `ana plus 3 : 12 plus 3 is 15`. */
  readonly text: string;
  readonly who: string;
  readonly operator: Operator;
  readonly before: number;
  readonly by: number;
  readonly after: number;
}

export interface Followed {
  readonly worked: readonly Worked[];
  readonly answer: string;
}

/**
 * Follows a path as it is, right or wrong, from what the persons have at the start. Items that name no operation on a
 * person of the story are passed over; at one that does not come out as a number from 0 to 99 it stops.
 * @param slip what to write in place of a result; the rest follows from it
 */
export function followArithmetic(
  problem: ArithmeticProblem,
  path: readonly string[],
  slip?: { readonly at: number; readonly by: number },
): Followed {
  const has = new Map(problem.starts.map(({ who, number }) => [who, number]));
  const worked: Worked[] = [];
  for (const item of path) {
    const [who = "", word = "", operand = "", ...rest] = item.split(" ");
    const operator = operatorNames.find((name) => name === word);
    const before = has.get(who);
    const by = /^\d{1,2}$/.test(operand) ? Number(operand) : has.get(operand);
    if (before === undefined || operator === undefined || by === undefined || rest.length > 0) continue;
    const result = operators[operator](before, by);
    const after = worked.length === slip?.at ? result + slip.by : result;
    if (!isNumber(after)) break;
    has.set(who, after);
    const text = `${who} ${operator} ${operand} : ${before} ${operator} ${by} is ${after}`;
    worked.push({ text, who, operator, before, by, after });
  }
  return { worked, answer: `${has.get(problem.asked.who)} ${problem.unit}` };
}
