import type { TeamAccount } from "../../env/team/account.ts";
import { type RoleName, roleNames } from "../../env/team/roles.ts";

/** Half octaves: lengths within a factor of √2 are alike. */
const binOf = (tokens: number): number => Math.floor(2 * Math.log2(Math.max(1, tokens)));

/** Entropy of lengths that spread evenly over eight half octaves, a factor of sixteen: as much as is asked for, in nats. */
export const fullEntropy = Math.log(8);

/** How the lengths of a batch's calls are spread, by role. */
export class LengthSpread {
  readonly #counts = new Map<RoleName, { total: number; readonly bins: Map<number, number> }>();

  constructor(accounts: readonly TeamAccount[]) {
    for (const { calls } of accounts)
      for (const { role, tokens } of calls) {
        const counts = this.#counts.get(role) ?? { total: 0, bins: new Map<number, number>() };
        counts.total++;
        counts.bins.set(binOf(tokens), (counts.bins.get(binOf(tokens)) ?? 0) + 1);
        this.#counts.set(role, counts);
      }
  }

  /** H of each role that spoke, in nats. */
  entropies(): Partial<Record<RoleName, number>> {
    return Object.fromEntries(
      roleNames.flatMap((role) => {
        const counts = this.#counts.get(role);
        if (!counts) return [];
        const shares = [...counts.bins.values()].map((n) => n / counts.total);
        return [[role, shares.reduce((sum, p) => sum - p * Math.log(p), 0)]];
      }),
    );
  }

  /**
   * How common the lengths of an episode's calls are among those of the same roles in the batch, in [0, 1]: the mean over
   * its calls of 1 − s/ln 8, not below 0, where s = −ln p is the surprise of the call's length. Its mean over the calls
   * of a role is 1 − H/ln 8 while no length is rarer than one in eight. 0 without a call.
   */
  commonness({ calls }: TeamAccount): number {
    if (calls.length === 0) return 0;
    const each = calls.map(({ role, tokens }) => {
      const { total, bins } = this.#counts.get(role)!;
      return Math.max(0, 1 + Math.log(bins.get(binOf(tokens))! / total) / fullEntropy);
    });
    return each.reduce((sum, value) => sum + value, 0) / each.length;
  }
}
