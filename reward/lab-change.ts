import {
  type Both,
  type LabGroup,
  type LabMember,
  marksOf,
  type Side,
  spreadOf,
  type TurnTally,
  tolerance,
} from "./lab-group.ts";
import { Moments } from "./moments.ts";

/** Means under the two rewards; null where one of them has no such part. */
export type Shift = Both<number | null>;

/** What another reward changes about a set of groups. */
export interface Change {
  readonly groups: number;
  readonly episodes: number;
  readonly reward: Shift;
  /** Mean raw value of each part. */
  readonly parts: Readonly<Record<string, Shift>>;
  /** Episodes whose judged answer is another. */
  readonly otherAnswer: number;
  /** Groups by what becomes of them under either reward; empty where nothing is to be learned. */
  readonly verdicts: readonly { readonly before: string; readonly after: string; readonly groups: number }[];
  readonly advantages: AdvantageChange;
  /** Mean credit of a turn, and the share of tokens whose advantage it turns round; absent where neither credits turns. */
  readonly turnCredit?: { readonly mean: Shift; readonly flipped: Shift };
  readonly best: {
    /** Groups that have a best member under both. */
    readonly groups: number;
    /** Of these, where none that was best still is. */
    readonly flipped: number;
  };
}

/** Of the episodes whose group one of the two learns from; where the other does not, its advantage is 0. */
export interface AdvantageChange {
  readonly episodes: number;
  /** Pearson's r of the two; null where one does not vary. */
  readonly correlation: number | null;
  /** Mean absolute advantage. */
  readonly size: Both<number>;
  /** Largest absolute advantage. */
  readonly largest: Both<number>;
  /** From above 0 to below, or the reverse. */
  readonly flipped: number;
  /** From something to 0. */
  readonly silenced: number;
  /** From 0 to something. */
  readonly woken: number;
}

/** Counts what another reward changes, group by group; holds sums alone. */
export class ChangeTally {
  #groups = 0;
  #episodes = 0;
  #otherAnswer = 0;
  readonly #reward = { before: 0, after: 0 };
  readonly #parts = new Map<string, Record<Side, { sum: number; n: number }>>();
  readonly #verdicts = new Map<string, { before: string; after: string; groups: number }>();
  readonly #advantages = new Moments();
  readonly #size = { before: 0, after: 0 };
  readonly #largest = { before: 0, after: 0 };
  readonly #signs = { flipped: 0, silenced: 0, woken: 0 };
  readonly #turns: Partial<Record<Side, TurnTally>> = {};
  readonly #best = { groups: 0, flipped: 0 };

  add(group: LabGroup): void {
    this.#groups++;
    this.#episodes += group.members.length;
    for (const member of group.members) this.#addMember(member);
    if (group.lessons) {
      const { before, after } = group.lessons;
      const key = `${before.verdict} ${after.verdict}`;
      const cell = this.#verdicts.get(key);
      if (cell) cell.groups++;
      else this.#verdicts.set(key, { before: before.verdict, after: after.verdict, groups: 1 });
      for (const side of ["before", "after"] as const) this.#addTurns(side, group.lessons[side].turns);
    }
    for (const pair of advantagePairs(group)) this.#addAdvantage(pair);
    const flip = bestFlip(group);
    if (flip === undefined) return;
    this.#best.groups++;
    if (flip) this.#best.flipped++;
  }

