import type { Scored } from "../reward/scored.ts";
import { adapterMetrics } from "./adapter-metrics.ts";
import type { Collected, Judged } from "./collect.ts";
import { classify } from "./filter.ts";
import { lossTerms } from "./loss-terms.ts";
import { entropyByKind, episodeMetrics, policyTokens, tokenStats } from "./metrics.ts";
import { stepMismatch } from "./mismatch.ts";
import type { Lesson } from "./rows.ts";
import type { Learnt, StepReport, Trainer } from "./trainer.ts";
import { turnCreditMetrics } from "./turn-credit.ts";

/** Names of the causes as metrics; groups of fewer than two are counted apart, since they say nothing of the policy. */
const causes = {
  allRight: "zero_std_frac_all_right",
  allWrong: "zero_std_frac_all_wrong",
  tie: "zero_std_frac_tie",
} as const;

export function reportOf(
  t: Pick<Trainer, "algorithm" | "config" | "team">,
  o: {
    step: number;
    collected: Collected;
    learning: readonly Lesson<Scored>[];
    learnt: readonly Learnt[];
    learningRate: number;
    updateSeconds: number;
    /** What others measured: the pipeline, the publisher. */
    more: Readonly<Record<string, number>>;
  },
): StepReport {
  const { sampled: judged, failed, retries, seconds } = o.collected;
  const scored = judged.flatMap((j) => j.group.members);
  const sampled = scored.reduce((n, m) => n + policyTokens(m), 0);
  const broken = failed.reduce((n, m) => n + policyTokens(m), 0);
  const count = (verdict: Judged["verdict"]) => judged.filter((j) => j.verdict === verdict).length;
  // Rollouts that ran beside an update took no time of their own but what was waited for them.
  const total = (o.more.seconds_rollout_wait ?? seconds.rollout + seconds.reward) + o.updateSeconds;
  const lessonOf = new Map(o.learning.map((lesson) => [lesson.group, lesson]));
  return {
    step: o.step + 1,
    metrics: {
      ...episodeMetrics(scored, failed, t.team?.roleOf),
      ...updateMetrics(t, o.learnt),
      lr: o.learningRate,
      ...zeroSpread(judged, t.algorithm),
      ...turnCreditMetrics(t.config, scored, o.learning),
      groups_kept: o.learning.length,
      groups_surplus: count("surplus"),
      groups_too_few: count("tooFew"),
      retries,
      batches: o.collected.batches,
      updates: o.learnt.length,
      ...stageOf(t),
      sampled_tokens: sampled + broken,
      tokens_per_second: sampled / Math.max(1e-9, total),
      slots: o.learnt.reduce((n, { report }) => n + report.slots, 0),
      seconds_rollout: seconds.rollout,
      seconds_reward: seconds.reward,
      seconds_update: o.updateSeconds,
      ...o.more,
    },
    trajectories: [
      ...judged.flatMap(({ group, verdict }, g) =>
        group.members.map((trajectory, i) => {
          const lesson = lessonOf.get(group);
          const [advantage, turnAdvantages] = [lesson?.advantages[i], lesson?.turnAdvantages?.[i]];
          return {
            ...{ trajectory, group: g, verdict },
            ...(advantage === undefined ? {} : { advantage }),
            ...(turnAdvantages === undefined ? {} : { turnAdvantages }),
          };
        }),
      ),
      ...failed.map((trajectory) => ({ trajectory, group: -1, verdict: "failed" as const })),
    ],
  };
}

/** The stage that the step was of, from 0, where there are several. */
function stageOf({ config, team }: Pick<Trainer, "config" | "team">): Record<string, number> {
  return (config.team?.stages.length ?? 0) > 1 && team ? { stage: team.stages.state.index } : {};
}

/** What the step's updates measured, each the mean over updates; nothing where there was none. */
function updateMetrics(
  { algorithm, config }: Pick<Trainer, "algorithm" | "config">,
  learnt: readonly Learnt[],
): Record<string, number> {
  const { entropyCoefficient } = config;
  const updates = learnt.map(({ rows, report }) => {
    const stats = tokenStats(rows, report.logprobs, report.entropies, algorithm);
    const terms = lossTerms(rows, report, { ...algorithm, entropyCoefficient });
    return {
      loss: terms.loss,
      pg_loss: report.policyLoss,
      kl_loss: terms.klLoss,
      entropy_bonus: terms.entropyBonus,
      kl_ref: terms.klRef,
      approx_kl: stats.approxKl,
      clip_frac_low: stats.clipFracLow,
      clip_frac_high: stats.clipFracHigh,
      entropy: stats.entropy,
      grad_norm: report.gradNorm,
    };
  });
  const means = Object.keys(updates[0] ?? {}).flatMap((name) => {
    const values = updates.flatMap((u) => u[name as keyof typeof u] ?? []);
    return values.length === 0 ? [] : [[name, values.reduce((a, b) => a + b, 0) / values.length] as const];
  });
  return {
    ...Object.fromEntries(means),
    ...entropyByKind(learnt),
    ...stepMismatch(learnt),
    ...adapterMetrics(learnt),
  };
}

/**
 * Shares of the groups of two or more that have no spread, by cause: in the metric that `spread` filters on, and under
 * another filter in the reward, since without spread there every baseline gives zero.
 */
function zeroSpread(judged: readonly Judged[], { filter, filterMetric }: Trainer["algorithm"]) {
  const metric = filter === "spread" ? filterMetric : "reward";
  const found = judged.flatMap(({ group: { members }, verdict }) =>
    members.length < 2 || verdict === "hack" ? [] : [classify(members, metric)],
  );
  const share = (is: (cause: (typeof found)[number]) => boolean) =>
    found.filter(is).length / Math.max(1, found.length);
  return {
    zero_std_frac: share((cause) => cause !== "kept"),
    ...Object.fromEntries(
      Object.entries(causes).map(([cause, name]) => [name, share((each) => each === cause)]),
    ),
  };
}
