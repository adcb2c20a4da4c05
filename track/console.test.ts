import { expect, test } from "vitest";
import { alarmsOf } from "./alarms.ts";
import { alarmConfig } from "./config.ts";
import { legend, stepLine } from "./console.ts";

const healthy = {
  em: 0.5,
  reward: 0.55,
  pg_loss: -0.01,
  entropy: 0.1,
  approx_kl: 0.001,
  clip_frac_low: 0.01,
  clip_frac_high: 0,
  grad_norm: 0.4,
  zero_std_frac: 0.3,
  searches: 1.8,
  policy_tokens: 30,
  seconds_rollout: 1.24,
  seconds_update: 0.5,
};

const all = { ratio: true, reference: true };
const idle = { ratio: false, reference: false };

test("one line a step", () => {
  expect(stepLine("rl", 7, 40, healthy, all)).toMatchInlineSnapshot(
    `"rl  7/40  em 0.500  reward 0.550  pg -0.0100  H 0.100  kl 0.0010  clip 0.010/0.000  grad 0.40  zero 0.30  search 1.80  tok 30  1.2+0.5s"`,
  );
  expect(
    stepLine("sft", 7, 40, { loss: 1.5, grad_norm: 0.4, lr: 2e-3, tokens_per_second: 25_000 }, all),
  ).toMatchInlineSnapshot(`"sft  7/40  loss 1.500  grad 0.40  lr 2.0e-3  tok/s 25000"`);
});

test("a KL term is shown; where the ratio is always 1, what would always be 0 is not", () => {
  const line = (shows: typeof all) => stepLine("rl", 7, 40, { ...healthy, kl_ref: 0.0123 }, shows);
  expect(line(all)).toContain("ref 0.0123");
  expect(line(idle)).not.toMatch(/ref|kl|clip/);
});

test("a step that updated nothing shows no numbers of an update", () => {
  const { pg_loss, entropy, approx_kl, clip_frac_low, clip_frac_high, grad_norm, ...rolled } = healthy;
  expect(stepLine("rl", 7, 40, rolled, all)).toMatchInlineSnapshot(
    `"rl  7/40  em 0.500  reward 0.550  zero 0.30  search 1.80  tok 30  1.2+0.5s"`,
  );
});

test.each([
  ["rl", { ...healthy, kl_ref: 0.1 }],
  ["sft", { loss: 1, grad_norm: 1, lr: 1, tokens_per_second: 1 }],
] as const)(
  "the legend of %s explains every column of the line in its order, and fits a terminal",
  (phase, m) => {
    for (const shows of [all, idle]) {
      const lines = legend(phase, shows);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(110);
      const explained = lines
        .join(" · ")
        .split(" · ")
        .map((words) => words.split(" ")[0]!);
      const columns = stepLine(phase, 1, 2, m, shows)
        .split("  ")
        .slice(1)
        .map((column) => column.split(" ")[0]!);
      expect(explained.slice(0, -1)).toEqual(columns.slice(0, -1));
      expect(explained).toHaveLength(columns.length);
    }
  },
);

test("a healthy step raises no alarm", () => {
  expect(alarmsOf({ ...healthy, "em/hops_1": 0.9, "em/hops_2": 0.5 })).toEqual([]);
});

test.each([
  ["zero_std_frac", 0.95],
  ["no_search_frac", 0.6],
  ["infra_frac", 0.1],
  ["grad_norm", 12],
  ["approx_kl", 0.5],
  ["grad_norm", Number.NaN],
  ["invalid_frac", 0.5],
])("%s at %d is an alarm that names it", (metric, value) => {
  expect(alarmsOf({ ...healthy, [metric]: value })).toEqual([
    expect.stringMatching(new RegExp(`^${metric} `)),
  ]);
});

test("invalid actions of a few episodes are no alarm, however many they are", () => {
  expect(alarmsOf({ ...healthy, invalid_actions: 1.5, invalid_frac: 0.3 })).toEqual([]);
});

test("the collapse that a mean hides: one hop solved, the rest lost", () => {
  expect(alarmsOf({ ...healthy, searches: 1, "em/hops_1": 0.93, "em/hops_2": 0, "em/hops_3": 0 })).toEqual([
    expect.stringContaining("one search for everything"),
  ]);
});