  change(): Change {
    const mean = (sum: number, n: number) => (n === 0 ? null : sum / n);
    const { n } = this.#advantages;
    const perEpisode = (sum: number) => (n === 0 ? 0 : sum / n);
    return {
      groups: this.#groups,
      episodes: this.#episodes,
      reward: {
        before: mean(this.#reward.before, this.#episodes),
        after: mean(this.#reward.after, this.#episodes),
      },
      parts: Object.fromEntries(
        [...this.#parts].map(([name, { before, after }]) => [
          name,
          { before: mean(before.sum, before.n), after: mean(after.sum, after.n) },
        ]),
      ),
      otherAnswer: this.#otherAnswer,
      verdicts: [...this.#verdicts.values()].sort((a, b) => b.groups - a.groups),
      advantages: {
        episodes: n,
        correlation: this.#advantages.correlation,
        size: { before: perEpisode(this.#size.before), after: perEpisode(this.#size.after) },
        largest: { ...this.#largest },
        ...this.#signs,
      },
      ...(this.#turns.before || this.#turns.after ? { turnCredit: this.#turnCredit() } : {}),
      best: { ...this.#best },
    };
  }

  #turnCredit(): NonNullable<Change["turnCredit"]> {
    const shares = (of: (tally: TurnTally) => readonly [number, number]): Shift => {
      const share = (tally: TurnTally | undefined) => {
        const [sum, n] = tally ? of(tally) : [0, 0];
        return n === 0 ? null : sum / n;
      };
      return { before: share(this.#turns.before), after: share(this.#turns.after) };
    };
    return {
      mean: shares(({ credit, turns }) => [credit, turns]),
      flipped: shares(({ flipped, tokens }) => [flipped, tokens]),
    };
  }

  #addTurns(side: Side, more: TurnTally | undefined): void {
    if (!more) return;
    const { turns, credit, tokens, flipped } = this.#turns[side] ?? noTurns;
    this.#turns[side] = {
      turns: turns + more.turns,
      credit: credit + more.credit,
      tokens: tokens + more.tokens,
      flipped: flipped + more.flipped,
    };
  }

  #addMember({ before, after }: LabMember): void {
    if (before.prediction !== after.prediction) this.#otherAnswer++;
    for (const [side, { reward, parts }] of [
      ["before", before],
      ["after", after],
    ] as const) {
      this.#reward[side] += reward;
      for (const name in parts) {
        let sums = this.#parts.get(name);
        if (!sums) {
          sums = { before: { sum: 0, n: 0 }, after: { sum: 0, n: 0 } };
          this.#parts.set(name, sums);
        }
        sums[side].sum += parts[name] as number;
        sums[side].n++;
      }
    }
  }

  #addAdvantage([before, after]: readonly [number, number]): void {
    this.#advantages.add(before, after);
    this.#size.before += Math.abs(before);
    this.#size.after += Math.abs(after);
    this.#largest.before = Math.max(this.#largest.before, Math.abs(before));
    this.#largest.after = Math.max(this.#largest.after, Math.abs(after));
    const [was, is] = [sign(before), sign(after)];
    if (was * is < 0) this.#signs.flipped++;
    else if (was !== 0 && is === 0) this.#signs.silenced++;
    else if (was === 0 && is !== 0) this.#signs.woken++;
  }
}

const noTurns: TurnTally = { turns: 0, credit: 0, tokens: 0, flipped: 0 };

/** Rounding is no sign. */
const sign = (x: number) => (Math.abs(x) <= tolerance ? 0 : Math.sign(x));

/** Both advantages of each member, in order; none where neither reward learns from the group. */
export function advantagePairs({ members, lessons }: LabGroup): (readonly [number, number])[] {
  if (!lessons?.before.advantages && !lessons?.after.advantages) return [];
  const { before, after } = lessons;
  return members.map((_, i) => [before.advantages?.[i] ?? 0, after.advantages?.[i] ?? 0]);
}

/** Places of the members with the most reward. */
export function bestOf(group: LabGroup, side: Side): number[] {
  const rewards = marksOf(group, side).map(({ reward }) => reward);
  const most = Math.max(...rewards);
  return rewards.flatMap((reward, i) => (most - reward <= tolerance ? [i] : []));
}

/** Is none that was best still best? Undefined where all are equal under one of the two. */
export function bestFlip(group: LabGroup): boolean | undefined {
  for (const side of ["before", "after"] as const)
    if (spreadOf(marksOf(group, side).map(({ reward }) => reward)) <= tolerance) return undefined;
  const still = new Set(bestOf(group, "after"));
  return !bestOf(group, "before").some((i) => still.has(i));
}
