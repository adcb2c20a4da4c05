/** Values that an axis shows, and where they stand. */
export interface Scale {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly number[];
  /** Text of a tick. */
  text(tick: number): string;
  /** Place of a value, in units of the drawing. */
  at(value: number): number;
}

/**
 * Round ticks (1, 2 or 5 times a power of ten apart) from at or below `low` to at or above `high`, `most` + 2 at the most.
 * @param whole only whole numbers
 */
export function ticksOf(low: number, high: number, most: number, whole = false): number[] {
  const raw = (high - low) / most;
  if (!(raw > 0) || !Number.isFinite(raw)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((f) => f * power >= raw * (1 - 1e-9)) as number;
  const step = whole ? Math.max(1, Math.round(factor * power)) : factor * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  // Products of whole numbers and a power of ten, rounded: sums would drift.
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** An axis of a free quantity. It starts at 0 where no value is negative and the smallest is not far up. */
export function freeScale(values: readonly number[], from: number, to: number): Scale {
  const finite = values.filter(Number.isFinite).map((value) => (Math.abs(value) < 1e-100 ? 0 : value));
  let [low, high] = finite.length === 0 ? [0, 1] : [least(finite), greatest(finite)];
  if (low >= 0 && low < 0.6 * high) low = 0;
  const size = Math.max(Math.abs(low), Math.abs(high));
  // Equal, or so nearly that ticks between them would read the same.
  if (high - low <= 1e-9 * size) [low, high] = size === 0 ? [0, 1] : [low - size / 2, high + size / 2];
  const ticks = ticksOf(low, high, 5);
  return scale(ticks[0] as number, ticks.at(-1) as number, ticks, from, to);
}

/** An axis from 0 to 1. */
export const shareScale = (from: number, to: number): Scale =>
  scale(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1], from, to);

/** An axis of steps, from the first to the last and no further. */
export function stepScale(steps: readonly number[], from: number, to: number, most: number): Scale {
  let [low, high] = steps.length === 0 ? [0, 1] : [least(steps), greatest(steps)];
  if (low <= 0.1 * high) low = Math.min(low, 0);
  if (low === high) [low, high] = [low - 1, high + 1];
  const ticks = ticksOf(low, high, most, true).filter((tick) => tick >= low && tick <= high);
  return scale(low, high, ticks, from, to);
}

// Not Math.min(...list): a run may have more steps than a call takes arguments.
const least = (list: readonly number[]) => list.reduce((a, b) => Math.min(a, b));
const greatest = (list: readonly number[]) => list.reduce((a, b) => Math.max(a, b));

function scale(low: number, high: number, ticks: readonly number[], from: number, to: number): Scale {
  const apart = Math.abs((ticks[1] ?? high) - (ticks[0] ?? low));
  return {
    low,
    high,
    ticks,
    text: (tick) => tickText(tick, apart),
    at: (v) => from + ((v - low) / (high - low)) * (to - from),
  };
}

/** With as many decimals as tell one tick from the next. */
function tickText(tick: number, apart: number): string {
  const sign = tick < 0 ? "−" : "";
  const size = Math.abs(tick);
  if (size === 0) return "0";
  if (apart < 1e-4) return sign + size.toExponential(0);
  if (size >= 1e6 && apart >= 1e5) return `${sign}${trim(size / 1e6, apart / 1e6)}M`;
  if (size >= 1e4 && apart >= 100) return `${sign}${trim(size / 1e3, apart / 1e3)}k`;
  return sign + trim(size, apart);
}

const trim = (value: number, apart: number) =>
  value.toFixed(Math.max(0, Math.min(6, -Math.floor(Math.log10(apart) + 1e-9))));
