import { episodeFormats } from "../datasets/episodes/formats.ts";
import { wilson } from "../eval/wilson.ts";
import { extractionNames } from "../reward/extract.ts";
import { normalizerIds, normalizerOf } from "../reward/normalize.ts";
import { scoreFile } from "../reward/score-file.ts";
import { defineCommand } from "./command.ts";

export const command = defineCommand({
  positionals: "<file>",
  examples: [
    ["forager score predictions.jsonl", "EM, F1 and cover EM of {id, prediction, goldenAnswers}, one a line"],
    [
      "forager score runs/x/evals/test-50-greedy/records.jsonl --json",
      "of recorded episodes, each record too",
    ],
    ["forager score hotpotqa_qwen.jsonl.gz --format r1-searcher", "of another project's trajectories"],
  ],
  builder: (yargs) =>
    yargs
      .positional("file", {
        type: "string",
        demandOption: true,
        describe: "JSONL or JSONL.gz of {id, prediction, goldenAnswers}, or of trajectories",
      })
      .option("normalizer", {
        type: "string",
        choices: normalizerIds,
        default: "squad",
        describe: "what makes answers comparable",
      })
      .option("format", {
        choices: episodeFormats,
        describe: "what the records are; default: told from the first one",
      })
      .option("extraction", {
        choices: extractionNames,
        default: "last" as const,
        describe: "which of a trajectory's answers is judged",
      }),
  async run({ file, normalizer, format, extraction }, output, signal) {
    const bar = output.progress("scoring");
    const totals = await scoreFile(file, {
      normalizer: normalizerOf(normalizer),
      extraction,
      format,
      signal,
      onRecord(record) {
        output.event("record", { ...record });
        bar.tick();
      },
    });
    bar.done();
    const { n, em, f1, coverEm } = totals;
    const { low, high } = wilson(Math.round(em * n), n);
    const decimal = (value: number) => value.toFixed(4);
    output.line(
      `EM        ${decimal(em)}  95 % [${decimal(low)}, ${decimal(high)}]  (${Math.round(em * n)} of ${n})`,
    );
    output.line(`F1        ${decimal(f1)}`);
    output.line(`cover EM  ${decimal(coverEm)}`);
    output.line(`normalizer ${totals.normalizer}`);
    const others = Object.entries(totals.byNormalizer).filter(([id]) => id !== totals.normalizer);
    output.line(`EM under others: ${others.map(([id, each]) => `${id} ${decimal(each.em)}`).join(", ")}`);
    if (totals.emptyPredictions > 0) output.line(`${totals.emptyPredictions} without an answer: scored 0`);
    if (totals.emptyGold > 0)
      output.warn(
        `${totals.emptyGold} left out, no gold answer is left: ${totals.emptyGoldIds.join(", ")}${totals.emptyGold > totals.emptyGoldIds.length ? ", …" : ""}`,
      );
    if (totals.droppedAliases > 0)
      output.warn(`${totals.droppedAliases} gold aliases dropped: they normalise to nothing`);
    if (totals.infra > 0) output.warn(`${totals.infra} left out: infrastructure failed or cancelled`);
    if (totals.duplicateIds > 0) output.warn(`${totals.duplicateIds} records repeat an id`);
    output.result({ ...totals, low, high });
  },
});
