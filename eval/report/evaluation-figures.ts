import type { EvalResult } from "../evaluate.ts";
import type { Rate } from "../wilson.ts";
import type { Curve, Figure, Point } from "./report.ts";
import type { StoredEvaluation } from "./stored-evaluations.ts";

export const hopsWord = (hops: string): string => (hops === "1" ? "1 hop" : `${hops} hops`);

/** Most benchmarks and modes in one chart: more could not be told apart. */
const mostSeries = 6;

/** Exact match over the steps, in training and in evaluations, overall and by hops. */
export function answerFigures(
  evaluations: readonly StoredEvaluation[],
  training: { readonly all: readonly Curve[]; readonly byHops: readonly Curve[] },
): Figure[] {
  const results = evaluations.map(({ result }) => result);
  const share = { section: "answers", range: "share", form: "curves" } as const;
  return [
    ...chunks(series(results), mostSeries).map(
      (some, i): Figure => ({
        ...{ id: i === 0 ? "exact-match" : `exact-match-${i + 1}`, title: "Exact match", ...share },
        caption:
          "Line: episodes of training, sampled, on the questions of that step, before its update. Points: evaluations after so many updates. 95 % Wilson intervals, the question as the unit.",
        curves: [...training.all, ...some.map(([name, own]) => curve(name, own, (result) => result))],
      }),
    ),
    ...series(results).map(([name, some], i): Figure => {
      const hops = [...new Set(some.flatMap(({ byHops }) => Object.keys(byHops)))].sort((a, b) => +a - +b);
      return {
        ...{ id: `exact-match-by-hops-${i}`, title: `By hops: ${name}`, ...share },
        caption: "Evaluations after so many updates, 95 % Wilson intervals.",
        curves: hops.map((h) => curve(hopsWord(h), some, ({ byHops }) => byHops[h])),
      };
    }),
    {
      ...{ id: "exact-match-by-hops-training", title: "By hops: training", ...share },
      caption:
        "Episodes of training, by the hops of their questions. Bands are 95 % Wilson intervals with the question as the unit; a step with fewer than two such questions has none.",
      curves: training.byHops,
    },
  ];
}

/** At least one, which may be empty. */
const chunks = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.max(1, Math.ceil(list.length / size)) }, (_, i) =>
    list.slice(i * size, (i + 1) * size),
  );

/** Searches by hops at each evaluation of the first benchmark and mode. */
export function searchPoints(evaluations: readonly StoredEvaluation[]): Curve[] {
  const first = evaluations[0]?.result;
  if (!first) return [];
  const some = evaluations.filter(({ result }) => seriesName(result) === seriesName(first));
  const hops = [...new Set(some.flatMap(({ searchesByHops }) => [...searchesByHops.keys()]))].sort(
    (a, b) => a - b,
  );
  return hops.map((h) => ({
    name: `${hopsWord(String(h))}, ${seriesName(first)}`,
    kind: "points",
    like: hopsWord(String(h)),
    points: some.flatMap(({ result, searchesByHops }): Point[] => {
      const found = searchesByHops.get(h);
      return found ? [{ ...found, step: result.step }] : [];
    }),
  }));
}

export const seriesName = ({ benchmark, mode }: Pick<EvalResult, "benchmark" | "mode">): string =>
  `${benchmark}, ${mode}`;

/** Results that can be compared over steps: the same benchmark and mode, by step. */
export function series(results: readonly EvalResult[]): [name: string, results: EvalResult[]][] {
  const groups = new Map<string, EvalResult[]>();
  for (const result of results) {
    const known = groups.get(seriesName(result));
    if (known) known.push(result);
    else groups.set(seriesName(result), [result]);
  }
  return [...groups].map(([name, some]) => [name, some.sort((a, b) => a.step - b.step)]);
}

/** The modes of each benchmark side by side, each as it was last measured. */
export function latest(results: readonly EvalResult[]): EvalResult[][] {
  const last = series(results).flatMap(([, some]) => some.at(-1) ?? []);
  const names = [...new Set(last.map(({ benchmark }) => benchmark))];
  return names.map((name) => last.filter(({ benchmark }) => benchmark === name));
}

function curve(
  name: string,
  results: readonly EvalResult[],
  pick: (result: EvalResult) => Rate | undefined,
): Curve {
  const points = results.flatMap((result): Point[] => {
    const rate = pick(result);
    if (!rate || rate.n === 0 || !result.valid) return [];
    const { em: value, low, high, n } = rate;
    return [{ step: result.step, value, low, high, n }];
  });
  return { name, kind: "points", points };
}
