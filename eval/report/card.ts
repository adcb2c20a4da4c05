import { stringify } from "yaml";
import { decimal } from "./format.ts";
import type { Report } from "./report.ts";
import { otherMeans } from "./tables.ts";

/** First line of the front matter of every card that we wrote. */
export const cardMark = "# forager report";

/**
 * Front matter of a model card as Hugging Face reads it: `model-index` holds one result a benchmark and mode, of the last
 * step that was evaluated. What was not finished, or failed too often to count, is left out.
 */
export function modelCard({ name, kind, baseModel, evaluations, partial }: Report): string {
  const last = new Map(
    evaluations
      .filter(({ valid, n, partial }) => valid && n > 0 && partial === undefined)
      .map((result) => [JSON.stringify([result.benchmark, result.mode]), result]),
  );
  const results = [...last.values()].map((result) => {
    const { benchmark, mode, step, samples } = result;
    const at = `${mode}, step ${step}${samples > 1 ? `, mean of ${samples} samples` : ""}`;
    const em = (label: string, rate: { em: number; low: number; high: number; n: number }) => ({
      type: "exact_match",
      name: `${label}, ${at}, n ${rate.n}, 95 % [${decimal(rate.low)}, ${decimal(rate.high)}]`,
      value: rate.em,
    });
    return {
      task: { type: "question-answering", name: "Question answering with a search engine" },
      dataset: { type: benchmark, name: benchmark },
      metrics: [
        em("EM", result),
        ...Object.entries(result.emAt).flatMap(([k, rate]) => (rate.n > 0 ? [em(`EM@${k}`, rate)] : [])),
        ...otherMeans(result).map(({ label, n, value }) => ({
          type: label.toLowerCase().replaceAll(" ", "_"),
          name: `${label}, ${at}, n ${n}`,
          value,
        })),
      ],
    };
  });
  const card = {
    library_name: "forager",
    pipeline_tag: "question-answering",
    tags: ["forager", "search-agent", ...(kind === "run" ? ["reinforcement-learning"] : [])],
    ...(baseModel === undefined ? {} : { base_model: baseModel }),
    ...(results.length === 0 ? {} : { "model-index": [{ name, results }] }),
    ...(partial.length === 0 ? {} : { partial: true }),
  };
  return `---\n${cardMark}\n${stringify(card, { lineWidth: 0 })}---\n`;
}
