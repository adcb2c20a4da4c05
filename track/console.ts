import type { Metrics, Phase } from "./run-db.ts";

/** One line a step, in columns that stay put, for people. */
export function stepLine(phase: Phase, step: number, steps: number, m: Metrics): string {
  const at = `${phase} ${String(step).padStart(String(steps).length)}/${steps}`;
  const show = (name: string, key: string, digits: number) =>
    m[key] === undefined ? [] : [`${name} ${m[key].toFixed(digits)}`];
  const columns =
    phase === "sft"
      ? [
          ...show("loss", "loss", 3),
          ...show("grad", "grad_norm", 2),
          ...rate(m),
          ...show("tok/s", "tokens_per_second", 0),
        ]
      : [
          ...show("em", "em", 3),
          ...show("reward", "reward", 3),
          ...show("pg", "pg_loss", 4),
          ...show("H", "entropy", 3),
          ...show("kl", "approx_kl", 4),
          ...clip(m),
          ...show("grad", "grad_norm", 2),
          ...show("zero", "zero_std_frac", 2),
          ...show("search", "searches", 2),
          ...show("tok", "policy_tokens", 0),
          ...seconds(m),
        ];
  return [at, ...columns].join("  ");
}

const rate = (m: Metrics) => (m.lr === undefined ? [] : [`lr ${m.lr.toExponential(1)}`]);
const clip = (m: Metrics) =>
  m.clip_frac_low === undefined
    ? []
    : [`clip ${m.clip_frac_low.toFixed(3)}/${(m.clip_frac_high ?? 0).toFixed(3)}`];
const seconds = (m: Metrics) =>
  m.seconds_rollout === undefined
    ? []
    : [`${m.seconds_rollout.toFixed(1)}+${(m.seconds_update ?? 0).toFixed(1)}s`];

/** What the columns mean, once, before the first step. */
export const legend =
  "em exact match of this step's samples · pg policy loss · H entropy · kl to the policy that sampled · clip low/high share of clipped tokens · " +
  "grad gradient norm · zero share of groups without spread · search searches an episode · tok policy tokens an episode · seconds rollout+update";

/** A metric outside its healthy range, as a sentence with the knob to turn. */
interface Alarm {
  readonly metric: string;
  readonly bad: (value: number, m: Metrics) => boolean;
  readonly say: string;
}

const alarms: readonly Alarm[] = [
  {
    metric: "zero_std_frac",
    bad: (v) => v >= 0.9,
    say: "nine groups in ten have no spread, so almost nothing is learned: the tasks are too easy or too hard, or the policy has collapsed",
  },
  { metric: "no_search_frac", bad: (v) => v >= 0.5, say: "half of the episodes answer without a search" },
  {
    metric: "infra_frac",
    bad: (v) => v >= 0.05,
    say: "more than one episode in twenty failed by infrastructure and left the loss",
  },
  {
    metric: "grad_norm",
    bad: (v) => v >= 10,
    say: "the gradient norm is above 10: lower rl.schedule.learningRate",
  },
  {
    metric: "approx_kl",
    bad: (v) => v >= 0.2,
    say: "the policy moved far in one step: lower the learning rate or updatesPerStep",
  },
  {
    metric: "entropy",
    // A step that updated nothing has measured no entropy.
    bad: (v, m) => v < 0.005 && (m.em ?? 1) < 0.7 && m.updates !== 0,
    say: "entropy is nearly zero while answers are wrong: the policy no longer explores",
  },
  {
    metric: "invalid_actions",
    bad: (v) => v >= 0.5,
    say: "half of the episodes hold an invalid action: warm up on the protocol first",
  },
];

/** The alarms of one step, as text. */
export function alarmsOf(m: Metrics): string[] {
  return [
    ...alarms.flatMap((a) =>
      m[a.metric] !== undefined && a.bad(m[a.metric]!, m)
        ? [`${a.metric} ${m[a.metric]!.toFixed(3)}: ${a.say}`]
        : [],
    ),
    ...onlyShort(m),
  ];
}

/** The collapse that a mean hides: one search for everything, one hop solved, the deeper questions lost. */
function onlyShort(m: Metrics): string[] {
  const one = m["em/hops_1"];
  const deep = ["em/hops_2", "em/hops_3"].flatMap((k) => (m[k] === undefined ? [] : [m[k]]));
  if (one === undefined || deep.length === 0 || one < 0.8 || Math.max(...deep) > 0.1) return [];
  return [
    `em/hops_1 ${one.toFixed(2)} while deeper questions are at ${Math.max(...deep).toFixed(2)}, searches ${(m.searches ?? 0).toFixed(2)}: the policy is settling on one search for everything`,
  ];
}
