import type { Rng } from "../../../core/rng.ts";
import { calculations, comparisons } from "./language.ts";
import type { Lines } from "./mutations.ts";

/** Shapes of programs; a shape's words in capitals are drawn: N a number from 1 to 9, R 2 or 3, OP, CMP, and V n or a number. */
const shapes = {
  // A product in each: of two sums in a row, either can be put right in the other's place.
  straight: [
    ["set x to n times N", "set x to x OP N", "print x"],
    ["set x to n OP N", "set y to x times N", "print y"],
    ["set x to n times n", "set y to n OP N", "set x to x OP y", "print x"],
    ["set y to n times N", "set x to n OP N", "set x to y OP x", "print x"],
  ],
  branch: [
    ["set x to n OP N", "if x CMP N", "set x to x OP N", "else", "set x to x OP V", "end", "print x"],
    ["set x to n OP N", "set y to N", "if n CMP N", "set y to x OP N", "end", "set x to x OP y", "print x"],
    ["set y to N", "if n CMP N", "set y to n OP N", "else", "set y to y OP n", "end", "print y"],
  ],
  loop: [
    ["set x to N", "set y to n OP N", "repeat R", "set x to x OP y", "end", "print x"],
    ["set x to N", "repeat n", "set x to x OP N", "end", "set x to x OP V", "print x"],
    [
      "set x to n OP N",
      "repeat R",
      "if x CMP N",
      "set x to x OP N",
      "end",
      "set x to x OP N",
      "end",
      "print x",
    ],
  ],
} as const;

export type Shape = keyof typeof shapes;

/** A program of a shape. It need not print anything sensible. */
export function drawProgram(draw: Rng, shape: Shape): Lines {
  const number = () => String(1 + draw.int(9));
  const drawn: Readonly<Record<string, () => string>> = {
    N: number,
    R: () => String(2 + draw.int(2)),
    V: () => (draw() < 0.5 ? "n" : number()),
    OP: () => draw.pick(Object.keys(calculations)),
    CMP: () => draw.pick(Object.keys(comparisons)),
  };
  return draw.pick<readonly string[]>(shapes[shape]).map((line) => {
    return line.split(" ").map((word) => drawn[word]?.() ?? word);
  });
}
