import { mean, variance } from "simple-statistics";
import { InvariantError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import { incompleteBeta, tQuantile } from "./distributions.ts";
import { pairedDifference } from "./paired.ts";
import type { Interval } from "./wilson.ts";

/** Differences of two cells, over seeds and questions. */
export interface SeededDifference extends Interval {
  readonly difference: number;
  /** Two-sided, of no difference. */
  readonly p: number;
  /** Mean difference of each seed, in their order. */
  readonly bySeed: readonly number[];
  /** What the interval and the test allow for: other seeds and other questions, or other questions alone. */
  readonly over: "seeds" | "questions";
}

/**
 * The mean of differences d[seed][question] with what other seeds and other questions would give.
 *
 * The variance of the mean is bootstrapped: seeds' means and questions' means are drawn with replacement (each stretched
 * by √(n/(n−1)), which a resample is short of), less what both count (the interaction), and never below either. The
 * interval and the p value are Student's t with Satterthwaite's degrees of freedom, since percentiles of three seeds reach
 * no further than the largest of three. With one seed it is the paired comparison of questions: nothing is then said of
 * training again.
 * @param o.unit the differences are of numbers in [0, 1]: even no change at all then has an interval
 */
export function seededDifference(
  d: readonly (readonly number[])[],
  o: { readonly seed: number; readonly unit?: boolean; readonly resamples?: number },
): SeededDifference {
  const [seeds, questions] = [d.length, d[0]?.length ?? 0];
  if (questions === 0 || d.some((row) => row.length !== questions))
    throw new InvariantError({ what: "not a table of seeds by questions", got: `${seeds} × ${questions}` });
  const bySeed = d.map((row) => mean([...row]));
  const byQuestion = (d[0] as readonly number[]).map((_, q) => mean(d.map((row) => row[q] as number)));
  const difference = mean(bySeed);
  const shared = { difference, bySeed };
  const spread = seeds > 1 && questions > 1 && [bySeed, byQuestion].some((each) => variance(each) > 1e-24);
  if (!spread) {
    const zeros = byQuestion.map(() => 0);
    const paired = pairedDifference(zeros, byQuestion, {
      seed: o.seed,
      unit: o.unit === true && difference === 0,
    });
    const { low, high } = paired;
    return { ...shared, low, high, p: paired.signFlip, over: "questions" };
  }
  const [ofSeeds, ofQuestions] = [bootstrapVariance(bySeed, o), bootstrapVariance(byQuestion, o)];
  const rest = d.flatMap((row, s) =>
    row.map((value, q) => value - (bySeed[s] as number) - (byQuestion[q] as number) + difference),
  );
  const freedom = (seeds - 1) * (questions - 1);
  const ofBoth = rest.reduce((sum, value) => sum + value * value, 0) / freedom / (seeds * questions);
  const total = Math.max(ofSeeds, ofQuestions, ofSeeds + ofQuestions - ofBoth);
  const df =
    total ** 2 / (ofSeeds ** 2 / (seeds - 1) + ofQuestions ** 2 / (questions - 1) + ofBoth ** 2 / freedom);
  const half = tQuantile(0.975, df) * Math.sqrt(total);
  const t = difference / Math.sqrt(total);
  return {
    ...shared,
    low: difference - half,
    high: difference + half,
    p: incompleteBeta(df / (df + t * t), df / 2, 0.5),
    over: "seeds",
  };
}

/** Variance of the mean, from resamples that are stretched to be right on average. */
function bootstrapVariance(
  values: readonly number[],
  { seed, resamples = 2000 }: { readonly seed: number; readonly resamples?: number },
): number {
  const n = values.length;
  const draw = rng(seed, "bootstrap of seeds and questions", n, resamples);
  const centre = mean([...values]);
  let squares = 0;
  for (let i = 0; i < resamples; i++) {
    let sum = 0;
    for (let j = 0; j < n; j++) sum += (values[draw.int(n)] as number) - centre;
    squares += (sum / n) ** 2;
  }
  return (squares / resamples) * (n / (n - 1));
}
