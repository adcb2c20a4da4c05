import type { RolloutConfig } from "./config.ts";

/**
 * Sampling temperature of a training step: straight from `temperature` in the first to `finalTemperature` in the last.
 * @param step from 0
 * @param steps of the whole run
 */
export function temperatureAt(
  { temperature, finalTemperature }: Pick<RolloutConfig, "temperature" | "finalTemperature">,
  step: number,
  steps: number,
): number {
  if (finalTemperature === undefined) return temperature;
  const share = Math.min(1, step / Math.max(1, steps - 1));
  return temperature * (1 - share) + finalTemperature * share;
}
