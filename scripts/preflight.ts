import { checkServers } from "./check-servers.ts";
import { checkLine, examine } from "./health.ts";
import { dataChecks } from "./health-data.ts";
import { policyChecks } from "./health-policy.ts";
import type { Output } from "./output.ts";
import type { Setup } from "./setup.ts";

/**
 * What `train` checks of `doctor`'s list before it makes a run folder: what costs no token of an in-process policy. What
 * has failed is said, and the run goes on: only servers that cannot sample for it end it. @throws ConfigError
 */
export async function preflight(setup: Setup, o: { output: Output; signal: AbortSignal }): Promise<void> {
  const cheap = [...dataChecks, ...policyChecks].filter((check) => check.cheap);
  for await (const result of examine(cheap, { setup, signal: o.signal }))
    if (result.verdict === "fail") o.output.warn(checkLine(result));
  await checkServers(setup, o);
}
