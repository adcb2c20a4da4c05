import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { HealthCheck } from "./health.ts";
import { nearestFolder } from "./health-data.ts";
import { openFleet } from "./open-endpoint.ts";
import { publisherOf } from "./publisher-of.ts";
import { rlLearner } from "./reinforce.ts";
import { runPath } from "./run-record.ts";

/** The servers load an adapter from where a run would put it, apply it, and unload it: version 0 is published once. */
const adapter: HealthCheck = {
  name: "adapter",
  cheap: false,
  async run({ setup, signal }) {
    const { config, start } = setup;
    const { endpoint, rl } = config;
    if (!endpoint || rl.steps === 0 || !start.lora) return undefined;
    const servers = await openFleet(setup, endpoint, { use: "train", signal });
    // A folder of its own: what lies in a run's is that run's to unload.
    const parent = endpoint.adapterDir ?? dirname(resolve(runPath(config, new Date(0))));
    const folder = mkdtempSync(join(nearestFolder(resolve(parent)), "doctor-"));
    const found: string[] = [];
    try {
      const publisher = await publisherOf(setup, {
        ...{ servers, folder, signal, runName: "doctor" },
        learner: rlLearner(setup, {
          ...{ phase: "rl", step: 0, policy: start },
          adam: { step: 0, mu: {}, nu: {} },
        }),
        onEvent: ({ kind, level, text }) => {
          if (kind === "proof" || level === "warn") found.push(text);
        },
      });
      try {
        await publisher.publish(start);
      } finally {
        await publisher.close();
      }
      return { verdict: "ok", evidence: found.join("; ") || "loaded and unloaded" };
    } finally {
      rmSync(folder, { recursive: true, force: true });
      await servers.close();
    }
  },
};

export const adapterChecks: readonly HealthCheck[] = [adapter];
