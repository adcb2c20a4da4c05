import { goldOf, scoreAnswer } from "./answers.ts";
import { type Normalizer, normalizers } from "./normalize.ts";

/** Means under one normaliser. */
export interface NormalizedTotals {
  /** Records with a gold answer that this normaliser leaves something of. */
  readonly n: number;
  readonly em: number;
  readonly f1: number;
  readonly coverEm: number;
}

/** Scores answers under every normaliser of the registry at once, so that one reading of a file gives them all. */
export class AllNormalizers {
  readonly #sums = Object.values<Normalizer>(normalizers).map((normalizer) => ({
    normalizer,
    ...{ n: 0, em: 0, f1: 0, coverEm: 0 },
  }));

  add(prediction: string | undefined, goldenAnswers: readonly string[]): void {
    for (const sums of this.#sums) {
      const gold = goldOf(goldenAnswers, sums.normalizer);
      if (gold.answers.length === 0) continue;
      const scores = scoreAnswer(prediction, gold, sums.normalizer);
      sums.n++;
      sums.em += scores.em;
      sums.f1 += scores.f1;
      sums.coverEm += scores.coverEm;
    }
  }

  /** By id and version, e.g. "squad@1"; means are 0 without records. */
  totals(): Record<string, NormalizedTotals> {
    return Object.fromEntries(
      this.#sums.map(({ normalizer: { id, version }, n, em, f1, coverEm }) => {
        const mean = (sum: number) => (n === 0 ? 0 : sum / n);
        return [`${id}@${version}`, { n, em: mean(em), f1: mean(f1), coverEm: mean(coverEm) }];
      }),
    );
  }
}
