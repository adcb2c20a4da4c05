import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConfig } from "../configs/load-config.ts";
import { ConfigError, ToolError } from "../core/errors.ts";
import { makeScorer } from "../reward/scorer.ts";
import { rollGroups } from "../rollout/groups.ts";
import { byteTokenizer, scriptedSampler, toyRenderer } from "../rollout/testing.ts";
import type { Agent } from "../serve/proxy/agent.ts";
import { agentEnvironment, agentOf, agentRewards, noRetriever, openAgent } from "./agents.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

let project: Project;
beforeAll(() => {
  project = toyProject();
});
afterAll(() => project.remove());
const configOf = (env: string, ...more: string[]) =>
  loadConfig(project.at("train.yaml"), [`env=${env}`, ...more]).config;

const mine: Agent = async ({ baseUrl, apiKey, question }) => {
  const openai = new OpenAI({ baseURL: baseUrl, apiKey });
  const { choices } = await openai.chat.completions.create({
    model: "m",
    messages: [{ role: "user", content: question }],
  });
  return { answer: choices[0]!.message.content! };
};

test("a config's agent plays, by name, and is rewarded by `posted`", async () => {
  const config = configOf("{ name: agent, agent: mine, turnTokens: 7 }", "reward.weights={ posted: 1 }");
  const score = makeScorer(config.reward, agentRewards(config));
  const opened = (await openAgent(config, { agents: { mine } }))!;
  const tokenizer = byteTokenizer();
  const policy = scriptedSampler(tokenizer, () => "Tom Vale, the director");
  const task = { id: "q", question: "Who?", goldenAnswers: ["Tom Val"], dataset: "toy", hops: 1 };
  const { groups } = await rollGroups([task], {
    ...config.rollout,
    ...opened.episodes,
    ...{ environment: agentEnvironment, policy, tokenizer, renderer: toyRenderer(tokenizer) },
    ...{ decoding: { temperature: 1, topP: 1, topK: 0 }, seed: 1, step: 0 },
  });
  expect(groups[0]!.members.map(score)).toMatchObject([
    { reward: 1, prediction: "Tom Val", outcome: "answered" },
    { reward: 1, member: 1 },
  ]);
  expect(policy.requests[0]!.params.maxTokens).toBe(7);
  await opened.close();
});

test("other environments have no agent", async () => {
  const config = configOf("{ name: researcher, observationTokens: 24 }");
  expect(await openAgent(config, {})).toBeUndefined();
  expect(agentRewards(config)).toEqual({});
});

test("an agent needs nothing to search; what stands in its place can do nothing", async () => {
  const env = "{ name: agent, command: [node, agent.mjs] }";
  expect(configOf(env, "search={}").search.corpus).toBeUndefined();
  expect(() => configOf("{ name: researcher, observationTokens: 24 }", "search={}")).toThrow(
    /something to search/,
  );
  await expect(noRetriever.search(["x"], 1)).rejects.toThrow(ToolError);
  await expect(agentEnvironment.play({ id: "q", question: "Who?" }, {}, AbortSignal.abort())).rejects.toThrow(
    /by itself/,
  );
});

test.each([
  ["{ name: agent }", /one of the two/],
  ["{ name: agent, command: [a], agent: b }", /one of the two/],
  ["{ name: agent, command: [] }", /env\.command/],
  ["{ name: researcher, observationTokens: 24, command: [node] }", /only an agent has a command/],
])("env=%s is refused", (env, message) => {
  expect(() => configOf(env)).toThrow(ConfigError);
  expect(() => configOf(env)).toThrow(message);
});

test("an agent that nobody gave", () => {
  const config = configOf("{ name: agent, agent: mien }");
  expect(() => agentOf(config, { agents: { mine } })).toThrow(/no agent `mien`.*mine.*Did you mean `mine`/);
  expect(() => agentOf(config, undefined)).toThrow(/defineForager\(\{ agents \}\)/);
});
