import { describe, expect, test } from "vitest";
import type { Environment } from "../env/environment.ts";
import { type RollOptions, rollGroups } from "../rollout/groups.ts";
import { byteTokenizer, scriptedSampler, toyRenderer, unbatched } from "../rollout/testing.ts";
import { cutMetrics } from "./cut.ts";
import { toyRun, turn } from "./pipeline-toys.ts";
import { train } from "./step.ts";
import { stepDeadline } from "./step-deadline.ts";

const tokenizer = byteTokenizer();
/** Members 0 and 1 say one word and end; member 2 says four and hangs. */
const hanging: Environment = {
  name: "hanging",
  seats: ["s"],
  async play({ id }, { s }, signal) {
    let said = 0;
    const say = async () => {
      const { text } = await s!.act({ stop: [], maxTokens: 8 });
      said++;
      return text;
    };
    const long = (await say()) === "long";
    for (let i = 0; long && i < 3; i++) await say();
    if (long) await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    return {
      outcome: "answered",
      turns: said,
      searches: [],
      invalidActions: 0,
      observationTokensCut: id.length * 0,
    };
  },
};
const policy = unbatched(
  scriptedSampler(tokenizer, ({ sequence }) => (sequence.split("/")[2] === "2" ? "long" : "ok")),
);
const base: Omit<RollOptions, "step"> = {
  ...{ environment: hanging, policy, tokenizer, renderer: toyRenderer(tokenizer), seed: 1, groupSize: 3 },
  decoding: { temperature: 1, topP: 1, topK: 0 },
  ...{ maxRows: 8, concurrency: 8, retries: 3, retryDelayMs: 0, episodeTimeoutMs: 0 },
};

describe("a step's deadline", () => {
  test("hurries once, then cuts; what ended stands, what was cut is counted by length and in no mean", async () => {
    const run = toyRun({
      config: { stepTimeoutMs: 40 },
      roll: (tasks, step, _attempt, { cut, signal, limit, lease }) =>
        rollGroups(tasks, {
          ...{ ...base, step, cut, signal },
          ...(limit && { limit }),
          policy: unbatched(
            scriptedSampler(tokenizer, ({ sequence }) => (sequence.split("/")[2] === "2" ? "long" : "ok"), {
              version: () => lease!.version,
            }),
          ),
        }),
      refillBatches: 3,
    });
    // The filter keeps nothing, so only the deadline can stop the refills.
    const trainer = { ...run.trainer, algorithm: { ...run.trainer.algorithm, filter: "spread" as const } };
    const { value } = await train(
      { ...trainer, score: (t) => ({ ...t, parts: {}, reward: 1 }) },
      0,
      1,
    ).next();
    expect(run.log.filter((line) => line === "hurry")).toHaveLength(1);
    expect(run.log.filter((line) => line.startsWith("roll"))).toHaveLength(1);
    expect(value!.metrics).toMatchObject({
      ...{
        cut_episodes: 1,
        cut_turns_mean: 4,
        finished_turns_mean: 1,
        "outcome/infra(timeout)": 1,
        batches: 1,
      },
      ...{ cut_tokens_mean: 4 * "long ".length, finished_tokens_mean: "ok ".length, episodes: 3 },
    });
  });

  test("does not cut what ends in time, and says so", () => {
    const none = {
      sampled: [],
      failed: [],
      kept: [],
      retries: 0,
      batches: 1,
      seconds: { rollout: 0, reward: 0 },
    };
    expect(cutMetrics(none)).toEqual({ cut_episodes: 0 });
  });

  test("0 never rings", async () => {
    const deadline = stepDeadline(0, () => expect.unreachable());
    deadline.start();
    await turn();
    expect(deadline.cut.aborted).toBe(false);
    deadline.end();
  });
});

describe("cutting a batch of groups", () => {
  test("ends open episodes as infra(timeout), plays none of them again, and lets queued ones end at once", async () => {
    const controller = new AbortController();
    const rolled = rollGroups(
      ["a", "b"].map((id) => ({ id, question: id, goldenAnswers: ["x"], dataset: "toy", hops: 1 })),
      { ...base, step: 0, cut: controller.signal, concurrency: 3 },
    );
    await turn();
    controller.abort();
    const { groups, leftOut, retried } = await rolled;
    expect(groups.map(({ task, members }) => [task.id, members.length])).toEqual([
      ["a", 2],
      ["b", 2],
    ]);
    expect(leftOut.map(({ outcome, failure }) => [outcome, failure])).toEqual(
      [1, 2].map(() => ["infra(timeout)", "cut by the step's deadline"]),
    );
    expect(retried).toEqual([]);
  });

  test("a run that is called off is cancelled, not cut", async () => {
    const [cut, signal] = [new AbortController(), new AbortController()];
    const rolled = rollGroups([{ id: "a", question: "a", goldenAnswers: ["x"], dataset: "toy", hops: 1 }], {
      ...base,
      step: 0,
      cut: cut.signal,
      signal: signal.signal,
    });
    await turn();
    signal.abort();
    cut.abort();
    expect((await rolled).leftOut.map(({ outcome }) => outcome)).toEqual(["cancelled"]);
  });
});
