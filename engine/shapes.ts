import { EngineError } from "../core/errors.ts";

export type Shape = readonly number[];

/** Number of elements. */
export const sizeOf = (shape: Shape): number => shape.reduce((n, d) => n * d, 1);

export const sameShape = (a: Shape, b: Shape): boolean =>
  a.length === b.length && a.every((d, i) => d === b[i]);

/** NumPy broadcasting of any number of shapes; undefined when they do not fit. */
export function broadcast(...shapes: readonly Shape[]): number[] | undefined {
  const rank = Math.max(0, ...shapes.map((s) => s.length));
  const out = new Array<number>(rank).fill(1);
  for (const shape of shapes) {
    for (let i = 0; i < shape.length; i++) {
      const at = rank - shape.length + i;
      const d = shape[i] as number;
      if (d === 1 || d === out[at]) continue;
      if (out[at] !== 1) return undefined;
      out[at] = d;
    }
  }
  return out;
}

/** One axis in 0..rank-1; negative counts from the end. Throws EngineError out of range. */
export function axisOf(axis: number, rank: number): number {
  const at = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(at) || at < 0 || at >= rank)
    throw new EngineError({ what: "axis out of range", got: `${axis}`, expected: `an axis of rank ${rank}` });
  return at;
}

/** A list of axes, sorted; undefined, null and [] mean all of them, as in tfjs. */
export function axesOf(axis: number | readonly number[] | null | undefined, rank: number): number[] {
  if (axis === undefined || axis === null) return Array.from({ length: rank }, (_, i) => i);
  const list = typeof axis === "number" ? [axis] : axis;
  return [...new Set(list.map((a) => axisOf(a, rank)))].sort((a, b) => a - b);
}
