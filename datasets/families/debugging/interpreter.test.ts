import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseProgram, runSource } from "./interpreter.ts";

const run = (source: string, n = 0, maxSteps?: number) => runSource(source.trim(), { n }, maxSteps);
const output = (source: string, n = 0) => {
  const result = run(source, n);
  return result.ok ? result.output : result.error;
};

describe("the interpreter", () => {
  it("calculates, compares, branches and repeats", () => {
    expect(output("set x to n plus 2\nset x to x times 3\nset y to x minus n\nprint y\nprint x", 4)).toEqual([
      14, 18,
    ]);
    const branch =
      "if n less 3\nprint 1\nelse\nif n same 3\nprint 2\nend\nif n more 3\nprint 3\nend\nend\nprint 9";
    expect([2, 3, 4].map((n) => output(branch, n))).toEqual([
      [1, 9],
      [2, 9],
      [3, 9],
    ]);
    const loop = "set x to 1\nrepeat n\nrepeat 2\nset x to x times 2\nend\nend\nprint x";
    expect([0, 1, 3].map((n) => output(loop, n))).toEqual([[1], [4], [64]]);
    expect(output("set n to 0 minus 2\nrepeat n\nprint n\nend\nset x to 0 times n\nprint x")).toEqual([0]);
    expect(output("repeat 2\nif n less 1\nset n to n plus 1\nelse\nprint n\nend\nend")).toEqual([1]);
  });

  it.each([
    ["", "syntax", 1],
    ["print 1\nset x 3", "syntax", 2],
    ["set w to 1", "syntax", 1],
    ["set x to 1 over 2", "syntax", 1],
    ["set x to 1 constructor 2", "syntax", 1],
    ["print -1", "syntax", 1],
    ["if n less", "syntax", 1],
    ["repeat", "syntax", 1],
    ["print n print n", "syntax", 1],
    ["end", "unbalanced", 1],
    ["repeat 2\nelse\nend", "unbalanced", 2],
    ["if n less 1\nelse\nelse\nend", "unbalanced", 3],
    ["if n less 1\nprint n", "unbalanced", 1],
    ["print n\nprint x", "unset", 2],
    ["set y to n plus x", "unset", 1],
    ["if x less 1\nend", "unset", 1],
    ["repeat y\nend", "unset", 1],
    ["set x to 999999999\nset x to x times 2", "tooLarge", 2],
    ["repeat 999999999\nend", "tooManySteps", 2],
  ])("says what is wrong with %j: %s", (source, kind, line) => {
    expect(run(source)).toMatchObject({
      ok: false,
      error: { kind, ...(kind === "tooManySteps" ? {} : { line }) },
    });
  });

  it("counts its steps and stops at its limit", () => {
    const loop = "repeat 3\nprint n\nend";
    expect(run(loop)).toMatchObject({ ok: true, steps: 7 });
    expect(run(loop, 0, 7).ok).toBe(true);
    expect(run(loop, 0, 6)).toMatchObject({ ok: false, error: { kind: "tooManySteps" } });
  });

  const term = fc.constantFrom("n", "x", "y", "0", "1", "7", "999999999");
  const line = fc.oneof(
    fc
      .tuple(term, fc.constantFrom("plus", "minus", "times"), term)
      .map(([a, op, b]) => `set x to ${a} ${op} ${b}`),
    term.map((a) => `print ${a}`),
    term.map((a) => `repeat ${a}`),
    fc.tuple(term, fc.constantFrom("less", "more", "same"), term).map(([a, c, b]) => `if ${a} ${c} ${b}`),
    fc.constantFrom("else", "end", "end", "end"),
  );

  const simple = fc.constantFrom("set x to n plus 1", "print n", "print x", "set n to n times 7");
  const block = fc.oneof(
    simple,
    fc.tuple(term, simple).map(([a, inner]) => `repeat ${a}\n${inner}\nend`),
    fc.tuple(term, simple, simple).map(([a, one, two]) => `if n less ${a}\n${one}\nelse\n${two}\nend`),
  );

  it("law: any text is run to an end within its steps, the same each time, and without throwing", () => {
    let ran = 0;
    const word = fc.constantFrom(
      "set",
      "to",
      "print",
      "if",
      "else",
      "end",
      "repeat",
      "n",
      "x",
      "3",
      "plus",
      "less",
      "?",
    );
    const anything = fc.oneof(
      fc.string(),
      fc
        .array(fc.array(word, { maxLength: 6 }).map((words) => words.join(" ")))
        .map((lines) => lines.join("\n")),
      fc.array(line, { minLength: 1, maxLength: 8 }).map((lines) => lines.join("\n")),
      fc.array(block, { minLength: 1, maxLength: 4 }).map((lines) => lines.join("\n")),
    );
    fc.assert(
      fc.property(
        anything,
        fc.integer({ min: -5, max: 1e9 }),
        fc.integer({ min: 1, max: 300 }),
        (source, n, limit) => {
          const result = runSource(source, { n }, limit);
          expect(runSource(source, { n }, limit)).toEqual(result);
          if (!result.ok) return;
          ran++;
          expect(result.steps).toBeLessThanOrEqual(limit);
          expect(result.output.every((value) => Number.isInteger(value) && Math.abs(value) <= 1e9)).toBe(
            true,
          );
          expect("statements" in parseProgram(source)).toBe(true);
        },
      ),
      { numRuns: 2000, seed: 1 },
    );
    expect(ran).toBeGreaterThan(50);
  });
});
