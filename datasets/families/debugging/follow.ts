import { isNumber, largest } from "../words.ts";
import { compile, type Substitution, substitute } from "./mutations.ts";
import { type DebuggingProblem, fixText } from "./problem.ts";
import { printed } from "./repairs.ts";

export interface FollowedDebugging {
  /** As a draft writes them: `case 2 : must print 7 does 9`. */
  readonly works: readonly string[];
  readonly answer: string;
}

/** What a slip does: at a `case` or `check` a number is wrong, at `locate` or `fix` another fix is chosen. */
export interface DebuggingSlip {
  /** Place in the path. */
  readonly at: number;
  readonly changes: readonly Substitution[];
}

export const caseItem = (n: number): string => `case ${n}`;

export function debuggingPath({ cases }: DebuggingProblem): string[] {
  return [...cases.map(({ n }) => caseItem(n)), "locate", "fix", "check"];
}

/**
 * Follows a path as it is. Its cases are all that is known: when one that is needed is left out, the fix is one that
 * suits the others. Items that are no step are passed over.
 */
export function followDebugging(
  problem: DebuggingProblem,
  path: readonly string[],
  slip?: DebuggingSlip,
): FollowedDebugging {
  const { lines, cases } = problem;
  const known = cases.filter(({ n }) => path.includes(caseItem(n)));
  const unknown = cases.findIndex((each) => !known.includes(each));
  const slipped = slip && ["locate", "fix"].includes(path[slip.at] as string) ? slip.changes : undefined;
  const changes = slipped ?? (unknown < 0 ? problem.fix : (problem.rivals[unknown] as Substitution[]));
  const places = [...changes].sort((a, b) => a.line - b.line).map(({ line }) => `line ${line + 1}`);
  const [before, after] = [compile(lines), compile(substitute(lines, changes))];
  const show = (program: typeof before, n: number, wrong: boolean) => {
    const value = printed(program, n);
    const shown = value !== undefined && isNumber(value) ? value : undefined;
    if (wrong) return shown === undefined ? "0" : String(shown < largest ? shown + 1 : 0);
    return shown === undefined ? "fails" : String(shown);
  };
  const works = path.flatMap((item, i) => {
    const wrong = i === slip?.at;
    const own = known.find(({ n }) => item === caseItem(n));
    if (own) return [`${item} : must print ${own.prints} does ${show(before, own.n, wrong)}`];
    if (item === "locate") return [`${item} : ${places.join(" , ")}`];
    if (item === "fix") return [`${item} : ${fixText(lines, changes)}`];
    if (item !== "check") return [];
    const runs = known.map(({ n }, k) => `${caseItem(n)} prints ${show(after, n, wrong && k === 0)}`);
    return [runs.length === 0 ? `${item} : nothing` : `${item} : ${runs.join(" , ")}`];
  });
  const fixed = path.includes("fix");
  const kept = changes.map((change) => ({
    ...change,
    word: lines[change.line]?.[change.place] as string,
  }));
  return { works, answer: fixText(lines, fixed ? changes : kept) };
}
