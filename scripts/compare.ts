import { ConfigError } from "../core/errors.ts";
import { zip } from "../core/zip.ts";
import { type ComparedEvaluations, compareEvaluations } from "../eval/compare.ts";
import { showComparison, showSummary } from "../eval/compare-table.ts";
import { chosenEvaluations, matchEvaluations } from "../eval/match.ts";
import { defineCommand } from "./command.ts";

export const command = defineCommand({
  positionals: "<evaluations..>",
  examples: [
    ["forager compare runs/base runs/new", "two runs' last evaluations, question by question"],
    [
      "forager compare runs/new runs/new --base-step 0 --mode greedy",
      "a run's last evaluation against its first",
    ],
    [
      "forager compare evals/base-1f2e evals/x-77aa evals/y-90bc --metric f1",
      "several against the first, with Holm",
    ],
    ["forager compare runs/base runs/new --metric pass@8 --markdown", "as Markdown, for a note"],
  ],
  builder: (yargs) =>
    yargs
      .positional("evaluations", {
        type: "string",
        array: true,
        demandOption: true,
        describe:
          "run folders, folders that `forager eval` wrote, or single evaluations; the first is the base",
      })
      .option("benchmark", { type: "string", describe: "compare this one alone; default: all in common" })
      .option("mode", {
        choices: ["greedy", "sampled"] as const,
        describe: "default: both, each with its own kind",
      })
      .option("step", {
        type: "number",
        describe: "the evaluation after this many updates; default: the last",
      })
      .option("baseStep", { type: "number", describe: "the same, of the base alone" })
      .option("metric", {
        type: "string",
        default: "em",
        describe:
          "what is tested: em, f1, coverEm, judge, recall, turns, searches, cost, …, avg@K, pass@K, pass^K, maj@K, or a reward part",
      })
      .option("forceIntersection", {
        type: "boolean",
        default: false,
        describe: "when they asked different questions: compare those in common",
      })
      .option("markdown", { type: "boolean", default: false, describe: "Markdown in place of plain text" }),
  async run(args, output) {
    const { evaluations, benchmark, mode, step, metric, markdown } = args;
    const [base, ...others] = evaluations.map((path, i) => {
      const at = i === 0 ? (args.baseStep ?? step) : step;
      return { path, found: chosenEvaluations(path, { benchmark, mode, step: at }) };
    });
    if (!base || others.length === 0)
      throw new ConfigError({
        what: "one evaluation cannot be compared",
        expected: "two or more",
        next: "See `forager compare --help`.",
      });
    const pairs = others.flatMap((other, i) => {
      const { pairs, alone } = matchEvaluations(base, other);
      for (const each of alone) output.warn(`not compared: ${each}`);
      return pairs.map((pair) => ({ name: nameOf(i + 1), pair }));
    });
    const options = { metric, intersection: args.forceIntersection };
    const compared = compareEvaluations(
      pairs.map(({ pair }) => pair),
      options,
    );
    const named = zip(pairs, compared).map(([{ name }, each]) => ({ name, compared: each }));
    for (const { name, compared: each } of named) {
      warnOf(each, (text) => output.warn(text));
      output.event("comparison", { base: "A", other: name, ...each });
      output.print(showComparison(each, { markdown, names: ["A", name] }));
      if (each !== compared.at(-1)) output.print("\n");
    }
    if (named.length > 1) output.print(`\n${showSummary(named, markdown)}`);
    output.result({ metric, tests: compared.length, comparisons: compared });
  },
});

/** A, B, …, Z, then numbers. */
const nameOf = (i: number) => (i < 26 ? String.fromCharCode(65 + i) : `${i + 1}`);

/** What a reader must know before believing the numbers. */
function warnOf(
  { a, b, differ, questions, benchmark }: ComparedEvaluations,
  warn: (text: string) => void,
): void {
  const decoding = differ.filter(({ key }) => ["temperature", "topP", "topK", "seed"].includes(key));
  if (decoding.length > 0)
    warn(
      `${benchmark}: decoding differs (${decoding.map(({ key, a, b }) => `${key} ${a} and ${b}`).join(", ")}); the difference is not the policy's alone`,
    );
  const silent = differ.filter(
    ({ key, a, b }) => ["normalizer", "extraction", "judge"].includes(key) && !(a && b),
  );
  for (const { key } of silent)
    warn(`${benchmark}: one of the two does not say its ${key}; they may differ in it`);
  if (a.samples !== b.samples)
    warn(
      `${benchmark}: ${a.samples} and ${b.samples} samples a question; their means compare, their pass@k do not`,
    );
  const shared = questions.compared + questions.withoutValue;
  if (questions.onlyA + questions.onlyB > 0)
    warn(
      `${benchmark}: ${shared} questions in common; ${questions.onlyA} and ${questions.onlyB} asked in one alone are left out`,
    );
  if (questions.withoutValue > 0.05 * shared)
    warn(`${benchmark}: ${questions.withoutValue} of ${shared} questions have no value in one of the two`);
}
