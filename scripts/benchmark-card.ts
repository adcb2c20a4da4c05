import type { Config } from "../configs/schema.ts";
import { ConfigError, DataError } from "../core/errors.ts";
import { benchmarkOrder, inOrder, orderChecksum } from "../datasets/benchmark.ts";
import type { Task } from "../datasets/task.ts";
import type { BenchmarkRow } from "../eval/config.ts";
import { normalizerOf } from "../reward/normalize.ts";

/** How a benchmark's `sampled` episodes are drawn. */
export interface BenchmarkCard {
  readonly seed: number;
  readonly samples: number;
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
}

/** What a benchmark says of itself, and `eval` for the rest. */
export function cardOf({ eval: e }: Config, row: BenchmarkRow): BenchmarkCard {
  return {
    seed: row.seed ?? e.seed,
    samples: row.samples ?? e.samples,
    temperature: row.temperature ?? e.temperature,
    topP: row.topP ?? e.topP,
    topK: row.topK ?? e.topK,
  };
}

/**
 * The questions that are asked: the first `limit` in the seeded, stratified order.
 * @throws ConfigError when `limit` is larger than the benchmark; DataError for two questions with one id, or when what
 * the benchmark pins is not what the config has
 */
export function firstQuestions(
  config: Config,
  { name, limit, pins = {} }: BenchmarkRow,
  tasks: readonly Task[],
  seed: number,
): readonly Task[] {
  if (limit !== undefined && limit > tasks.length)
    throw new ConfigError({
      what: `benchmark \`${name}\` is smaller than its limit`,
      where: "eval.benchmarks, limit",
      got: `${limit}`,
      expected: `at most ${tasks.length}, the questions that it has`,
      next: "Lower `limit`, or leave it out to ask every question.",
    });
  const order = benchmarkOrder(tasks, seed);
  const { id, version } = normalizerOf(config.reward.normalizer);
  checkPin(name, "scorer", pins.scorer, `${id}@${version}`);
  checkPin(name, "questions", pins.questions, tasks.length);
  checkPin(name, "order", pins.order, orderChecksum(order));
  return inOrder(tasks, order.slice(0, limit));
}

/** @throws DataError when a benchmark pins another index than the one that is searched */
export function checkIndexPin({ eval: { benchmarks } }: Config, name: string, version: string): void {
  checkPin(name, "index", benchmarks.find((row) => row.name === name)?.pins?.index, version);
}

/** What a pin holds fast, for people. */
const pinWords = {
  scorer: "scorer",
  questions: "number of questions",
  order: "order",
  index: "index",
};

function checkPin(
  name: string,
  key: keyof typeof pinWords,
  pinned: string | number | undefined,
  actual: string | number,
): void {
  if (pinned === undefined || pinned === actual) return;
  throw new DataError({
    what: `benchmark \`${name}\` pins another ${pinWords[key]}`,
    where: `eval.benchmarks, pins.${key}`,
    got: `${actual}`,
    expected: `${pinned}`,
    next: "Numbers under another would not compare: use what is pinned, or take the pin out.",
  });
}