test.each([
  ["mismatch/k3", 0.02, /temperature.*dtype.*wrong adapter.*encoded again/],
  ["mismatch/p99_abs", 0.6, /temperature.*dtype.*wrong adapter.*encoded again/],
  ["canary/nearer_previous", 1, /nearer to the previous version/],
  ["canary/mean_abs", 0.3, /far from the trainer/],
  ["stale_groups", 4, /too old/],
])("%s at %d is an alarm that says what to look for", (metric, value, says) => {
  const [alarm, ...others] = alarmsOf({ ...healthy, [metric]: value });
  expect(alarm).toMatch(new RegExp(`^${metric} `));
  expect(alarm).toMatch(says);
  expect(others).toEqual([]);
});

test("thresholds are the config's; usual gaps in float32 and bfloat16 are none", () => {
  const usual = { ...healthy, "mismatch/k3": 1.3e-3, "mismatch/p99_abs": 0.15, "canary/mean_abs": 0.016 };
  expect(alarmsOf(usual)).toEqual([]);
  const strict = alarmConfig.parse({ mismatchK3: 1e-4, mismatchP99: 0.1, canaryMeanAbs: 1e-3 });
  expect(alarmsOf(usual, strict)).toHaveLength(3);
  expect(alarmsOf({ ...healthy, "mismatch/k3": 2e-4 }, strict)[0]).toContain("0.00020");
});

test("a deadline alarms where it cuts the longer episodes, not where it cuts any", () => {
  const cut = { ...healthy, cut_episodes: 3, finished_tokens_mean: 40 };
  expect(alarmsOf({ ...cut, cut_tokens_mean: 90 })).toEqual([expect.stringContaining("rl.stepTimeoutMs")]);
  expect(alarmsOf({ ...cut, cut_tokens_mean: 30 })).toEqual([]);
  expect(alarmsOf({ ...healthy, cut_episodes: 0, finished_tokens_mean: 40 })).toEqual([]);
});

test("no entropy is an alarm only while answers are wrong", () => {
  expect(alarmsOf({ ...healthy, entropy: 0.001 })).toHaveLength(1);
  expect(alarmsOf({ ...healthy, entropy: 0.001, em: 0.95 })).toEqual([]);
  const { entropy, ...unmeasured } = healthy;
  expect(alarmsOf({ ...unmeasured, updates: 0 })).toEqual([]);
});

test("thresholds of collapse are the config's, too", () => {
  const strict = { zeroSpread: 0.1, noSearch: 0.05, gradNorm: 0.1, observationShare: 0.4, invalid: 0.05 };
  const m = {
    ...healthy,
    zero_std_frac: 0.2,
    no_search_frac: 0.1,
    observation_share: 0.5,
    invalid_frac: 0.1,
  };
  expect(alarmsOf({ ...m, grad_norm: 0.2 })).toEqual([]);
  const names = alarmsOf({ ...m, grad_norm: 0.2 }, alarmConfig.parse(strict)).map(
    (text) => text.split(" ")[0],
  );
  expect(names.toSorted()).toEqual(
    ["grad_norm", "invalid_frac", "no_search_frac", "observation_share", "zero_std_frac"].toSorted(),
  );
  expect(alarmsOf({ ...healthy, entropy: 0.05 }, alarmConfig.parse({ entropy: 0.1 }))).toHaveLength(1);
});

test("searches that use up their budget, an episode's or a call's", () => {
  expect(alarmsOf({ ...healthy, searches: 2.8 }, undefined, { searches: 3 })).toEqual([
    expect.stringMatching(/^searches 2.80 where at most 3/),
  ]);
  expect(alarmsOf({ ...healthy, searches: 2.8 }, undefined, { searches: 4 })).toEqual([]);
  expect(alarmsOf({ ...healthy, searches: 2.8 })).toEqual([]);
  const team = { ...healthy, searches: 9, searches_per_call: 1 };
  expect(alarmsOf(team, undefined, { searches: 3 })).toEqual([]);
});

test("right episodes that become unlikely alarm before they are lost; a dip of one step does not", () => {
  const run = (values: readonly number[]) => {
    const steps = values.map((value) => ({ ...healthy, correct_logprob: value }));
    return alarmsOf(steps.at(-1)!, undefined, { earlier: steps.slice(0, -1) });
  };
  const usual = new Array(5).fill(-0.3) as number[];
  expect(run([...usual, -0.4, -0.5, -0.6, -0.7, -0.8])).toEqual([
    expect.stringMatching(/^correct_logprob -0.600, once -0.300/),
  ]);
  expect(run([...usual, -0.3, -0.3, -0.3, -0.3, -1])).toEqual([]);
  expect(run([-0.3, -0.9])).toEqual([]); // too few steps to have a level
  expect(run([...usual, -0.3, -0.2, -0.2, -0.1, -0.1])).toEqual([]);
});
