import { expect, test } from "vitest";
import { softOverlong } from "./overlong.ts";

test.each([
  [80, 0],
  [85, -0.25],
  [90, -0.5],
  [100, -1],
  [101, -1],
  [0, 0],
])("L_max 100, buffer 20: %i tokens → %f", (tokens, expected) => {
  expect(softOverlong(tokens, 100, 20)).toBeCloseTo(expected, 12);
});

test.each([
  [16384, 0],
  [18432, -0.5],
  [20480, -1],
  [20481, -1],
])("L_max 20480, buffer 4096 (DAPO's own): %i → %f", (tokens, expected) => {
  expect(softOverlong(tokens, 20480, 4096)).toBeCloseTo(expected, 12);
});

test("a buffer of 0, or longer than the limit, throws", () => {
  expect(() => softOverlong(1, 10, 0)).toThrow(/out of range/);
  expect(() => softOverlong(1, 10, 11)).toThrow(/out of range/);
});
