import { once } from "node:events";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EnvError, SamplerError } from "../../core/errors.ts";
import { rewardConfig } from "../../reward/config.ts";
import { posted } from "../../reward/posted.ts";
import { makeScorer } from "../../reward/scorer.ts";
import { plainChat } from "../../rollout/chat.ts";
import type { EpisodeOptions } from "../../rollout/episode.ts";
import { rollGroups } from "../../rollout/groups.ts";
import { type Line, lines, scriptedSampler, unbatched } from "../../rollout/testing.ts";
import type { Agent, AgentTask } from "./agent.ts";
import { agentPlayer } from "./agent-episode.ts";
import { type RecordingProxy, startProxy } from "./proxy.ts";
import { agentGround as ground, toyTask as task, tokenizer, toyEpisode } from "./testing.ts";

let proxy: RecordingProxy;
beforeAll(async () => {
  proxy = await startProxy();
});
afterAll(() => proxy.close());

const play = (
  agent: Agent,
  script: readonly Line[] = ["x"],
  over: Partial<EpisodeOptions> = {},
  contextTokens = 1000,
) => toyEpisode(proxy, agent, script, over, contextTokens);
const ask = async ({ baseUrl, apiKey, question, signal }: AgentTask, max_tokens: number | null = null) => {
  const openai = new OpenAI({ baseURL: baseUrl, apiKey });
  const body = { model: "m", messages: [{ role: "user" as const, content: question }], max_tokens };
  return (await openai.chat.completions.create(body, { signal })).choices[0]!.message.content!;
};
const post = ({ baseUrl }: AgentTask, body: object) =>
  fetch(`${baseUrl}/reward`, { method: "POST", body: JSON.stringify(body) });
const score = makeScorer(rewardConfig.parse({ weights: { posted: 1 } }), { posted });

describe("an agent that comes to its end", () => {
  it("answers: its answer is judged, whatever tags the policy wrote", async () => {
    const trajectory = await play(
      async (t) => ({ answer: (await ask(t)).replace("<answer>Oke</answer>", "") }),
      ["<answer>Oke</answer>the Renn"],
    );
    expect(trajectory).toMatchObject({
      ...{ outcome: "answered", member: 2, temperature: 0.7 },
      ending: { outcome: "answered", turns: 1, searches: [], agent: { answer: "the Renn" } },
    });
    expect(trajectory.sequences[0]?.segments.map(({ source }) => source)).toEqual(["prompt", "policy"]);
    expect(score(trajectory)).toMatchObject({
      reward: 1,
      prediction: "the Renn",
      parts: { exactMatch: 1, posted: 1 },
    });
  });

  it("posts a reward: it stands, before what the agent returns", async () => {
    const trajectory = await play(async (t) => {
      await ask(t);
      await post(t, { reward: 0.25 });
      await post(t, { reward: 0.75 });
      return { answer: "Renn", reward: 0.5 };
    });
    expect(score(trajectory)).toMatchObject({ outcome: "answered", reward: 0.25, parts: { exactMatch: 1 } });
  });

  it("posts nothing and returns nothing: no answer, reward 0", async () => {
    const trajectory = await play(async (t) => void (await ask(t)));
    expect(score(trajectory)).toMatchObject({
      outcome: "no_answer",
      reward: 0,
      parts: { posted: 0, answerTag: 0 },
    });
  });

  it("may say which end it was", async () => {
    const trajectory = await play(async (t) => {
      await ask(t);
      await post(t, { reward: -1, outcome: "invalid" });
    });
    expect(score(trajectory)).toMatchObject({ outcome: "invalid", reward: -1 });
  });

  it("gets no answer since the policy was cut: length", async () => {
    expect((await play(async (t) => void (await ask(t, 2)), ["long"])).outcome).toBe("length");
  });

  it("breaks off since the conversation fills the context: length, not a failure of the agent's", async () => {
    const long = async (t: AgentTask) => {
      await ask(t);
      await ask({ ...t, question: "y".repeat(50) });
    };
    expect((await play(long, ["x"], {}, 40)).outcome).toBe("length");
  });
});

