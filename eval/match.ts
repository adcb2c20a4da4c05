import { ConfigError, DataError } from "../core/errors.ts";
import { type EvaluationRef, findEvaluations, readEvaluation, type StoredEvaluation } from "./stored.ts";

/** Which evaluations of a folder are meant. */
export interface Wanted {
  readonly benchmark?: string | undefined;
  readonly mode?: "greedy" | "sampled" | undefined;
  /** Updates the policy has had; default: the last of each benchmark and mode. */
  readonly step?: number | undefined;
}

/** One evaluation for each benchmark and mode of a folder. @throws DataError, ConfigError when none is as wanted */
export function chosenEvaluations(path: string, { benchmark, mode, step }: Wanted): EvaluationRef[] {
  const all = findEvaluations(path);
  const fits = all.filter(
    (each) =>
      (benchmark === undefined || each.benchmark === benchmark) &&
      (mode === undefined || each.mode === mode) &&
      (step === undefined || each.step === step),
  );
  if (fits.length === 0)
    throw new ConfigError({
      what: "the folder has no such evaluation",
      where: path,
      got: [benchmark, mode, step === undefined ? undefined : `step ${step}`].filter(Boolean).join(", "),
      expected: `one of ${all.map((each) => `${keyOf(each)}, step ${each.step}`).join("; ")}`,
      next: "Name another with --benchmark, --mode or --step.",
    });
  const latest = new Map<string, EvaluationRef>();
  // In ascending order of steps: the last stays.
  for (const each of fits) latest.set(keyOf(each), each);
  return [...latest.values()];
}

const keyOf = ({ benchmark, mode }: EvaluationRef) => `${benchmark}, ${mode}`;

export interface Matched {
  readonly pairs: readonly (readonly [a: StoredEvaluation, b: StoredEvaluation])[];
  /** What has no counterpart, in words. */
  readonly alone: readonly string[];
}

/**
 * Pairs evaluations by benchmark and mode. One against one is a pair whatever they are called, so that a difference is
 * named rather than nothing found. Several benchmarks in one mode make one more pair, of all their questions.
 * @throws DataError when nothing matches
 */
export function matchEvaluations(
  a: { readonly path: string; readonly found: readonly EvaluationRef[] },
  b: { readonly path: string; readonly found: readonly EvaluationRef[] },
): Matched {
  const single = a.found.length === 1 && b.found.length === 1;
  const twin = (each: EvaluationRef, others: readonly EvaluationRef[]) =>
    single ? others[0] : others.find((other) => keyOf(other) === keyOf(each));
  const pairs = a.found.flatMap((each) => {
    const other = twin(each, b.found);
    return other ? [[readEvaluation(each), readEvaluation(other)] as const] : [];
  });
  if (pairs.length === 0)
    throw new DataError({
      what: "the two have no benchmark and mode in common",
      where: `${a.path} and ${b.path}`,
      got: [a, b].map(({ found }) => found.map(keyOf).join("; ")).join(" and "),
      next: "Compare evaluations of one benchmark in one mode.",
    });
  const alone = [
    ...a.found.filter((each) => !twin(each, b.found)).map((each) => `${keyOf(each)} in ${a.path} alone`),
    ...b.found.filter((each) => !twin(each, a.found)).map((each) => `${keyOf(each)} in ${b.path} alone`),
  ];
  const modes = [...new Set(pairs.map(([first]) => first.mode))];
  const pooled = modes.flatMap((mode) => {
    const own = pairs.filter(([first]) => first.mode === mode);
    return own.length < 2 ? [] : [[pool(own.map(([x]) => x)), pool(own.map(([, y]) => y))] as const];
  });
  return { pairs: [...pairs, ...pooled], alone };
}

/** The questions of several benchmarks as one; each benchmark is a data set. */
function pool(all: readonly StoredEvaluation[]): StoredEvaluation {
  const [first, ...others] = all as readonly [StoredEvaluation, ...StoredEvaluation[]];
  const valid = all.every((each) => each.valid !== false);
  let start = 0;
  const records = all.flatMap((each) => {
    const from = start;
    start += each.questions;
    return each.records.map((record) => ({
      ...record,
      id: `${each.benchmark} ${record.id}`,
      place: from + record.place,
      dataset: each.benchmark,
    }));
  });
  const { latency: _, ...rest } = first;
  // What the benchmarks do not share says nothing of the whole.
  const shared = Object.entries(first.manifest).filter(([key, value]) =>
    others.every((other) => other.manifest[key] === value),
  );
  return {
    ...rest,
    benchmark: `all ${all.length} benchmarks`,
    manifest: Object.fromEntries(shared),
    questions: start,
    samples: Math.min(...all.map(({ samples }) => samples)),
    records,
    valid,
  };
}
