import { loadConfig } from "../configs/load-config.ts";
import type { Config } from "../configs/schema.ts";
import { ConfigError, ForagerError } from "../core/errors.ts";
import { benchmarkOrder, orderChecksum } from "../datasets/benchmark.ts";
import { describeDropped, type LoadedTasks } from "../datasets/jsonl.ts";
import { type LoadedSource, loadBenchmark, loadSource } from "../datasets/load.ts";
import type { Twin } from "../datasets/overlap.ts";
import {
  countRepeats,
  type OverlapReport,
  overlapWithin,
  overlapWithTraining,
} from "../datasets/overlap-report.ts";
import type { Task } from "../datasets/task.ts";
import { normalizerOf } from "../reward/normalize.ts";
import { cardOf, firstQuestions } from "./benchmark-card.ts";
import { defineCommand } from "./command.ts";
import { findGoldPassages, type GoldPassages } from "./gold-passages.ts";
import type { Output } from "./output.ts";
import { withConfig } from "./with-config.ts";

/** One set of questions that a config names, and what was left out of it. */
interface QuestionSet {
  readonly name: string;
  readonly tasks: readonly Task[];
  readonly loaded: LoadedTasks;
  /** Of a benchmark: checksum of its whole order, for `pins`. */
  readonly order?: number;
}

export const command = defineCommand({
  positionals: "<config> [overrides..]",
  examples: [
    [
      "forager data check my.yaml",
      "duplicates, train/test overlap, unusable gold answers, missing gold passages",
    ],
    ["forager data check my.yaml --near 0.9 --strict", "fails when a benchmark's question is in training"],
  ],
  builder: (yargs) =>
    withConfig(yargs)
      .option("near", {
        type: "number",
        default: 0.8,
        describe: "least share of words in common (Jaccard) of two near questions, above 0 up to 1",
      })
      .option("examples", { type: "number", default: 5, describe: "examples shown of each finding" })
      .option("strict", {
        type: "boolean",
        default: false,
        describe: "exit 1 when training holds a question of a benchmark, word for word or with its answer",
      }),
  async run({ config: path, overrides, near, examples, strict }, output, signal, extensions) {
    checkOptions(near, examples);
    const { config } = loadConfig(path, overrides);
    const { id, version, normalize } = normalizerOf(config.reward.normalizer);
    const scorer = `${id}@${version}`;
    const source = await loadSource(config.data.train, config.run.seed, normalize, extensions?.datasets);
    const training = trainingSet(config, source);
    const benchmarks: QuestionSet[] = [];
    for (const row of config.eval.benchmarks) {
      const loaded = await loadBenchmark(row.source, normalize, extensions?.datasets);
      const { seed } = cardOf(config, row);
      const tasks = firstQuestions(config, row, loaded.tasks, seed);
      const order = orderChecksum(benchmarkOrder(loaded.tasks, seed));
      benchmarks.push({ name: row.name, tasks, loaded, order });
    }
    const sets = [training, ...benchmarks];
    const gold = await goldOf(config, sets, examples, output);
    tellSet(output, "training", training, gold?.[0]);
    const repeats = countRepeats(training.tasks);
    if (repeats > 0) output.print(`  ${repeats} questions in the words of an earlier one`);
    const options = { near, normalize };
    const reports = [];
    for (const [i, set] of benchmarks.entries()) {
      signal.throwIfAborted();
      const within = overlapWithin(set.tasks, options, examples);
      const inTraining = overlapWithTraining(set.tasks, training.tasks, options, examples);
      const passages = gold?.[i + 1];
      tellSet(output, `benchmark ${set.name}`, set, passages);
      output.print(
        `  pins: { questions: ${set.loaded.tasks.length}, order: ${set.order}, scorer: ${scorer} }`,
      );
      tellOverlap(output, "like another of the benchmark", within);
      tellOverlap(output, "like one of training", inTraining);
      const report = { ...factsOf(set, passages), within: plain(within), inTraining: plain(inTraining) };
      output.event("benchmark", report);
      reports.push(report);
    }
    if (!gold && !source.world && !source.family)
      output.line("\ngold passages were not looked up: the config names no `search.corpus`");
    const leaks = reports.filter(({ inTraining: { counts } }) => leaked(counts));
    if (strict && leaks.length > 0)
      throw new ForagerError({
        what: "training holds questions of a benchmark",
        where: leaks.map(({ name }) => name).join(", "),
        next: "Take them out of the training file, or leave --strict out.",
      });
    output.result({
      near,
      scorer,
      training: { ...factsOf(training, gold?.[0]), repeats },
      benchmarks: reports,
    });
  },
});