describe("infrastructure", () => {
  it("the agent crashes: no reward, the message kept", async () => {
    const trajectory = await play(async (t) => {
      await ask(t);
      throw new TypeError("x is undefined");
    });
    expect(trajectory).toMatchObject({ outcome: "infra(agent)", failure: "x is undefined" });
    expect(trajectory.ending).toBeUndefined();
    expect(trajectory.sequences).toHaveLength(1);
  });

  it("the agent never asks the model, or its first prompt does not fit", async () => {
    expect(await play(async () => ({ answer: "Renn" }))).toMatchObject({
      ...{ outcome: "infra(agent)", failure: "it never asked the model", sequences: [] },
    });
    const { outcome, failure } = await play(async (t) => void (await ask(t).catch(() => {})), ["x"], {}, 5);
    expect([outcome, failure]).toEqual(["infra(agent)", "its first prompt does not fit into the context"]);
  });

  it("the policy fails: the model's failure, also when the agent swallows it", async () => {
    const error = new SamplerError({ what: "503" });
    for (const agent of [
      async (t: AgentTask) => void (await ask(t)),
      async (t: AgentTask) => void (await ask(t).catch(() => {})),
    ])
      expect(await play(agent, [error])).toMatchObject({ outcome: "infra(model)", failure: "503." });
  });

  it("the agent hangs, deaf to its signal: a timeout, and its later calls are refused", async () => {
    let late: Promise<unknown> | undefined;
    const { outcome, failure, sequences } = await play(
      async (t) => {
        await ask(t);
        await once(t.signal, "abort");
        late = once(AbortSignal.timeout(20), "abort").then(() =>
          ask({ ...t, signal: new AbortController().signal }),
        );
        late.catch(() => {});
        return new Promise<never>(() => {});
      },
      ["x", "y"],
      { deadlines: { episodeMs: 80, countSampling: true } },
    );
    expect([outcome, failure, sequences.length]).toEqual(["infra(timeout)", "no end within 80 ms", 1]);
    await expect(late).rejects.toMatchObject({ status: 410 });
  });

  it("waiting for an in-process policy does not count", async () => {
    const scripted = scriptedSampler(tokenizer, lines(["x"]));
    const sampler: EpisodeOptions["sampler"] = {
      ...unbatched(scripted),
      async sample(request, signal) {
        await once(AbortSignal.timeout(150), "abort");
        return scripted.sample(request, signal);
      },
    };
    const agent = async (t: AgentTask) => void (await ask(t));
    const free = await play(agent, [], { sampler, deadlines: { episodeMs: 100, countSampling: false } });
    expect(free.outcome).toBe("no_answer");
  });

  it("cancelled: before it starts, and in the middle", async () => {
    const never: Agent = async () => expect.unreachable();
    expect((await play(never, [], { signal: AbortSignal.abort() })).outcome).toBe("cancelled");
    const controller = new AbortController();
    const trajectory = await play(
      async (t) => {
        await ask(t);
        controller.abort();
        return new Promise<never>(() => {});
      },
      ["x"],
      { signal: controller.signal },
    );
    expect([trajectory.outcome, trajectory.failure]).toEqual(["cancelled", undefined]);
  });
});

describe("bugs and the user's mistakes are thrown", () => {
  it("of the sampler, and of what an agent returns", async () => {
    const bug = new RangeError("bug");
    await expect(play(async (t) => void (await ask(t)), [bug])).rejects.toBe(bug);
    const wrong = (async (t: AgentTask) => {
      await ask(t);
      return { reward: Number.NaN };
    }) as Agent;
    await expect(play(wrong)).rejects.toThrow(EnvError);
    await expect(play(wrong)).rejects.toThrow(/question t1.*reward/);
  });
});

describe("groups", () => {
  const options = {
    ...{ ...ground, step: 0, groupSize: 4, maxRows: 2, concurrency: 2 },
    ...{ retries: 1, retryDelayMs: 0, episodeTimeoutMs: 5_000 },
  };

  it("are played, retried and counted as ours are; a member that fails for good is left out", async () => {
    let calls = 0;
    const agent: Agent = async (t) => {
      const mine = calls++;
      const answer = await ask(t);
      // The third to start fails once, and the fourth for ever.
      if (mine === 2 || t.question === "broken") throw new Error("crash");
      return { answer };
    };
    const policy = unbatched(scriptedSampler(tokenizer, () => "Renn"));
    const tasks = [task, { ...task, id: "t2", question: "broken" }];
    const play = agentPlayer({ proxy, agent, chat: plainChat });
    const { groups, tooFew, leftOut, retried } = await rollGroups(tasks, { ...options, policy, play });
    expect(groups.map(({ members }) => members.map(({ member }) => member))).toEqual([[0, 1, 2, 3]]);
    expect([tooFew.length, leftOut.length]).toEqual([1, 4]);
    expect(retried.map(({ outcome }) => outcome)).toEqual(Array(5).fill("infra(agent)"));
  });

  it("in waves, some at a time: never more agents than that, all the same in the end", async () => {
    let [open, most] = [0, 0];
    const agent: Agent = async (t) => {
      most = Math.max(most, ++open);
      const answer = await ask(t);
      open--;
      return { answer };
    };
    const policy = scriptedSampler(tokenizer, () => "Renn");
    const play = agentPlayer({ proxy, agent, chat: plainChat });
    const { groups } = await rollGroups([task, { ...task, id: "t2" }], {
      ...options,
      policy,
      play,
      atOnce: 3,
    });
    expect(groups.map(({ members }) => members.length)).toEqual([4, 4]);
    expect(most).toBe(3);
    expect(policy.batches.map((batch) => batch.length)).toEqual([2, 1, 2, 1, 2]);
    const seeds = policy.requests.map(({ params }) => params.seed);
    expect(new Set(seeds).size).toBe(8);
  });
});
