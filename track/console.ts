import { type AlarmConfig, alarmConfig } from "./config.ts";
import type { Metrics, Phase } from "./run-db.ts";

/** What a run has to show. */
export interface Shows {
  /** π_θ may differ from π_old in an update: more than one update a step, or rollouts ahead of it. */
  readonly ratio: boolean;
  /** The loss has a KL term to the policy as RL began. */
  readonly reference: boolean;
}

/** One column of the lines: its name, what it means, its text for a step that has it. */
interface Column {
  readonly name: string;
  readonly says: string;
  readonly text: (m: Metrics) => string | undefined;
  /** Shown only where this holds. */
  readonly when?: (shows: Shows) => boolean;
}

const number = (name: string, key: string, digits: number, says: string, when?: Column["when"]): Column => ({
  ...{ name, says, text: (m) => m[key]?.toFixed(digits) },
  ...(when ? { when } : {}),
});

const columns: Readonly<Record<Phase, readonly Column[]>> = {
  sft: [
    number("loss", "loss", 3, "mean loss, nats a token"),
    number("grad", "grad_norm", 2, "gradient norm before clipping"),
    { name: "lr", says: "learning rate", text: (m) => m.lr?.toExponential(1) },
    number("tok/s", "tokens_per_second", 0, "tokens a second"),
  ],
  rl: [
    number("em", "em", 3, "exact match of this step's episodes"),
    number("reward", "reward", 3, "their mean reward"),
    number("pg", "pg_loss", 4, "policy loss"),
    number("H", "entropy", 3, "entropy, nats a token"),
    number("ref", "kl_ref", 4, "KL to the policy as RL began", (shows) => shows.reference),
    number("kl", "approx_kl", 4, "KL to the policy that sampled", (shows) => shows.ratio),
    {
      name: "clip",
      says: "share of tokens clipped below/above",
      when: (shows) => shows.ratio,
      text: (m) =>
        m.clip_frac_low === undefined
          ? undefined
          : `${m.clip_frac_low.toFixed(3)}/${(m.clip_frac_high ?? 0).toFixed(3)}`,
    },
    number("grad", "grad_norm", 2, "gradient norm before clipping"),
    number("zero", "zero_std_frac", 2, "share of groups without spread"),
    number("search", "searches", 2, "searches an episode"),
    number("tok", "policy_tokens", 0, "policy tokens an episode"),
    {
      name: "",
      says: "seconds of rollout+update",
      text: (m) =>
        m.seconds_rollout === undefined
          ? undefined
          : `${m.seconds_rollout.toFixed(1)}+${(m.seconds_update ?? 0).toFixed(1)}s`,
    },
  ],
};

const columnsOf = (phase: Phase, shows: Shows) => columns[phase].filter(({ when }) => when?.(shows) ?? true);

/** One line a step, in columns that stay put, for people. */
export function stepLine(phase: Phase, step: number, steps: number, m: Metrics, shows: Shows): string {
  const at = `${phase} ${String(step).padStart(String(steps).length)}/${steps}`;
  const shown = columnsOf(phase, shows).flatMap(({ name, text }) => {
    const value = text(m);
    return value === undefined ? [] : [name === "" ? value : `${name} ${value}`];
  });
  return [at, ...shown].join("  ");
}

const widest = 110;

/** What the columns mean, once, before the first step: lines that fit a terminal. */
export function legend(phase: Phase, shows: Shows): string[] {
  const lines: string[] = [];
  for (const { name, says } of columnsOf(phase, shows)) {
    const words = `${name} ${says}`.trim();
    const last = lines.at(-1);
    if (last !== undefined && last.length + 3 + words.length <= widest)
      lines[lines.length - 1] = `${last} · ${words}`;
    else lines.push(words);
  }
  return lines;
}

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
    bad: (v) => v >= 0.9,
    say: "nine groups in ten or more have no spread, so almost nothing is learned: the tasks are too easy or too hard, or the policy has collapsed",
  },
  {
    metric: "no_search_frac",
    bad: (v) => v >= 0.5,
    say: "half of the episodes or more never search",
  },
  {
    metric: "infra_frac",
    bad: (v) => v >= 0.05,
    say: "one episode in twenty or more failed by infrastructure and left the loss",
  },
  {
    metric: "grad_norm",
    bad: (v) => !(v < 10), // NaN too
    say: "the gradient norm is 10 or more: lower rl.schedule.learningRate",
  },
  {
    metric: "approx_kl",
    bad: (v) => v >= 0.2,
    say: "the policy moved far in one step: lower the learning rate or updatesPerStep",
  },
  {
    metric: "entropy",
    bad: (v, m) => v < 0.005 && (m.em ?? 1) < 0.7,
    say: "entropy is nearly zero while answers are wrong: the policy no longer explores",
  },
  {
    metric: "invalid_frac",
    bad: (v) => v >= 0.5,
    say: "half of the episodes or more hold an invalid action: warm up on the protocol first",
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

/** The alarms of one step, as text. */
export function alarmsOf(m: Metrics, at: AlarmConfig = alarmConfig.parse({})): string[] {
  return [
    ...alarms.flatMap((a) =>
      m[a.metric] !== undefined && a.bad(m[a.metric]!, m, at)
        ? [`${a.metric} ${shown(m[a.metric]!)}: ${a.say}`]
        : [],
    ),
    ...onlyShort(m),
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
