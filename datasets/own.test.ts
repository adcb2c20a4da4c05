import { expect, test } from "vitest";
import { loadBenchmark, loadSource } from "./load.ts";
import type { Task } from "./task.ts";

const normalize = (answer: string) => answer.toLowerCase().replace(/[^a-z0-9]/g, "");
const task = (id: string, goldenAnswers: string[] = ["Ostrey"]): Task => ({
  id,
  question: `Where is ${id}?`,
  goldenAnswers,
  dataset: "mine",
  hops: 1,
});
const own = (tasks: unknown) => ({ mine: async () => tasks as Task[] });

test("a data set of one's own is a source of batches and a benchmark", async () => {
  const datasets = own([task("a"), task("b"), task("c")]);
  const { source, loaded } = await loadSource({ kind: "own", name: "mine" }, 1, normalize, datasets);
  expect(
    source
      .batch(0, 3)
      .map(({ id }) => id)
      .sort(),
  ).toEqual(["a", "b", "c"]);
  expect(loaded?.tasks).toHaveLength(3);
  expect((await loadBenchmark({ kind: "own", name: "mine" }, normalize, datasets)).tasks).toHaveLength(3);
});

test("questions without a usable gold answer are left out and named", async () => {
  const datasets = own([task("a", ["Ostrey", "!"]), task("b", ["?"]), { ...task("c"), question: " " }]);
  expect(await loadBenchmark({ kind: "own", name: "mine" }, normalize, datasets)).toMatchObject({
    tasks: [{ id: "a", goldenAnswers: ["Ostrey"] }],
    dropped: [
      { id: "b", line: 2, reason: "no gold answer" },
      { id: "c", line: 3, reason: "no question" },
    ],
    droppedAliases: [{ id: "a", alias: "!" }],
  });
});

test.each([
  ["mnie", [task("a")], /no data set `mnie`.*one of mine.*Did you mean `mine`/],
  ["toString", [task("a")], /no data set `toString`/],
  ["mine", [task("a"), task("a")], /question 2: the id `a` is there twice/],
  ["mine", [{ ...task("a"), hops: 0 }], /question 1: field `hops` is wrong/],
  ["mine", [null], /question 1: field `\(question\)` is wrong/],
  ["mine", [], /no question to work with/],
])("%s %j is an error", async (name, tasks, message) => {
  await expect(loadSource({ kind: "own", name }, 1, normalize, own(tasks))).rejects.toThrow(message);
});
