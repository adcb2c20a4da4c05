import { csvField } from "../csv.ts";
import type { Rate } from "../wilson.ts";
import type { Report } from "./report.ts";
import { otherMeans, sliceRows } from "./tables.ts";

/** First line of every file: one row a value, so that one filter finds a curve or a table. */
export const csvHead = "table,series,slice,step,n,value,low,high";

/** Means over episodes, and the number that failed. */
const plain = ["turns", "searches", "noSearch", "policyTokens", "infra"] as const;

/**
 * Every number of the report in one long table (RFC 4180, UTF-8): the curves of each figure; of each evaluation exact
 * match by slice and its other means; the groups by cause. What is not known is empty.
 */
export function reportCsv({ figures, evaluations, groups }: Report): string {
  const lines = [
    ...figures.flatMap(({ id, curves }) =>
      curves.flatMap(({ name, points }) =>
        points.map(({ step, n, value, low, high }) => [id, name, "", step, n, value, low, high]),
      ),
    ),
    ...evaluations.flatMap((result) => {
      const name = `${result.benchmark}, ${result.mode}`;
      const { step, n, outcomes } = result;
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
        ...Object.entries(outcomes).map(([outcome, times]) => ["outcome", name, outcome, step, n, times]),
      ];
    }),
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
