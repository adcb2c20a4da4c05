import type { Rng } from "../../../core/rng.ts";
import type { Mine } from "../family.ts";
import { isNumber } from "../words.ts";
import { compile, type Lines, lineWith, type Substitution, substitute, substitutions } from "./mutations.ts";
import { drawProgram, type Shape } from "./programs.ts";
import { type Case, type Fix, fixes, fixKey, passes, printed } from "./repairs.ts";

/** A program with one wrong word in each of some lines, and the cases that tell which. */
export interface DebuggingProblem {
  readonly lines: Lines;
  /** The only way to change one word in each of that many lines so that all cases come out right; lines in order. */
  readonly fix: readonly Substitution[];
  /** Each is needed: without it another fix would do as well. */
  readonly cases: readonly Case[];
  /** For each case, a wrong fix that passes all the others, [cases]. */
  readonly rivals: readonly (readonly Substitution[])[];
}

/** Difficulty: what the program is made of, and its wrong lines. */
export const debuggingLevels: readonly { readonly shape: Shape; readonly bugs: 1 | 2 }[] = [
  { shape: "straight", bugs: 1 },
  { shape: "branch", bugs: 1 },
  { shape: "loop", bugs: 1 },
  { shape: "branch", bugs: 2 },
  { shape: "loop", bugs: 2 },
];

const inputs = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const mostCases = 4;

export const textOf = (lines: Lines): string =>
  lines.map((words, i) => `line ${i + 1} : ${words.join(" ")}`).join("\n");

/** A problem of a level, or undefined when these draws came to none. */
export function drawDebugging(draw: Rng, level: number, mine: Mine): DebuggingProblem | undefined {
  const { shape, bugs } = debuggingLevels[level - 1] as (typeof debuggingLevels)[number];
  const right = drawProgram(draw, shape);
  // The fix is the only one, so equal questions have equal right programs: those keep the splits apart.
  return mine(textOf(right)) ? breakProgram(right, drawBugs(right, bugs, draw), draw) : undefined;
}

/** One number of the right program is changed, its bugs kept; or, one time in four, the bugs are put elsewhere. */
export function changeDebugging(
  { lines, fix }: DebuggingProblem,
  draw: Rng,
  mine: Mine,
): DebuggingProblem | undefined {
  const right = substitute(lines, fix);
  if (draw() < 0.25) return breakProgram(right, drawBugs(right, fix.length, draw), draw);
  const numbers = substitutions(right).filter(({ word }) => /^\d$/.test(word));
  const changed = substitute(right, [draw.pick(numbers)]);
  const bugs = fix.map(({ line, place }) => ({ line, place, word: lines[line]?.[place] as string }));
  return mine(textOf(changed)) ? breakProgram(changed, bugs, draw) : undefined;
}

/** One-word mistakes in as many different lines; each place equally likely, whatever it could be mistaken for. */
function drawBugs(right: Lines, bugs: number, draw: Rng): Substitution[] {
  const all = substitutions(right);
  const drawn: Substitution[] = [];
  while (drawn.length < bugs) {
    const { line, place } = draw.pick(placesOf(all));
    if (drawn.some((each) => each.line === line)) continue;
    drawn.push(draw.pick(all.filter((each) => each.line === line && each.place === place)));
  }
  return drawn.sort((a, b) => a.line - b.line);
}

const placesOf = (all: readonly Substitution[]) =>
  all.filter((each, i) => {
    const before = all[i - 1];
    return before === undefined || before.line !== each.line || before.place !== each.place;
  });

function breakProgram(right: Lines, bugs: readonly Substitution[], draw: Rng): DebuggingProblem | undefined {
  const lines = substitute(right, bugs);
  if (bugs.some(({ line, place }) => lines[line]?.[place] === right[line]?.[place])) return undefined;
  const program = compile(right);
  const wanted = inputs.flatMap((n): Case[] => {
    const prints = printed(program, n);
    return prints !== undefined && isNumber(prints) ? [{ n, prints }] : [];
  });
  if (new Set(wanted.map(({ prints }) => prints)).size < 3) return undefined; // hardly anything to tell bugs by
  const fix = bugs.map(({ line, place }) => ({ line, place, word: right[line]?.[place] as string }));
  const found = chooseCases(lines, fix, draw.shuffle(wanted));
  return found && { lines, fix, ...found };
}

/** Cases that leave the fix as the only one, none of them for nothing; undefined when there are no such cases. */
function chooseCases(
  lines: Lines,
  fix: readonly Substitution[],
  wanted: readonly Case[],
): Pick<DebuggingProblem, "cases" | "rivals"> | undefined {
  const own = fixKey(fix);
  const others = [...fixes(lines, fix.length)].filter(({ changes }) => fixKey(changes) !== own);
  const fewer: Pick<Fix, "program">[] = fix.length === 1 ? [] : [...fixes(lines, 1)];
  const asItIs = compile(lines);
  if (asItIs) fewer.push({ program: asItIs });

  const chosen: Case[] = [];
  let left: readonly Pick<Fix, "program">[] = [...others, ...fewer];
  for (const next of wanted) {
    const still = left.filter(({ program }) => passes(program, [next]));
    if (still.length < left.length) chosen.push(next);
    left = still;
    if (left.length === 0 || chosen.length > 2 * mostCases) break;
  }
  if (left.length > 0) return undefined;

  // Whatever an earlier case rules out may be ruled out by later ones too: then it is not needed.
  let cases = chosen;
  for (const each of chosen) {
    const rest = cases.filter((other) => other !== each);
    const stays = [...others, ...fewer].some(({ program }) => passes(program, rest));
    if (!stays) cases = rest;
  }
  if (cases.length < 2 || cases.length > mostCases) return undefined;
  cases.sort((a, b) => a.n - b.n);
  const rivals = cases.map((each) => {
    const rest = cases.filter((other) => other !== each);
    return others.find(({ program }) => passes(program, rest))?.changes;
  });
  return rivals.every((rival) => rival !== undefined) ? { cases, rivals } : undefined;
}

/** Fixes as an answer names them: `line 3 : set x to n minus 2`, with commas between. */
export function fixText(lines: Lines, changes: readonly Substitution[]): string {
  return [...changes]
    .sort((a, b) => a.line - b.line)
    .map((change) => `line ${change.line + 1} : ${lineWith(lines, change).join(" ")}`)
    .join(" , ");
}
