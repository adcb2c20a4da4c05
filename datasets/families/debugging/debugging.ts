import { type Family, makeFamily } from "../family.ts";
import { type ConstraintCheck, checked, itemsOf, type Solved } from "../plan.ts";
import { readFix } from "./answer.ts";
import { caseItem, debuggingPath, followDebugging } from "./follow.ts";
import { calculations, comparisons, variables } from "./language.ts";
import {
  changeDebugging,
  type DebuggingProblem,
  debuggingLevels,
  drawDebugging,
  fixText,
  textOf,
} from "./problem.ts";

const words = [
  ...[
    "this",
    "program",
    "must",
    "print",
    "prints",
    "for",
    "in",
    "1",
    "line",
    "lines",
    "one",
    "word",
    "wrong",
  ],
  ...["which", "what", "and", "case", "locate", "fix", "check", "does", "fails", "per", "change", "each"],
  ...["it", "its", "set", "to", "if", "else", "end", "repeat"],
  ...[...variables, ...Object.keys(calculations), ...Object.keys(comparisons)],
];

/**
 * Programs of a tiny language with one wrong word in one or two lines (difficulty 1 to 3: straight, branch, loop; 4 and
 * 5: branch and loop with two wrong lines). An answer gives the lines as they must be: `line 3 : set x to n minus 2`.
 * Over all ways to change one word in that many lines it is the only one that makes every case come out right.
 */
export function debuggingFamily(seed: number): Family<DebuggingProblem> {
  return makeFamily(seed, {
    name: "debugging",
    levels: debuggingLevels.length,
    words,
    passages: [
      {
        id: "debugging/repeat",
        title: "repeat",
        text: "repeat : repeat 3 does the lines to its end 3 times .",
      },
      {
        id: "debugging/if",
        title: "if",
        text: "if : if it holds the lines to else , if not the lines to end .",
      },
    ],
    draw: (draw, level, _split, mine) => drawDebugging(draw, level, mine),
    change: (problem, draw, _split, mine) => changeDebugging(problem, draw, mine),
    write,
    check,
  });
}

function write(
  problem: DebuggingProblem,
  { id, level }: { readonly id: string; readonly level: number },
): Solved<DebuggingProblem> {
  const path = debuggingPath(problem);
  const { works } = followDebugging(problem, path);
  const answer = fixText(problem.lines, problem.fix);
  const steps = works.map((work, i) => {
    const own = problem.cases[i];
    const conditions = own ? [`${caseItem(own.n)} must print ${own.prints}`] : [];
    return { path: path[i] as string, work, conditions };
  });
  const wanted = problem.cases.map(({ n, prints }) => `print ${prints} for n ${n}`).join(" , ");
  const many = problem.fix.length > 1;
  const wrong = many ? `in ${problem.fix.length} lines one word each` : "in 1 line one word";
  const asked = many ? "which lines , and what must each be ?" : "which line , and what must it be ?";
  return {
    task: {
      id,
      question: `this program must ${wanted} . ${wrong} is wrong . ${asked}\n${textOf(problem.lines)}`,
      goldenAnswers: [answer],
      dataset: "debugging",
      hops: level,
    },
    plan: {
      problem,
      steps,
      constraints: [
        "every case",
        `change ${problem.fix.length} ${many ? "lines" : "line"}`,
        "one word per line",
      ],
      answer,
    },
  };
}

function check({ plan }: Solved<DebuggingProblem>, answer: string, steps: string): ConstraintCheck[] {
  const { lines, cases, fix } = plan.problem;
  const [every = "", change = "", one = ""] = plan.constraints;
  const items = itemsOf(steps);
  const runs = items.find((item) => item.startsWith("check : "))?.split(/ : | , /u) ?? [];
  const traced = (n: number) =>
    items.some((item) => item.startsWith(`${caseItem(n)} : `)) &&
    runs.some((part) => part.startsWith(`${caseItem(n)} prints `));
  const missing = cases.find(({ n }) => !traced(n));
  const named = readFix(answer);
  const twice = [...(named ?? [])].find(([line, words]) => {
    const old = lines[line] ?? [];
    return words.length !== old.length || words.filter((word, i) => word !== old[i]).length !== 1;
  });
  return [
    checked(every, missing && caseItem(missing.n)),
    checked(change, named?.size === fix.length ? undefined : answer),
    checked(one, named === undefined ? answer : twice && `line ${twice[0] + 1}`),
  ];
}
