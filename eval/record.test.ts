import { expect, test } from "vitest";
import type { Scored } from "../reward/scored.ts";
import { evalRecord, recordOf } from "./record.ts";

const search = (...passageIds: string[]) => ({ query: "q", passageIds, repeated: false, milliseconds: 1 });
const scored = (supportingIds: readonly string[] | undefined, over: Partial<Scored> = {}): Scored => ({
  task: {
    ...{ id: "q", question: "?", goldenAnswers: ["g"], dataset: "toy", hops: 2 },
    ...(supportingIds ? { supportingIds } : {}),
  },
  member: 0,
  sequences: [
    {
      seat: "researcher",
      segments: [
        { source: "prompt", text: "p", tokens: [1, 2] },
        { source: "policy", text: "a", tokens: [3] },
        { source: "observation", text: "o", tokens: [4, 5, 6] },
        { source: "policy", text: "b", tokens: [7, 8] },
      ],
    },
  ],
  outcome: "answered",
  ending: {
    ...{ outcome: "answered", turns: 2, invalidActions: 0, observationTokensCut: 0 },
    searches: [search("x", "g1"), search("g1")],
  },
  temperature: 1,
  seconds: 1,
  parts: { exactMatch: 1, f1: 1, coverMatch: 1, judge: 0.7 },
  reward: 1,
  ...over,
});

test("tokens by source, every part, and the gold passages that were seen, each once", () => {
  const made = recordOf(scored(["g1", "g2", "g2"]), 4);
  expect(made).toMatchObject({
    place: 4,
    policyTokens: 3,
    observationTokens: 3,
    goldPassages: 2,
    goldFound: 1,
  });
  expect(made.parts).toEqual({ exactMatch: 1, f1: 1, coverMatch: 1, judge: 0.7 });
  expect(evalRecord.parse(JSON.parse(JSON.stringify(made)))).toEqual(made);
});

test("no recall where gold passages are unknown, or searches were not the environment's", () => {
  expect(recordOf(scored(undefined), 0)).not.toHaveProperty("goldPassages");
  const { ending } = scored(["g1"]);
  expect(recordOf(scored(["g1"], { ending: { ...ending!, agent: {} } }), 0)).not.toHaveProperty(
    "goldPassages",
  );
});

test("tokens read: each turn reads all before it; of a chat API what its server counted, and nothing where it does not", () => {
  expect(recordOf(scored(undefined), 0).promptTokens).toBe(2 + 6);
  const chat = (...usage: ({ promptTokens: number; completionTokens: number } | undefined)[]) =>
    recordOf(
      scored(undefined, {
        sequences: [
          {
            seat: "researcher",
            segments: usage.map((each) => ({
              ...{ source: "policy" as const, text: "a", tokens: [] },
              ...(each && { usage: each }),
            })),
          },
        ],
        judging: { promptTokens: 100, completionTokens: 20 },
      }),
      0,
    );
  const counted = chat({ promptTokens: 50, completionTokens: 5 }, { promptTokens: 70, completionTokens: 6 });
  expect(counted).toMatchObject({
    ...{ promptTokens: 120, policyTokens: 11 },
    judging: { promptTokens: 100, completionTokens: 20 },
  });
  expect(chat({ promptTokens: 50, completionTokens: 5 }, undefined)).not.toHaveProperty("promptTokens");
});
