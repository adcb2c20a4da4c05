import { loadConfig } from "../configs/load-config.ts";
import { ForagerError } from "../core/errors.ts";
import { defineCommand } from "./command.ts";
import { type CheckResult, checkLine, examine, type HealthCheck } from "./health.ts";
import { adapterChecks } from "./health-adapter.ts";
import { dataChecks } from "./health-data.ts";
import { endpointChecks } from "./health-endpoint.ts";
import { policyChecks } from "./health-policy.ts";
import { timeChecks } from "./health-time.ts";
import { openSetup } from "./setup.ts";
import { withConfig } from "./with-config.ts";

/** In the order in which a failure makes the later ones pointless. */
export const healthChecks: readonly HealthCheck[] = [
  ...dataChecks,
  ...policyChecks,
  ...endpointChecks,
  ...adapterChecks,
  ...timeChecks,
];

export const command = defineCommand({
  positionals: "<config> [overrides..]",
  examples: [
    ["forager doctor configs/quickstart.yaml", "is everything as it must be, and how long will it take"],
    ["forager doctor my.yaml --quick", "only what `forager train` checks itself"],
  ],
  builder: (yargs) =>
    withConfig(yargs).option("quick", {
      type: "boolean",
      default: false,
      describe: "only the cheap checks: nothing is sampled from an in-process policy",
    }),
  async run({ config: path, overrides, quick }, output, signal, extensions) {
    const { config } = loadConfig(path, overrides);
    const setup = await openSetup(config, { output, signal, extensions });
    const results: CheckResult[] = [];
    try {
      output.line("ok    config       read, and everything it names is there");
      const checks = quick ? healthChecks.filter(({ cheap }) => cheap) : healthChecks;
      for await (const result of examine(checks, { setup, signal })) {
        results.push(result);
        output.print(checkLine(result));
        output.event("check", { ...result });
      }
    } finally {
      await setup.close();
    }
    const failed = results.filter(({ verdict }) => verdict === "fail");
    if (failed.length > 0)
      throw new ForagerError({
        what: `${failed.length} of ${results.length} checks failed`,
        where: path,
        got: failed.map(({ name }) => name).join(", "),
        next: "Mend what is marked FAIL; the arrows say how.",
      });
    output.line(`${results.length} checks, none failed`);
    output.result({ checks: results });
  },
});
