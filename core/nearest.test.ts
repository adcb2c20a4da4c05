import { expect, test } from "vitest";
import { nearest } from "./nearest.ts";

const names = ["groupSize", "learningRate", "steps", "clipLow", "clipHigh"];

test.each([
  ["gropSize", "groupSize"],
  ["group_size", "groupSize"],
  ["group-size", "groupSize"],
  ["GROUPSIZE", "groupSize"],
  ["lerningRaet", "learningRate"],
  ["step", "steps"],
  ["clipHihg", "clipHigh"],
])("%s is meant to be %s", (typed, meant) => {
  expect(nearest(typed, names)).toBe(meant);
});

test.each(["x", "temperature", "", "zz"])("%j is near nothing", (typed) => {
  expect(nearest(typed, names)).toBeUndefined();
});

test("of two equally near names, the first", () => {
  expect(nearest("stepz", ["steps", "stepy"])).toBe("steps");
});
