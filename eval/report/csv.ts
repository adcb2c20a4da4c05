import { csvField } from "../../core/csv.ts";
import type { Rate } from "../wilson.ts";
import type { Report } from "./report.ts";
import { otherMeans, sliceRows } from "./tables.ts";

/** First line of every file: one row a value, so that one filter finds a curve or a table. */
export const csvHead = "table,series,slice,step,n,value,low,high";

/** Means over episodes, and the number that failed. */
const plain = ["turns", "searches", "noSearch", "policyTokens", "infra"] as const;

/**
 * Every number of the report in one long table (RFC 4180, UTF-8): of an ablation every cell, of search's value every
 * condition; the curves of each figure, `step` being what its axis counts; of each evaluation exact match by slice and its
 * other means; the groups by cause. What is not known is empty.
 */
export function reportCsv({
  figures,
  evaluations,
  groups,
  ablation,
  team,
  searchValue = [],
}: Report): string {
  const lines = [
    ...(ablation?.cells ?? []).flatMap(({ name, sampledTokens }) =>
      sampledTokens === undefined ? [] : [["ablation", name, "sampled tokens", "", "", sampledTokens]],
    ),
    ...(ablation?.rows ?? []).flatMap(({ cell, benchmark, mode, questions, mean, against }) => {
      const name = `${cell}, ${benchmark}, ${mode}`;
      const row = (slice: string, ...cells: readonly (string | number)[]) => [
        "ablation",
        name,
        slice,
        "",
        ...cells,
      ];
      if (!against) return [row(ablation?.metric ?? "", questions, mean)];
      const { difference, low, high, p, adjustedP, questions: n } = against;
      return [
        row(ablation?.metric ?? "", questions, mean),
        row("difference", n, difference, low, high),
        row("p", n, p),
        row("p (Holm)", n, adjustedP),
      ];
    }),
    ...searchValue.flatMap(({ benchmark, mode, value }) =>
      value.rows.flatMap(({ name, em, difference, ...rest }) => {
        const row = (slice: string, value: number | null, ...cells: readonly number[]) => [
          ...["search-value", `${name}, ${benchmark}, ${mode}`, slice, "", em.n],
          ...[value ?? "", ...cells],
        ];
        return [
          row("EM", em.mean, em.low, em.high),
          ...(difference
            ? [
                row("difference", difference.difference, difference.low, difference.high),
                row("p (Holm)", difference.adjustedP),
              ]
            : []),
          ...(["searches", "turns", "noSearch", "recall", "stopped"] as const).map((key) =>
            row(key, rest[key]),
          ),
        ];
      }),
    ),
    ...figures.flatMap(({ id, curves }) =>
      curves.flatMap(({ name, points }) =>
        points.map(({ step, n, value, low, high }) => [id, name, "", step, n, value, low, high]),
      ),
    ),
    ...evaluations.flatMap((result) => {
      const name = `${result.benchmark}, ${result.mode}`;
      const { step, n, outcomes, cost } = result;
      const row = (label: string, ...cells: readonly (string | number)[]) => [
        "evaluation",
        name,
        label,
        step,
        ...cells,
      ];
      return [
        ...sliceRows(result).map(({ label, rate }) => row(`EM ${label}`, ...of(rate))),
        ...otherMeans(result).map((mean) => row(mean.label, mean.n, mean.value)),
        ...plain.map((key) => row(key, n, result[key])),
        ...(cost ? [row(`cost ${cost.currency}`, n, cost.total)] : []),
        ...Object.entries(outcomes).map(([outcome, times]) => ["outcome", name, outcome, step, n, times]),
      ];
    }),
    ...(team?.cost.roles ?? []).flatMap(({ role, calls, tokens }) => [
      ["team", role, "calls", "", "", calls],
      ["team", role, "tokens", "", "", tokens],
    ]),
    ...groups.map(({ verdict, share }) => ["groups", verdict, "share", "", ...of(share)]),
  ];
  const columns = csvHead.split(",").length;
  return [
    csvHead,
    ...lines.map((cells) => Array.from({ length: columns }, (_, i) => csvField(cells[i])).join(",")),
  ]
    .map((line) => `${line}\r\n`)
    .join("");
}

const of = ({ n, em, low, high }: Rate) => [n, ...(n === 0 ? ["", "", ""] : [em, low, high])];
