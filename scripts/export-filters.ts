import type { Argv } from "yargs";
import type { Config } from "../configs/schema.ts";
import { type LoadedTasks, readTasks } from "../datasets/jsonl.ts";
import { loadBenchmark } from "../datasets/load.ts";
import { OverlapSet } from "../datasets/overlap.ts";
import type { OwnDatasets } from "../datasets/own.ts";
import { normalizerOf } from "../reward/normalize.ts";
import type { Filters } from "../track/export/filters.ts";

/** Options of all exports. */
export function withFilters<T>(yargs: Argv<T>) {
  return yargs
    .positional("run", {
      type: "string",
      demandOption: true,
      describe: "a run folder, also of a run that goes on",
    })
    .option("out", {
      type: "string",
      describe: "file to write, new; default: in the run's exports/, where the last one is replaced",
    })
    .option("dryRun", { type: "boolean", default: false, describe: "count, and write nothing" })
    .option("minReward", { type: "number", describe: "least reward of an episode (dpo: of the chosen)" })
    .option("maxReward", { type: "number", describe: "most reward of an episode (dpo: of the rejected)" })
    .option("outcome", { type: "string", array: true, describe: "keep these outcomes, e.g. answered" })
    .option("maxTokens", { type: "number", describe: "leave out longer episodes" })
    .option("perQuestion", {
      type: "number",
      describe: "most rows of one question: the best, then the latest",
    })
    .option("dedupe", {
      type: "boolean",
      default: false,
      describe: "leave out episodes that repeat another's words",
    })
    .option("fromStep", { type: "number", describe: "first step to export" })
    .option("toStep", { type: "number", describe: "last step to export" })
    .option("kept", { type: "boolean", default: false, describe: "only groups that the run trained on" })
    .option("excludeBenchmarks", {
      type: "boolean",
      default: false,
      describe:
        "leave out questions that the run's own benchmarks ask: the same, or near with a common answer",
    })
    .option("exclude", {
      type: "string",
      array: true,

      describe:
        "leave out questions that this file asks (JSONL, Parquet), such as a benchmark; may be repeated",
    });
}

export type FilterArguments = ReturnType<typeof withFilters> extends Argv<infer T> ? T : never;

/** The options as filters; benchmarks are read. */
export async function filtersOf(
  args: FilterArguments,
  config: Config,
  datasets: OwnDatasets | undefined,
): Promise<Filters> {
  return {
    minReward: args.minReward,
    maxReward: args.maxReward,
    outcomes: args.outcome,
    maxTokens: args.maxTokens,
    perQuestion: args.perQuestion,
    dedupe: args.dedupe,
    fromStep: args.fromStep,
    toStep: args.toStep,
    keptOnly: args.kept,
    inBenchmark: await benchmarkQuestions(args, config, datasets),
  };
}

async function benchmarkQuestions(
  { exclude = [], excludeBenchmarks }: FilterArguments,
  config: Config,
  datasets: OwnDatasets | undefined,
): Promise<Filters["inBenchmark"]> {
  if (exclude.length === 0 && !excludeBenchmarks) return undefined;
  const { normalize } = normalizerOf(config.reward.normalizer);
  const loaded: LoadedTasks[] = [];
  for (const path of exclude) loaded.push(await readTasks({ path, normalize }));
  if (excludeBenchmarks)
    for (const { source } of config.eval.benchmarks)
      loaded.push(await loadBenchmark(source, normalize, datasets));
  const asked = new OverlapSet(
    loaded.flatMap(({ tasks }) => tasks),
    { near: nearTwin, normalize },
  );
  const known = new Map<string, boolean>();
  return ({ taskId, question, goldenAnswers }) => {
    const earlier = known.get(question);
    if (earlier !== undefined) return earlier;
    const task = { id: taskId, question, goldenAnswers, dataset: "", hops: 1 };
    // Near without a common answer is often a template filled in anew.
    const found = asked.twins(task).some(({ kind, sameAnswer }) => kind !== "near" || sameAnswer);
    known.set(question, found);
    return found;
  };
}

/** Share of common words from which questions with a common answer are one. */
const nearTwin = 0.8;
