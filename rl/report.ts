import type { Scored } from "../reward/scored.ts";
import type { Group } from "../rollout/trajectory.ts";
import type { Collected } from "./collect.ts";
import type { Verdict } from "./filter.ts";
import { entropyByKind, episodeMetrics, policyTokens, tokenStats } from "./metrics.ts";
import type { Learnt, StepReport, Trainer } from "./trainer.ts";

/** Names of the causes as metrics; tooFew is counted apart, since it says nothing of the policy. */
const causes = {
  allRight: "zero_std_frac_all_right",
  allWrong: "zero_std_frac_all_wrong",
  tie: "zero_std_frac_tie",
} as const;

export function reportOf(
  t: Pick<Trainer, "algorithm">,
  o: {
    step: number;
    collected: Collected;
    learning: readonly { group: Group<Scored>; advantages: readonly number[] }[];
    learnt: readonly Learnt[];
    learningRate: number;
    updateSeconds: number;
  },
): StepReport {
  const { sampled: judged, failed, seconds } = o.collected;
  const scored = judged.flatMap((j) => j.group.members);
  const share = (verdict: Verdict) =>
    judged.filter((j) => j.verdict === verdict).length / Math.max(1, judged.length);
  const updates = o.learnt.map(({ rows, report }) => ({
    report,
    stats: tokenStats(rows, report.logprobs, report.entropies, t.algorithm),
  }));
  const mean = (f: (u: (typeof updates)[number]) => number) =>
    updates.reduce((sum, u) => sum + f(u), 0) / Math.max(1, updates.length);
  const sampled = scored.reduce((n, m) => n + policyTokens(m), 0);
  const total = seconds.rollout + seconds.reward + o.updateSeconds;
  const advantageOf = new Map(o.learning.map(({ group, advantages }) => [group, advantages]));
  return {
    step: o.step + 1,
    metrics: {
      ...episodeMetrics(scored, failed),
      pg_loss: mean((u) => u.report.policyLoss),
      entropy: mean((u) => u.stats.entropy),
      ...entropyByKind(o.learnt),
      clip_frac_low: mean((u) => u.stats.clipFracLow),
      clip_frac_high: mean((u) => u.stats.clipFracHigh),
      approx_kl: mean((u) => u.stats.approxKl),
      grad_norm: mean((u) => u.report.gradNorm),
      lr: o.learningRate,
      zero_std_frac: (Object.keys(causes) as (keyof typeof causes)[]).reduce((sum, v) => sum + share(v), 0),
      ...Object.fromEntries(
        Object.entries(causes).map(([verdict, name]) => [name, share(verdict as Verdict)]),
      ),
      groups_kept: judged.filter((j) => j.verdict === "kept").length,
      groups_too_few: judged.filter((j) => j.verdict === "tooFew").length,
      batches: o.collected.batches,
      updates: updates.length,
      tokens_per_second: sampled / Math.max(1e-9, total),
      slots: updates.reduce((n, u) => n + u.report.slots, 0),
      seconds_rollout: seconds.rollout,
      seconds_reward: seconds.reward,
      seconds_update: o.updateSeconds,
    },
    trajectories: [
      ...judged.flatMap(({ group, verdict }, g) =>
        group.members.map((trajectory, i) => {
          const advantage = advantageOf.get(group)?.[i];
          return { trajectory, group: g, verdict, ...(advantage === undefined ? {} : { advantage }) };
        }),
      ),
      ...failed.map((trajectory) => ({ trajectory, group: -1, verdict: "failed" as const })),
    ],
  };
}
