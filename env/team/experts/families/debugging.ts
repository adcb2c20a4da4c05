import { repairedProgram } from "../../../../datasets/families/debugging/answer.ts";
import { caseItem, followDebugging } from "../../../../datasets/families/debugging/follow.ts";
import { substitutions } from "../../../../datasets/families/debugging/mutations.ts";
import type { DebuggingProblem } from "../../../../datasets/families/debugging/problem.ts";
import { printed } from "../../../../datasets/families/debugging/repairs.ts";
import type { Solved } from "../../../../datasets/families/plan.ts";
import { isNumber } from "../../../../datasets/families/words.ts";
import type { Skills } from "./skills.ts";

export function debuggingSkills({ plan }: Solved<DebuggingProblem>): Skills {
  const { problem } = plan;
  const { lines, fix, cases } = problem;
  return {
    draft(path, slip) {
      const plain = followDebugging(problem, path);
      const steps = (works: readonly string[]) => works.join(" ; ") || "nothing";
      if (slip === undefined) return { steps: steps(plain.works), answer: plain.answer };
      const at = slip.int(Math.max(1, path.length));
      // Another word in one of the wrong lines, the others as they should be.
      const spoiled = slip.int(fix.length);
      const others = substitutions(lines).filter(
        ({ line, place, word }) =>
          line === fix[spoiled]?.line && (place !== fix[spoiled]?.place || word !== fix[spoiled]?.word),
      );
      const slipped = followDebugging(problem, path, { at, changes: fix.with(spoiled, slip.pick(others)) });
      return { steps: steps(slipped.works), answer: slipped.answer };
    },
    backward({ answer }) {
      const program = repairedProgram(problem, answer);
      if (program === undefined) return `answer ${answer} is not lines`;
      const runs = cases.map(({ n, prints }) => {
        const value = printed(program, n);
        const shown = value !== undefined && isNumber(value) ? String(value) : "fails";
        return value === prints
          ? `${caseItem(n)} prints ${shown}`
          : `${caseItem(n)} prints ${shown} not ${prints}`;
      });
      const holds = cases.every(({ n, prints }) => printed(program, n) === prints);
      return [`answer ${answer}`, ...runs, ...(holds ? ["holds"] : [])].join(" , ");
    },
  };
}
