import { type AlarmConfig, alarmConfig } from "./config.ts";
import type { Metrics } from "./run-db.ts";

/** A metric outside its healthy range, as a sentence with the knob to turn. */
interface Alarm {
  readonly metric: string;
  readonly bad: (value: number, m: Metrics, at: AlarmConfig) => boolean;
  readonly say: string;
}

const causes =
  "another temperature or logprobs before it, another dtype, the wrong adapter, or tokens that were encoded again";

const alarms: readonly Alarm[] = [
  {
    metric: "zero_std_frac",
    bad: (v, _, at) => v >= at.zeroSpread,
    say: "so many groups have no spread, so almost nothing is learned: the tasks are too easy or too hard, or the policy has collapsed",
  },
  {
    metric: "no_search_frac",
    bad: (v, _, at) => v >= at.noSearch,
    say: "so many episodes never search",
  },
  {
    metric: "infra_frac",
    bad: (v) => v >= 0.05,
    say: "one episode in twenty or more failed by infrastructure and left the loss",
  },
  {
    metric: "grad_norm",
    bad: (v, _, at) => !(v < at.gradNorm), // NaN too
    say: "the gradient norm is high: lower rl.schedule.learningRate",
  },
  {
    metric: "approx_kl",
    bad: (v) => v >= 0.2,
    say: "the policy moved far in one step: lower the learning rate or updatesPerStep",
  },
  {
    metric: "entropy",
    bad: (v, m, at) => v < at.entropy && (m.em ?? 1) < 0.7,
    say: "entropy is nearly zero while answers are wrong: the policy no longer explores",
  },
  {
    metric: "invalid_frac",
    bad: (v, _, at) => v >= at.invalid,
    say: "so many episodes hold an invalid action: warm up on the protocol first",
  },
  {
    metric: "observation_share",
    bad: (v, _, at) => v >= at.observationShare,
    say: "nearly all tokens are the tools' own: what the policy says drowns in what it reads; lower env.topK or env.observationTokens",
  },
  {
    metric: "mismatch/k3",
    bad: (v, _, at) => v >= at.mismatchK3,
    say: `sampler and trainer disagree on the sampled tokens: ${causes}`,
  },
  {
    metric: "mismatch/p99_abs",
    bad: (v, _, at) => v >= at.mismatchP99,
    say: `one sampled token in a hundred is far off between sampler and trainer: ${causes}`,
  },
  {
    metric: "canary/nearer_previous",
    bad: (v) => v > 0,
    say: "on the fixed prompt a server is nearer to the previous version than to the one just published: it does not use the new adapter",
  },
  {
    metric: "canary/mean_abs",
    bad: (v, _, at) => v >= at.canaryMeanAbs,
    say: "on the fixed prompt a server is far from the trainer: another base model, another dtype, or an adapter it does not apply",
  },
  {
    metric: "stale_groups",
    bad: (v, m) => v > 0 && v >= 0.1 * ((m.groups_kept ?? 0) + v),
    say: "groups were dropped as too old or as sampled by several versions: what the servers sampled was wasted",
  },
  {
    metric: "cut_episodes",
    bad: (v, m) => v > 0 && (m.cut_tokens_mean ?? 0) > (m.finished_tokens_mean ?? 0),
    say: "the step's deadline cut episodes that were longer already than those that ended: the policy learns from short ones; raise rl.stepTimeoutMs",
  },
];

/** What the alarms of a step need beside its own numbers. */
export interface Around {
  /** Steps before it, oldest first. */
  readonly earlier?: readonly Metrics[];
  /** Most searches that an episode, or a call of a role, may make. */
  readonly searches?: number | undefined;
}

/** The alarms of one step, as text. */
export function alarmsOf(
  m: Metrics,
  at: AlarmConfig = alarmConfig.parse({}),
  { earlier = [], searches }: Around = {},
): string[] {
  return [
    ...alarms.flatMap((a) =>
      m[a.metric] !== undefined && a.bad(m[a.metric]!, m, at)
        ? [`${a.metric} ${shown(m[a.metric]!)}: ${a.say}`]
        : [],
    ),
    ...onlyShort(m),
    ...saturated(m, at, searches),
    ...lessLikely([...earlier, m], at),
  ];
}

const shown = (value: number) => (Math.abs(value) >= 0.001 ? value.toFixed(3) : value.toPrecision(2));

/** The collapse that a mean hides: one search for everything, one hop solved, the deeper questions lost. */
function onlyShort(m: Metrics): string[] {
  const one = m["em/hops_1"];
  const deep = ["em/hops_2", "em/hops_3"].flatMap((k) => (m[k] === undefined ? [] : [m[k]]));
  if (one === undefined || deep.length === 0 || one < 0.8 || Math.max(...deep) > 0.1) return [];
  return [
    `em/hops_1 ${one.toFixed(2)} while deeper questions are at ${Math.max(...deep).toFixed(2)}, searches ${(m.searches ?? 0).toFixed(2)}: the policy is settling on one search for everything`,
  ];
}

/** Searching until the budget ends: the policy no longer knows when it has enough. */
function saturated(m: Metrics, at: AlarmConfig, most: number | undefined): string[] {
  const searches = m.searches_per_call ?? m.searches; // a role that searches has turns of its own
  if (searches === undefined || !most || searches < at.searchBudget * most) return [];
  return [
    `searches ${searches.toFixed(2)} where at most ${most} are to be had: the policy searches until its turns are used up`,
  ];
}

/** Right episodes that the policy itself finds less and less likely: what comes before it loses them. */
function lessLikely(steps: readonly Metrics[], at: AlarmConfig): string[] {
  if (steps.at(-1)?.correct_logprob === undefined) return [];
  const values = steps.flatMap(({ correct_logprob: value }) => value ?? []);
  const window = at.correctLogprobWindow;
  const level = (end: number) => values.slice(end - window, end).reduce((a, b) => a + b, 0) / window;
  const ends = Array.from({ length: Math.max(0, values.length - 2 * window + 1) }, (_, i) => i + window);
  if (ends.length === 0) return [];
  const [best, now] = [Math.max(...ends.map(level)), level(values.length)];
  if (best - now < at.correctLogprobFall) return [];
  return [
    `correct_logprob ${now.toFixed(3)}, once ${best.toFixed(3)}: right episodes are becoming unlikely, which precedes collapse; lower the learning rate`,
  ];
}
