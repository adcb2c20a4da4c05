import { advantagePairs, bestFlip, bestOf } from "./lab-change.ts";
import type { Both, LabGroup, LabMember } from "./lab-group.ts";

/** Which episode, and what was asked. */
interface Place {
  readonly step: number;
  readonly group: number;
  readonly taskId: string;
  readonly question: string;
  readonly goldenAnswers: readonly string[];
}

/** An episode whose advantage moves. */
export interface MovedAdvantage extends Place {
  readonly member: number;
  readonly prediction: Both<string | null>;
  readonly reward: Both<number>;
  readonly advantage: Both<number>;
  readonly verdict: Both<string>;
}

/** A group in which another member is best. */
export interface BestFlip extends Place {
  /** The best member under each reward, with both its rewards. */
  readonly best: Both<{ readonly member: number; readonly prediction: string | null } & Both<number>>;
}

/** The episodes whose advantages move most. Keeps `size` of them. */
export class LargestMoves {
  readonly #top: Top<MovedAdvantage>;

  constructor(size: number) {
    this.#top = new Top(size);
  }

  add(group: LabGroup): void {
    advantagePairs(group).forEach(([before, after], i) => {
      const size = Math.abs(after - before);
      if (size <= 1e-6 || !this.#top.wants(size)) return;
      const member = group.members[i] as LabMember;
      const { before: was, after: is } = group.lessons!;
      this.#top.put(size, {
        ...placeOf(group),
        member: member.member,
        prediction: { before: member.before.prediction ?? null, after: member.after.prediction ?? null },
        reward: { before: member.before.reward, after: member.after.reward },
        advantage: { before, after },
        verdict: { before: was.verdict, after: is.verdict },
      });
    });
  }

  list(): MovedAdvantage[] {
    return this.#top.list();
  }
}

/** The groups whose best member is another by the widest margin. Keeps `size` of them. */
export class WidestFlips {
  readonly #top: Top<BestFlip>;

  constructor(size: number) {
    this.#top = new Top(size);
  }

  add(group: LabGroup): void {
    if (!bestFlip(group)) return;
    const [was, is] = [bestOf(group, "before")[0], bestOf(group, "after")[0]].map(
      (i) => group.members[i as number] as LabMember,
    ) as [LabMember, LabMember];
    const margin = was.before.reward - is.before.reward + is.after.reward - was.after.reward;
    if (!this.#top.wants(margin)) return;
    const told = ({ member, before, after }: LabMember, prediction: string | undefined) => ({
      member,
      prediction: prediction ?? null,
      before: before.reward,
      after: after.reward,
    });
    this.#top.put(margin, {
      ...placeOf(group),
      best: { before: told(was, was.before.prediction), after: told(is, is.after.prediction) },
    });
  }

  list(): BestFlip[] {
    return this.#top.list();
  }
}

const placeOf = ({ step, group, taskId, question, goldenAnswers }: LabGroup): Place => ({
  ...{ step, group, taskId, question, goldenAnswers },
});

/** The largest few of many; of equals the first. */
class Top<T> {
  readonly #size: number;
  readonly #kept: { readonly weight: number; readonly value: T }[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  wants(weight: number): boolean {
    return this.#kept.length < this.#size || weight > (this.#kept.at(-1)?.weight ?? Number.POSITIVE_INFINITY);
  }

  put(weight: number, value: T): void {
    const at = this.#kept.findIndex((each) => weight > each.weight);
    this.#kept.splice(at < 0 ? this.#kept.length : at, 0, { weight, value });
    if (this.#kept.length > this.#size) this.#kept.pop();
  }

  list(): T[] {
    return this.#kept.map(({ value }) => value);
  }
}
