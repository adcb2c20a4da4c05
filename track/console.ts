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
