import { expect, it } from "vitest";
import { renderTrajectory } from "./print.ts";
import type { Trajectory } from "./trajectory.ts";

const trajectory: Trajectory = {
  task: { id: "t1", question: "Who?", goldenAnswers: ["x"], dataset: "toy", hops: 1 },
  member: 3,
  sequences: [
    {
      seat: "researcher",
      segments: [
        { source: "prompt", tokens: [1], text: "Who?" },
        {
          source: "policy",
          tokens: [2, 3],
          text: "<search>\u001b[31mq</search>",
          logprobs: [-1, -2],
          version: 7,
          finish: "stop",
        },
        { source: "observation", tokens: [4], text: "<information>long long text</information>" },
        { source: "injected", tokens: [5], text: "again" },
      ],
    },
  ],
  outcome: "infra(model)",
  failure: "503",
  temperature: 1,
  seconds: 1.234,
};

it("labels each segment by its source, without colours for a pipe", () => {
  expect(renderTrajectory(trajectory, { color: false })).toBe(
    [
      "t1 · member 3 · Who?",
      "── prompt, 1 tokens",
      "Who?",
      "── policy, 2 tokens, ended by stop, mean logprob -1.500, version 7",
      "<search>·[31mq</search>",
      "── observation, 1 tokens",
      "<information>long long text</information>",
      "── injected, 1 tokens",
      "again",
      "══ infra(model), 1.23 s: 503",
    ].join("\n"),
  );
});

it("colours sources apart, and shortens", () => {
  const text = renderTrajectory(trajectory, { color: true, maxCharacters: 10 });
  expect(text).toContain("\u001b[36m<info … 31 more characters … tion>\u001b[39m");
  expect(text).toContain("\u001b[33magain\u001b[39m");
});
