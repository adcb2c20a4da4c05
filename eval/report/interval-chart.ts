import type { Rate } from "../wilson.ts";
import { interval, rateText, signed } from "./format.ts";
import { type Html, html } from "./html.ts";
import { hit, looks, marker, px } from "./line-chart.ts";
import { freeScale, type Scale, shareScale } from "./scale.ts";

/** A line of the chart: a slice of the questions, and its rate in each series (undefined where it has none). */
export interface IntervalRow {
  readonly label: string;
  readonly rates: readonly (Rate | undefined)[];
}

const labels = 104;
const top = 8;
const bottom = 30;

export const intervalHeight = (rows: readonly IntervalRow[]): number =>
  top + bottom + rows.reduce((sum, row) => sum + rowHeight(row), 0);
const rowHeight = ({ rates }: IntervalRow) => 12 + 11 * rates.length;

/** Rates with their intervals side by side on one axis from 0 to 1. @param names of the series */
export function intervalChart(rows: readonly IntervalRow[], names: readonly string[], width: number): Html {
  return intervals(rows, names, shareScale(labels, width - 14), rateText);
}

/** Differences with their intervals, on an axis that shows 0. `em` of a rate is the difference. */
export function differenceChart(rows: readonly IntervalRow[], names: readonly string[], width: number): Html {
  const values = rows.flatMap(({ rates }) =>
    rates.flatMap((rate) => (rate ? [rate.low, rate.high, rate.em] : [])),
  );
  const x = freeScale([0, ...values], labels, width - 18);
  const zero = px(x.at(0));
  const text = ({ em, low, high }: Rate) => `${signed(em)} ${interval({ low, high })}`;
  return html`<path class="axis" d="M${zero} ${top}V${intervalHeight(rows) - bottom}"/>${intervals(rows, names, x, text)}`;
}

function intervals(
  rows: readonly IntervalRow[],
  names: readonly string[],
  x: Scale,
  text: (rate: Rate) => string,
): Html {
  const end = intervalHeight(rows) - bottom;
  let y = top;
  return html`${x.ticks.map((tick) => {
    const at = px(x.at(tick));
    return html`<path class="grid" d="M${at} ${top}V${end}"/><text class="tick middle" x="${at}" y="${end + 16}">${x.text(tick)}</text>`;
  })}${rows.map((row) => {
    const middle = y + rowHeight(row) / 2;
    const first = middle - (11 * (row.rates.length - 1)) / 2;
    y += rowHeight(row);
    return html`<text class="label end" x="${labels - 8}" y="${px(middle + 4)}">${short(row.label)}<title>${row.label}</title></text>${row.rates.map(
      (rate, i) => {
        if (!rate || rate.n === 0) return false;
        const at = first + 11 * i;
        const title = `${row.label}, ${names[i]}: ${text(rate)}, n ${rate.n}`;
        return html`<path class="bar s${i % looks}" d="M${px(x.at(rate.low))} ${px(at)}H${px(x.at(rate.high))}"/>${marker(x.at(rate.em), at, i)}${hit(x.at(rate.em), at, title)}`;
      },
    )}`;
  })}`;
}

/** What fits beside the axis; the whole is its title, and stands in the table. */
const short = (label: string) => (label.length > 16 ? `${label.slice(0, 15)}…` : label);
