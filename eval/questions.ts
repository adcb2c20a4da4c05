import type { EvalRecord } from "./record.ts";

/** One question of an evaluation with its valid samples: the unit of every mean and interval. */
export interface AskedQuestion {
  readonly id: string;
  readonly place: number;
  readonly hops: number;
  readonly dataset: string;
  /** At least one, by sample number. */
  readonly samples: readonly EvalRecord[];
}

/** Questions with at least one valid episode, in the recorded order. Episodes that infrastructure broke are in none. */
export function askedQuestions(records: readonly EvalRecord[]): AskedQuestion[] {
  const groups = new Map<string, EvalRecord[]>();
  for (const record of records) {
    if (!record.valid) continue;
    const group = groups.get(record.id);
    if (group) group.push(record);
    else groups.set(record.id, [record]);
  }
  return [...groups.values()]
    .map((samples) => {
      const { id, place, hops, dataset } = samples[0] as EvalRecord;
      return { id, place, hops, dataset, samples: samples.sort((a, b) => a.sample - b.sample) };
    })
    .sort((a, b) => a.place - b.place);
}
