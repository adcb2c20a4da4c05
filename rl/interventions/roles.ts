import type { Trajectory } from "../../rollout/trajectory.ts";

/** What one role wrote in an episode. */
interface Spoken {
  readonly bigrams: ReadonlySet<string>;
  readonly tokens: number;
}

/**
 * How alike the roles of an episode are: over all pairs of roles that wrote something, the mean Jaccard index of their
 * sets of token bigrams, and the mean ratio of their lengths in tokens, the shorter over the longer. Both lie in [0, 1], and
 * the order of roles does not matter. Undefined for fewer than two roles.
 */
export function likeness(
  { sequences }: Pick<Trajectory, "sequences">,
  roleOf = (seat: string) => seat,
): { similarity: number; lengthRatio: number } | undefined {
  const roles = [...spokenBy(sequences, roleOf).values()].filter(({ tokens }) => tokens > 0);
  const pairs = roles.flatMap((a, i) => roles.slice(i + 1).map((b) => [a, b] as const));
  if (pairs.length === 0) return undefined;
  const over = (f: (a: Spoken, b: Spoken) => number) =>
    pairs.reduce((sum, [a, b]) => sum + f(a, b), 0) / pairs.length;
  return {
    similarity: over((a, b) => jaccard(a.bigrams, b.bigrams)),
    lengthRatio: over((a, b) => Math.min(a.tokens, b.tokens) / Math.max(a.tokens, b.tokens)),
  };
}

function spokenBy(sequences: Trajectory["sequences"], roleOf: (seat: string) => string): Map<string, Spoken> {
  const roles = new Map<string, { bigrams: Set<string>; tokens: number }>();
  for (const { seat, outside, segments } of sequences)
    for (const { source, tokens } of segments) {
      if (source !== "policy" || outside) continue;
      const role = roles.get(roleOf(seat)) ?? { bigrams: new Set<string>(), tokens: 0 };
      roles.set(roleOf(seat), role);
      role.tokens += tokens.length;
      // The end counts as a token, so that a text of one token has a bigram, too.
      for (const [i, token] of tokens.entries()) role.bigrams.add(`${token} ${tokens[i + 1] ?? ""}`);
    }
  return roles;
}

function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let both = 0;
  for (const each of a) if (b.has(each)) both++;
  return both / (a.size + b.size - both);
}

/** Likeness of a step's roles, as metrics: means over the episodes that have two; nothing where none has. */
export function roleMetrics(
  episodes: readonly Pick<Trajectory, "sequences">[],
  roleOf?: (seat: string) => string,
): Record<string, number> {
  const found = episodes.flatMap((episode) => likeness(episode, roleOf) ?? []);
  if (found.length === 0) return {};
  const over = (name: "similarity" | "lengthRatio") =>
    found.reduce((sum, each) => sum + each[name], 0) / found.length;
  return { "roles/similarity": over("similarity"), "roles/length_ratio": over("lengthRatio") };
}
