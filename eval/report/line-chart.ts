import { compact, thin } from "./format.ts";
import { type Html, html } from "./html.ts";
import type { Curve, Figure, Point } from "./report.ts";
import { freeScale, type Scale, shareScale, stepScale } from "./scale.ts";

/** Size of a drawing in its own units, which are pixels at its natural size. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

export const margin = { left: 40, right: 12, top: 10, bottom: 34 } as const;
/** Between the ends of the axis and the first and last step, so that nothing stands on the frame. */
const inset = 8;
/** Kinds of line and marker that the style sheet knows. */
export const looks = 7;
/** Most points of a curve that answer to a pointer. */
const mostHits = 150;

/** Curves over steps: lines with bands, points with error bars, a title on each point for a pointer. */
export function lineChart(figure: Figure, size: Size): Html {
  const { curves, axis = "step" } = figure;
  const { x, y } = axesOf(figure, size);
  const dodge = dodges(curves);
  const look = looksOf(curves);
  return html`${frame(x, y, size, axis)}${curves.map((curve, i) => band(curve, look[i] as number, x, y))}${curves.map(
    (curve, i) =>
      curve.kind === "line"
        ? line(curve, look[i] as number, x, y, axis)
        : measured(curve, look[i] as number, x, y, dodge[i] as number, axis),
  )}`;
}

function axesOf({ curves, range }: Figure, { width, height }: Size): { x: Scale; y: Scale } {
  const points = curves.flatMap((curve) => curve.points);
  const steps = points.map(({ step }) => step);
  const [bottom, top] = [height - margin.bottom, margin.top];
  const values = points.flatMap(({ value, low = value, high = value }) => [value, low, high]);
  return {
    x: stepScale(
      steps,
      margin.left + inset,
      width - margin.right - inset,
      Math.max(3, Math.round(width / 75)),
    ),
    y: range === "share" ? shareScale(bottom, top) : freeScale(values, bottom, top),
  };
}

/** Grid, ticks and the name of the horizontal axis. */
export function frame(x: Scale, y: Scale, { width, height }: Size, axis = "step"): Html {
  const bottom = height - margin.bottom;
  const right = width - margin.right;
  return html`${y.ticks.map((tick) => {
    const at = px(y.at(tick));
    return html`<path class="grid" d="M${margin.left} ${at}H${right}"/><text class="tick end" x="${margin.left - 6}" y="${px(y.at(tick) + 3.5)}">${y.text(tick)}</text>`;
  })}${x.ticks.map((tick) => {
    const at = px(x.at(tick));
    return html`<path class="axis" d="M${at} ${bottom}v4"/><text class="tick middle" x="${at}" y="${bottom + 16}">${x.text(tick)}</text>`;
  })}<path class="axis" d="M${margin.left} ${bottom}H${right}"/><text class="tick end" x="${right}" y="${height - 4}">${axis}</text>`;
}

/** The intervals of a line, one shape for each stretch of steps that has them. */
function band({ kind, points }: Curve, i: number, x: Scale, y: Scale): Html | false {
  if (kind !== "line") return false;
  const stretches: Point[][] = [[]];
  for (const point of points)
    if (point.low === undefined) stretches.push([]);
    else stretches.at(-1)?.push(point);
  return html`${stretches.map((some) => {
    const [first] = some;
    if (!first) return false;
    if (some.length === 1) return bar(first, i, x.at(first.step), y);
    const upper = some.map(({ step, high }) => `${px(x.at(step))} ${px(y.at(high as number))}`);
    const lower = some.toReversed().map(({ step, low }) => `${px(x.at(step))} ${px(y.at(low as number))}`);
    return html`<path class="band s${i}" d="M${[...upper, ...lower].join("L")}Z"/>`;
  })}`;
}

function line({ name, points }: Curve, i: number, x: Scale, y: Scale, axis: string): Html {
  const path = points.map(({ step, value }) => `${px(x.at(step))} ${px(y.at(value))}`).join("L");
  const only =
    points.length === 1 && points[0] ? marker(x.at(points[0].step), y.at(points[0].value), i) : false;
  return html`<path class="line s${i}" d="M${path}"/>${only}${thin(points, mostHits).map((point) =>
    hit(x.at(point.step), y.at(point.value), titleOf(name, point, axis)),
  )}`;
}

function measured({ name, points }: Curve, i: number, x: Scale, y: Scale, dodge: number, axis: string): Html {
  const at = ({ step }: Point) => x.at(step) + dodge;
  const path = points.map((point) => `${px(at(point))} ${px(y.at(point.value))}`).join("L");
  return html`<path class="line thin s${i}" d="M${path}"/>${points.map(
    (point) =>
      html`${bar(point, i, at(point), y)}${marker(at(point), y.at(point.value), i)}${hit(at(point), y.at(point.value), titleOf(name, point, axis))}`,
  )}`;
}

/** A look for each curve: its own, or that of the curve it belongs to. */
export const looksOf = (curves: readonly Curve[]): number[] =>
  curves.map(({ like }, i) => {
    const other = like === undefined ? -1 : curves.findIndex(({ name }) => name === like);
    return (other < 0 ? i : other) % looks;
  });

/** Points of several curves at one step stand side by side. */
function dodges(curves: readonly Curve[]): number[] {
  const pointed = curves.filter(({ kind }) => kind === "points");
  return curves.map((curve) => {
    const place = pointed.indexOf(curve);
    return place < 0 ? 0 : (place - (pointed.length - 1) / 2) * 5;
  });
}

const bar = ({ low, high }: Point, i: number, at: number, y: Scale) =>
  low !== undefined &&
  high !== undefined &&
  html`<path class="bar s${i}" d="M${px(at)} ${px(y.at(low))}V${px(y.at(high))}"/>`;

const shapes = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
  "M-3.5-3.5h7v7h-7Z",
  "M0-4.6L4.4 3.4H-4.4Z",
  "M0-5L4.4 0L0 5L-4.4 0Z",
  "M0 4.6L4.4-3.4H-4.4Z",
  "M-5-1.6H-1.6V-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5Z",
  "M-4-2.2L0-4.6L4-2.2V2.6L0 5L-4 2.6Z",
];

/** One shape a curve, so that colour is never all that tells them apart. */
export const marker = (x: number, y: number, i: number): Html =>
  html`<path class="marker s${i}" transform="translate(${px(x)} ${px(y)})" d="${shapes[i] as string}"/>`;

/** Large enough for a finger; invisible. */
export const hit = (x: number, y: number, title: string): Html =>
  html`<circle class="hit" cx="${px(x)}" cy="${px(y)}" r="8"><title>${title}</title></circle>`;

export function titleOf(name: string, { step, value, low, high, n }: Point, axis = "step"): string {
  const interval = low === undefined || high === undefined ? "" : ` [${compact(low)}, ${compact(high)}]`;
  return `${name}, ${axis} ${step}: ${compact(value)}${interval}${n === undefined ? "" : `, n ${n}`}`;
}

/** A coordinate: a tenth of a unit is finer than any screen. */
export const px = (value: number): string => String(Math.round(value * 10) / 10);
