import type { Scored } from "../reward/scored.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { collapseSigns } from "./interventions/signs.ts";
import { clipRules, maxLogRatio } from "./reference/surrogate.ts";
import type { Row } from "./row.ts";
import type { SurrogateName } from "./surrogate.ts";

/** Token-level quantities of one update: means over the policy tokens of all its rows. */
export interface TokenStats {
  /** k3 estimate of KL(π_old‖π_θ) in nats, with Δ = log π_θ − log π_old clamped to ±20. */
  readonly approxKl: number;
  /** Share of tokens whose ratio the surrogate clips below, and above; absent where it has none. */
  readonly clipFracLow?: number;
  readonly clipFracHigh?: number;
  /** Nats. */
  readonly entropy: number;
}

/** What one update's forward pass says of its tokens; `logprobs` and `entropies` are [rows][T] as in UpdateReport. */
export function tokenStats(
  rows: readonly Row[],
  logprobs: readonly (readonly number[])[],
  entropies: readonly (readonly number[])[],
  algorithm: { surrogate: SurrogateName; clipLow: number; clipHigh: number },
): TokenStats {
  const rule = clipRules[algorithm.surrogate];
  let [n, kl, low, high, entropy] = [0, 0, 0, 0, 0];
  rows.forEach((row, r) => {
    const { oldLogprobs, advantages, mask } = row;
    const clipped = rule?.({ logprobs: logprobs[r]!, oldLogprobs, advantages, mask }, algorithm);
    mask.forEach((m, t) => {
      if (m === 0) return;
      const delta = Math.max(-maxLogRatio, Math.min(maxLogRatio, logprobs[r]![t]! - oldLogprobs[t]!));
      n++;
      kl += Math.exp(delta) - 1 - delta;
      if (clipped?.[t] === -1) low++;
      if (clipped?.[t] === 1) high++;
      entropy += entropies[r]![t]!;
    });
  });
  const mean = (x: number) => (n === 0 ? 0 : x / n);
  return {
    approxKl: mean(kl),
    ...(rule && { clipFracLow: mean(low), clipFracHigh: mean(high) }),
    entropy: mean(entropy),
  };
}

const mean = (values: readonly number[]) =>
  values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length;

/** What others played in the policy's place is not its own. */
export const policyTokens = ({ sequences, ...t }: Trajectory) =>
  tokensOf({ ...t, sequences: sequences.filter(({ outside }) => !outside) }, "policy");
export const observationTokens = (t: Trajectory) => tokensOf(t, "observation") + tokensOf(t, "injected");
export const totalTokens = (t: Trajectory) =>
  t.sequences.reduce((n, s) => n + s.segments.reduce((m, g) => m + g.tokens.length, 0), 0);

function tokensOf(t: Trajectory, source: string): number {
  let n = 0;
  for (const sequence of t.sequences)
    for (const segment of sequence.segments) if (segment.source === source) n += segment.tokens.length;
  return n;
}

/** What the episodes of one step say of themselves: means over scored episodes, outcome counts over all. */
export function episodeMetrics(
  scored: readonly Scored[],
  failed: readonly Trajectory[],
  roleOf?: (seat: string) => string,
): Record<string, number> {
  const over = (f: (t: Scored) => number) => mean(scored.map(f));
  const correct = scored.filter((t) => t.parts.exactMatch === 1);
  const parts = [...new Set(scored.flatMap((t) => Object.keys(t.parts)))].sort();
  const outcomes: Record<string, number> = {};
  for (const t of [...scored, ...failed])
    outcomes[`outcome/${t.outcome}`] = (outcomes[`outcome/${t.outcome}`] ?? 0) + 1;
  return {
    reward: over((t) => t.reward),
    em: over((t) => t.parts.exactMatch ?? 0),
    ...Object.fromEntries(parts.map((name) => [`reward/${name}`, over((t) => t.parts[name] ?? 0)])),
    turns: over((t) => t.ending?.turns ?? 0),
    searches: over((t) => t.ending?.searches.length ?? 0),
    no_search_frac: over((t) => ((t.ending?.searches.length ?? 0) === 0 ? 1 : 0)),
    repeated_queries: over((t) => t.ending?.searches.filter((s) => s.repeated).length ?? 0),
    invalid_actions: over((t) => t.ending?.invalidActions ?? 0),
    invalid_frac: over((t) => ((t.ending?.invalidActions ?? 0) > 0 ? 1 : 0)),
    policy_tokens: over(policyTokens),
    observation_tokens: over(observationTokens),
    total_tokens: over(totalTokens),
    ...(correct.length > 0 ? { correct_policy_tokens: mean(correct.map(policyTokens)) } : {}),
    ...collapseSigns(scored, correct, roleOf),
    ...emByHops(scored),
    episodes: scored.length + failed.length,
    infra_frac: failed.length / Math.max(1, scored.length + failed.length),
    ...outcomes,
  };
}

/** EM and searches by hop count: the alarm of a collapse that the mean hides (one hop up, two and three down). */
function emByHops(scored: readonly Scored[]): Record<string, number> {
  const hops = [...new Set(scored.map((t) => t.task.hops))].sort((a, b) => a - b);
  return Object.fromEntries(
    hops.flatMap((h) => {
      const of = scored.filter((t) => t.task.hops === h);
      return [
        [`em/hops_${h}`, mean(of.map((t) => t.parts.exactMatch ?? 0))],
        [`searches/hops_${h}`, mean(of.map((t) => t.ending?.searches.length ?? 0))],
      ];
    }),
  );
}

/** Mean entropy of the policy tokens in `<think>`, in queries and in answers, for the kinds that occur. */
export function entropyByKind(
  updates: readonly { rows: readonly Row[]; report: { entropies: readonly (readonly number[])[] } }[],
): Record<string, number> {
  const sums = new Map<string, { total: number; n: number }>();
  for (const { rows, report } of updates)
    rows.forEach((row, r) => {
      row.mask.forEach((m, t) => {
        const kind = row.kinds?.[t];
        if (m === 0 || kind === undefined || kind === "other") return;
        const sum = sums.get(kind) ?? { total: 0, n: 0 };
        sums.set(kind, { total: sum.total + report.entropies[r]![t]!, n: sum.n + 1 });
      });
    });
  return Object.fromEntries([...sums].map(([kind, { total, n }]) => [`entropy_${kind}`, total / n]));
}
