import type { EvalRecord } from "../record.ts";
import type { Example, Flips, ShownEpisode } from "./report.ts";

type Shown = Example["episodes"][number];

/**
 * The questions of two evaluations by whether they were right; absent where a question has several samples, which have
 * no one verdict.
 */
export function flipsOf(before: readonly EvalRecord[], after: readonly EvalRecord[]): Flips | undefined {
  if ([...before, ...after].some(({ sample }) => sample > 0)) return undefined;
  const counts = { gained: 0, lost: 0, bothRight: 0, bothWrong: 0 };
  for (const [was, is] of pairs(before, after)) {
    if (right(is)) counts[right(was) ? "bothRight" : "gained"]++;
    else counts[right(was) ? "lost" : "bothWrong"]++;
  }
  return counts;
}

/** One question before and after: if there is one, a question that became right, the one of most hops, then the first. */
export function beforeAndAfter(
  before: { readonly label: string; readonly records: readonly EvalRecord[] },
  after: { readonly label: string; readonly records: readonly EvalRecord[] },
): Example | undefined {
  const all = pairs(before.records, after.records);
  const changed = [
    [
      "one that became right, of those with most hops the first",
      all.filter(([b, a]) => !right(b) && right(a)),
    ],
    ["none became right; one that became wrong", all.filter(([b, a]) => right(b) && !right(a))],
    ["none changed; one of those with most hops, the first", all],
  ] as const;
  for (const [chosen, some] of changed) {
    const [pair] = some.toSorted(([a], [b]) => b.hops - a.hops || a.place - b.place);
    if (pair)
      return {
        title: "One question before and after",
        chosen: `Chosen by rule: ${chosen}.`,
        episodes: [shown(pair[0], before.label), shown(pair[1], after.label)],
      };
  }
  return undefined;
}

/** One episode that was right and one that was wrong, of those with most hops the first. */
export function rightAndWrong(records: readonly EvalRecord[]): Example | undefined {
  const order = records
    .filter(({ valid }) => valid)
    .sort((a, b) => b.hops - a.hops || a.place - b.place || a.sample - b.sample);
  const episodes = [order.find(right), order.find((record) => !right(record))].flatMap((record) =>
    record ? [shown(record, right(record) ? "a right answer" : "a wrong answer")] : [],
  );
  if (episodes.length === 0) return undefined;
  return {
    title: episodes.length === 2 ? "A right answer and a wrong one" : "An episode",
    chosen: "Chosen by rule: of the questions with most hops the first of each kind.",
    episodes,
  };
}

/** Valid episodes of both, by question and sample. */
function pairs(before: readonly EvalRecord[], after: readonly EvalRecord[]): [EvalRecord, EvalRecord][] {
  const key = ({ id, sample }: EvalRecord) => `${sample} ${id}`;
  const later = new Map(after.filter(({ valid }) => valid).map((record) => [key(record), record]));
  return before.flatMap((record) => {
    const now = later.get(key(record));
    return record.valid && now ? [[record, now] as [EvalRecord, EvalRecord]] : [];
  });
}

const right = ({ em }: EvalRecord) => em === 1;

function shown(record: EvalRecord, label: string): Shown {
  const { question, goldenAnswers, outcome, prediction, turns, searches, segments } = record;
  const episode: ShownEpisode = {
    label,
    right: right(record),
    outcome,
    prediction,
    turns,
    searches,
    segments,
  };
  return { ...episode, question, goldenAnswers };
}
