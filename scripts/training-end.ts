import type { RlConfig } from "../rl/config.ts";
import type { StepMetrics } from "../track/run-db.ts";
import { sampledTokens } from "../track/sampled-tokens.ts";

/**
 * Is training over after `step` updates? By its steps, or by the tokens that it was to sample. Told from what is on
 * record alone, so a resumed run ends where a whole one does.
 */
export function trainingOver(
  rl: Pick<RlConfig, "steps" | "sampledTokens">,
  step: number,
  recorded: () => readonly StepMetrics[],
): boolean {
  if (step >= rl.steps) return true;
  return rl.sampledTokens !== undefined && sampledTokens(recorded(), step) >= rl.sampledTokens;
}
