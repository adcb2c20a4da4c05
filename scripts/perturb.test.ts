import { expect, test } from "vitest";
import { rng } from "../core/rng.ts";
import { openFamily } from "../datasets/families/families.ts";
import { rewardConfig } from "../reward/config.ts";
import type { ChatPolicy } from "../rollout/endpoint/chat.ts";
import { EndpointError } from "../rollout/endpoint/error.ts";
import type { SeatPlace } from "../rollout/player-seat.ts";
import { byteTokenizer } from "../rollout/testing.ts";
import { difference, perturberOf } from "./perturb.ts";
import type { Setup } from "./setup.ts";

test.each([
  ["who is the mayor of kano ?", "who is the mayor of lida ?", { before: "kano", after: "lida" }],
  ["a b c", "a c", { before: "b", after: "" }],
  ["a a", "a a a", { before: "", after: "a" }],
  ["one", "two", { before: "one", after: "two" }],
])("what differs between %j and %j", (before, after, expected) => {
  expect(difference(before, after)).toEqual(expected);
});

const signal = new AbortController().signal;
const reward = rewardConfig.parse({});
const task = {
  id: "q",
  question: "Who wrote Dune?",
  goldenAnswers: ["Frank Herbert"],
  dataset: "d",
  hops: 1,
};

/** A setup of a file's questions, and a model that says this. */
const asking = (said: string | Error) => {
  const places: SeatPlace[] = [];
  const model = {
    takeSeat(place: SeatPlace) {
      places.push(place);
      const act = async () => {
        if (said instanceof Error) throw said;
        return { text: said, finish: "eos" as const, tokens: 1 };
      };
      return { act, close() {} };
    },
  } as unknown as ChatPolicy;
  const setup = { tokenizer: byteTokenizer(), config: { reward, data: { train: { kind: "jsonl" } } } };
  const perturb = perturberOf(setup as unknown as Setup, model);
  return { places, perturbed: () => perturb(task, rng(1, "x"), signal) };
};

test("a model rewrites the question, and the answer stays the data set's", async () => {
  const { places, perturbed } = asking("<question> Which man wrote the novel of Arrakis? </question>");
  expect(await perturbed()).toEqual({
    task: {
      ...task,
      id: expect.stringMatching(/^q~\d+$/),
      question: "Which man wrote the novel of Arrakis?",
    },
    changed: { what: "wording", before: "Who wrote Dune?", after: "Which man wrote the novel of Arrakis?" },
  });
  expect(places[0]).toMatchObject({
    question: task.question,
    words: { user: expect.stringContaining("Frank Herbert") },
  });
});

test.each([
  ["no question", "Certainly!"],
  ["nothing", "<question> </question>"],
  ["the same", "<question>who wrote DUNE</question>"],
  ["one that tells the answer", "<question>Did Frank Herbert write it?</question>"],
  ["an essay", `<question>${"word ".repeat(200)}</question>`],
])("%s is no rewriting", async (_name, said) => {
  expect(await asking(said).perturbed()).toBe("not rewritten");
});

test("a server that fails is a cause, not a crash; what is wrong in the program still is", async () => {
  expect(await asking(new EndpointError("refused", { what: "no" })).perturbed()).toBe("the model failed");
  await expect(asking(new TypeError("bug")).perturbed()).rejects.toThrow("bug");
});

test("a family changes its own problem, with its own answer", async () => {
  const named = openFamily("arithmetic", 3);
  const { task: asked } = named.family.task({ split: "train", level: 1, index: 4 });
  const made = await perturberOf({ family: named } as unknown as Setup, undefined)(asked, rng(2), signal);
  if (typeof made === "string") throw new Error(made);
  expect(made.task).toEqual(named.family.planned(made.task.id).task);
  expect(asked.question).toContain(made.changed.before);
  expect(made.task.question).toContain(made.changed.after);
  expect(made.changed.before).not.toBe(made.changed.after);
});

test("questions that nothing can change are the user's mistake", () => {
  const setup = { config: { data: { train: { kind: "jsonl" } } } };
  expect(() => perturberOf(setup as unknown as Setup, undefined)).toThrow(/--url[\s\S]*rewrites/);
});
