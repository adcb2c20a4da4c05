import { expect, test } from "vitest";
import { icePop, truncatedImportance } from "./importance.ts";

test("a difference of 0.8 is a ratio of 2.22554: truncated to 2, dropped by IcePop", () => {
  expect(truncatedImportance(-1, -1.8, Number.POSITIVE_INFINITY)).toBeCloseTo(2.22554, 5);
  expect(truncatedImportance(-1, -1.8)).toBe(2);
  expect(icePop(-1, -1.8)).toBe(0);
});

test("inside the band both are the ratio; below it only IcePop drops the token", () => {
  expect(truncatedImportance(-1, -1)).toBe(1);
  expect(icePop(-1.2, -1)).toBeCloseTo(Math.exp(-0.2), 12);
  expect(truncatedImportance(-2, -1)).toBeCloseTo(Math.exp(-1), 12);
  expect(icePop(-2, -1)).toBe(0);
});
