import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConfig } from "../configs/load-config.ts";
import { rng } from "../core/rng.ts";
import { makeWorld } from "../datasets/world.ts";
import { teamTokens } from "../env/team/vocabulary.ts";
import { isTextPolicy } from "../rollout/player-seat.ts";
import type { SamplingParams } from "../rollout/sampler.ts";
import { tinyTokenizer } from "../rollout/tiny-tokenizer.ts";
import { extendVocabulary, type Vocabulary } from "../rollout/vocabulary.ts";
import { teamPlayers } from "./team.ts";

const said = "<verify> <forward> a </forward> <backward> b </backward> <verdict> pass </verdict> </verify>";
const bodies: {
  max_tokens?: number;
  max_completion_tokens?: number;
  messages: { role: string; content: string }[];
}[] = [];
let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    bodies.push(JSON.parse(body));
    response.setHeader("content-type", "application/json");
    const choice = { index: 0, finish_reason: "stop", message: { role: "assistant", content: said } };
    response.end(
      JSON.stringify({ id: "1", object: "chat.completion", created: 0, model: "m", choices: [choice] }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => void server.close());

const world = makeWorld({ seed: 1, clusters: 3 });
const tokenizer = tinyTokenizer(extendVocabulary(world.vocabulary as Vocabulary, teamTokens));
const { task, plan } = world.question(rng(1), 0, 2);
const playersOf = (...overrides: string[]) => {
  const { config } = loadConfig("team-quickstart", overrides);
  return teamPlayers(config, { tokenizer, train: { world }, contextTokens: 384 });
};
const params: SamplingParams = { temperature: 1, topP: 1, topK: 0, maxTokens: 48, stop: [], seed: 1 };

test("by default the policy plays every role", () => {
  expect(playersOf()).toBeUndefined();
});

test("a closed model behind an endpoint plays one role, in its own counting of tokens", async () => {
  const players = playersOf(
    `env.team.roles.verifier.player={kind: endpoint, url: "${url}", model: m, maxTokens: 321}`,
  )!;
  expect(players("planner", task, 0)).toBeUndefined();
  const policy = players("verifier", task, 0)!;
  if (!isTextPolicy(policy)) throw new Error("no text policy");
  const seat = policy.takeSeat({
    ...{
      name: "verifier",
      sequence: "s",
      question: task.question,
      tokenizer,
      signal: new AbortController().signal,
    },
    ...{ decoding: { temperature: 1, topP: 1, topK: 0 }, seedOfTurn: () => 1 },
    words: { plain: "{question}", system: "You verify.", user: "Question: {question}" },
  });
  await seat.observe("<path> mayor </path>");
  expect((await seat.act({ stop: [], maxTokens: 48 })).text).toBe(said);
  const [body] = bodies;
  expect(body!.max_tokens ?? body!.max_completion_tokens).toBe(321);
  expect(body!.messages[0]).toEqual({ role: "system", content: "You verify." });
  expect(body!.messages.at(-1)!.content).toContain("<path> mayor </path>");
});

test("the scripted demonstrator plays one role and makes no mistake", async () => {
  const players = playersOf("env.team.roles.planner.player={kind: expert}")!;
  const planner = players("planner", task, 0)!;
  const prompt = tokenizer.encode(`<planner> <question> ${task.question} </question>`);
  const { text, finish } = await planner.sample({ sequence: "s", seat: "planner", prompt, params });
  expect(text).toContain(`<path> ${plan.hops.map(({ relation }) => relation).join(" ; ")} </path>`);
  expect(finish).toBe("eos");
});

test("an expert needs a world or a family, an endpoint its key", () => {
  const { config } = loadConfig("team-quickstart", ["env.team.roles.planner.player={kind: expert}"]);
  expect(() => teamPlayers(config, { tokenizer, train: {}, contextTokens: 384 })).toThrow(
    /roles\.planner\.player/,
  );
  expect(() =>
    playersOf(
      `env.team.roles.verifier.player={kind: endpoint, url: "${url}", model: m, apiKeyEnv: NO_SUCH_KEY}`,
    ),
  ).toThrow(/NO_SUCH_KEY is not set/);
});