const leaked = ({ exact, normalised, sameAnswer }: OverlapReport["counts"]) =>
  exact + normalised + sameAnswer > 0;

function checkOptions(near: number, examples: number): void {
  if (!(near > 0 && near <= 1))
    throw new ConfigError({ what: "--near is wrong", got: `${near}`, expected: "a number above 0 up to 1" });
  if (!Number.isSafeInteger(examples) || examples < 0)
    throw new ConfigError({
      what: "--examples is wrong",
      got: `${examples}`,
      expected: "a whole number of 0 or more",
    });
}

/** The file's questions, or all that the run would draw from an endless source before any refill. */
function trainingSet({ rl, rollout }: Config, { source, loaded }: LoadedSource): QuestionSet {
  if (loaded) return { name: "training", tasks: loaded.tasks, loaded };
  const drawn = new Map<string, Task>();
  for (let step = 0; step < rl.steps; step++)
    for (const task of source.batch(step, rollout.tasksPerStep)) drawn.set(task.id, task);
  const tasks = [...drawn.values()];
  return { name: "training", tasks, loaded: { tasks, dropped: [], droppedAliases: [] } };
}

async function goldOf(
  { search }: Config,
  sets: readonly QuestionSet[],
  examples: number,
  output: Output,
): Promise<GoldPassages[] | undefined> {
  if (search.corpus === undefined) return undefined;
  const bar = output.progress("reading the corpus");
  const onPassage = () => bar.tick();
  const tasks = sets.map((set) => set.tasks);
  const found = await findGoldPassages(search.corpus, tasks, { examples, onPassage });
  bar.done();
  return found;
}

function tellSet(output: Output, title: string, { tasks, loaded }: QuestionSet, gold?: GoldPassages): void {
  const sizes = new Map<string, number>();
  for (const { dataset } of tasks) sizes.set(dataset, (sizes.get(dataset) ?? 0) + 1);
  const names = [...sizes].map(([name, size]) => `${name} ${size}`).join(", ");
  output.print(`\n${title}: ${tasks.length} questions${tasks.length > 0 ? ` (${names})` : ""}`);
  const dropped = describeDropped(loaded);
  if (dropped) output.print(`  ${dropped}`);
  if (!gold || gold.named === 0) return;
  output.print(
    `  gold passages: ${gold.named} named by ${gold.questions} questions, ${gold.missing} missing in the corpus`,
  );
  for (const { id, missing } of gold.examples) output.print(`    ${id} misses ${missing.join(", ")}`);
}

function tellOverlap(output: Output, what: string, { counts, examples }: OverlapReport): void {
  const { exact, normalised, near, sameAnswer } = counts;
  output.print(
    `  ${exact + normalised + near} questions ${what}: ${exact} exact, ${normalised} normalised, ${near} near; ${sameAnswer} with the same answer`,
  );
  for (const { kind, similarity, task, other, sameAnswer: same } of examples)
    output.print(
      [
        `    ${kind} ${similarity.toFixed(2)}, ${same ? "same answer" : "another answer"}`,
        `      ${task.id}: ${task.question}`,
        `      ${other.id}: ${other.question}`,
      ].join("\n"),
    );
}

function factsOf({ name, tasks, loaded, order }: QuestionSet, gold: GoldPassages | undefined) {
  const nothing = loaded.dropped.filter(({ reason }) => reason === "every gold answer normalises to nothing");
  return {
    name,
    questions: tasks.length,
    ...(order === undefined ? {} : { whole: loaded.tasks.length, order }),
    dropped: loaded.dropped,
    goldNormalisesToNothing: { questions: nothing.length, aliases: loaded.droppedAliases.length },
    ...(gold ? { goldPassages: gold } : {}),
  };
}

const plain = ({ counts, examples }: OverlapReport) => ({ counts, examples: examples.map(plainTwin) });
const plainTwin = ({ kind, similarity, sameAnswer, task, other }: Twin) => ({
  ...{ kind, similarity, sameAnswer },
  ...{ id: task.id, question: task.question, otherId: other.id, otherQuestion: other.question },
});
