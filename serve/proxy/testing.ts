import OpenAI from "openai";
import { plainChat } from "../../rollout/chat.ts";
import type { EpisodeOptions } from "../../rollout/episode.ts";
import {
  byteTokenizer,
  type Line,
  lines,
  type Script,
  scriptedSampler,
  toyRenderer,
  unbatched,
} from "../../rollout/testing.ts";
import type { Agent } from "./agent.ts";
import { agentPlayer } from "./agent-episode.ts";
import type { OpenRollout, RecordingProxy } from "./proxy.ts";
import { SampledBackend, type SampledOptions } from "./sampled.ts";

export const tokenizer = byteTokenizer();

/** A rollout whose policy follows a script, and a client at its URL. */
export function toyRollout(
  proxy: RecordingProxy,
  script: Script,
  over: Partial<SampledOptions> & { id?: string } = {},
) {
  const { id, ...options } = over;
  const scripted = scriptedSampler(tokenizer, script);
  const backend = new SampledBackend({
    sampler: unbatched(scripted),
    tokenizer,
    chat: plainChat,
    decoding: { temperature: 0.7, topP: 1, topK: 0 },
    seedOfCall: (key) => Number.parseInt(key, 16) >>> 0,
    sequence: "s",
    group: "g",
    ...options,
  });
  const rollout = proxy.open({ backend, ...(id !== undefined && { id }) });
  return { rollout, sampler: scripted, ...clientOf(rollout) };
}

/** The official client at a rollout's URL, and a way to post what the client has no call for. */
export function clientOf({ baseUrl }: Pick<OpenRollout, "baseUrl">, apiKey = "any") {
  const openai = new OpenAI({ baseURL: baseUrl, apiKey });
  const post = async (path: string, body: unknown, base = baseUrl) => {
    const answer = await fetch(base + path, { method: "POST", body: JSON.stringify(body) });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  return { openai, post };
}

export const toyTask = {
  id: "t1",
  question: "who built the mill",
  goldenAnswers: ["Renn"],
  dataset: "toy",
  hops: 1,
};

/** What episodes of agents need beside a policy. */
export const agentGround = {
  environment: { name: "agent", seats: [], play: () => Promise.reject(new Error("an agent plays")) },
  tokenizer,
  renderer: toyRenderer(tokenizer),
  decoding: { temperature: 0.7, topP: 1, topK: 0 },
  seed: 5,
};

/** One episode by an agent, whose policy says these lines. */
export function toyEpisode(
  proxy: RecordingProxy,
  agent: Agent,
  script: readonly Line[],
  over: Partial<EpisodeOptions> = {},
  contextTokens = 1000,
) {
  const sampler = unbatched(scriptedSampler(tokenizer, lines(script), { contextTokens }));
  const options = { ...agentGround, task: toyTask, member: 2, step: 9, sampler, ...over };
  return agentPlayer({ proxy, agent, chat: plainChat })(options);
}
