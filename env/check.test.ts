import { describe, expect, it } from "vitest";
import { checkEnvironment } from "./check.ts";
import { envConfig } from "./config.ts";
import type { Ending, Environment } from "./environment.ts";
import { researcher } from "./researcher.ts";
import { tinyIndex } from "./testing.ts";

const index = tinyIndex([{ id: "a", title: "Blue Harbour", text: "Its director is Tom Vale" }]);
const ending: Ending = {
  outcome: "answered",
  turns: 1,
  searches: [],
  invalidActions: 0,
  observationTokensCut: 0,
};

/** An environment of one act, with one thing wrong. */
function toy(change: Partial<Environment>): Environment {
  return {
    name: "toy",
    seats: ["only"],
    async play(_, { only }) {
      const act = await only?.act({ stop: [], maxTokens: 10 });
      return { ...ending, turns: act && act.tokens > 0 ? 1 : 0 };
    },
    ...change,
  };
}

describe("checkEnvironment", () => {
  it("passes the Researcher, whatever its settings", async () => {
    for (const config of [
      {},
      { shuffle: true, noAction: "correct", maxTurns: 1 },
      { maxInvalid: 0, correction: "" },
    ]) {
      const environment = researcher({ retriever: index, config: envConfig.parse(config), seed: 3 });
      expect((await checkEnvironment(environment)).length).toBeGreaterThan(8);
    }
  });

  it("passes a sound toy", async () => {
    await expect(checkEnvironment(toy({}))).resolves.toContain("ends when aborted");
  });

  const broken: [string, Environment, RegExp][] = [
    ["no seats", toy({ seats: [] }), /seats must be named/],
    [
      "an outcome of its own",
      toy({ play: async () => ({ ...ending, outcome: "won" as "answered" }) }),
      /unknown outcome/,
    ],
    ["a wrong count of turns", toy({ play: async () => ending }), /ending.turns does not count/],
    [
      "no end",
      toy({
        async play(_, { only }) {
          for (;;) await only?.act({ stop: [], maxTokens: 10 });
        },
      }),
      /does not end/,
    ],
    [
      "a swallowed failure",
      toy({
        async play(_, { only }) {
          const act = await only?.act({ stop: [], maxTokens: 10 }).catch(() => undefined);
          return { ...ending, turns: act && act.tokens > 0 ? 1 : 0 };
        },
      }),
      /swallowed/,
    ],
    [
      "a call not awaited",
      toy({
        async play(_, { only }) {
          const act = await only?.act({ stop: [], maxTokens: 10 });
          setImmediate(() => void only?.observe("late").catch(() => {}));
          return { ...ending, turns: act && act.tokens > 0 ? 2 : 0 };
        },
      }),
      /ending.turns/,
    ],
    [
      "state kept between episodes",
      (() => {
        let plays = 0;
        return toy({
          async play(_, { only }) {
            await only?.observe(`episode ${plays++}`);
            const act = await only?.act({ stop: [], maxTokens: 10 });
            return { ...ending, turns: act && act.tokens > 0 ? 1 : 0 };
          },
        });
      })(),
      /another episode/,
    ],
    [
      "deaf to its signal",
      toy({
        async play(_, { only }, signal) {
          const act = await only?.act({ stop: [], maxTokens: 10 });
          if (signal.aborted) await new Promise(() => {});
          return { ...ending, turns: act && act.tokens > 0 ? 1 : 0 };
        },
      }),
      /goes on after its signal/,
    ],
    [
      "a bug",
      toy({
        play: async () => {
          throw new TypeError("undefined is not a function");
        },
      }),
      /the environment threw/,
    ],
    [
      "no token limit",
      toy({
        async play(_, { only }) {
          await only?.act({ stop: [], maxTokens: 0 });
          return ending;
        },
      }),
      /token limit/,
    ],
  ];
  it.each(broken)("finds %s", async (_, environment, message) => {
    await expect(checkEnvironment(environment, { abortMilliseconds: 50, maxTurns: 20 })).rejects.toThrow(
      message,
    );
  });
});
