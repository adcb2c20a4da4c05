/** A world for tests of publishing: a tiny policy with an adapter, a server, a folder, and what was told. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rng } from "../core/rng.ts";
import { openEngine } from "../engine/open.ts";
import { type ToyFleet, type ToyServer, toyServer } from "./fleet-toys.ts";
import { createLearner, type Learner } from "./learner.ts";
import { tinyModel, tinySchema } from "./policy/config.ts";
import { initPolicy } from "./policy/init.ts";
import { initLora, type LoraConfig } from "./policy/lora.ts";
import { PROJECTION_NAMES } from "./policy/model-config.ts";
import type { Policy } from "./policy/policy.ts";
import { createPublisher, type Publisher, type PublisherOptions } from "./publish.ts";
import type { PublishEvent } from "./publish-event.ts";

const config = tinyModel(
  tinySchema.parse({ layers: 1, hidden: 16, heads: 2, intermediate: 24, contextTokens: 64 }),
  { size: 19, eosIds: [1], padId: 0 },
);
const lora: LoraConfig = { rank: 2, alpha: 4, rsLora: false, targetModules: PROJECTION_NAMES };
export const canaryTokens = Array.from({ length: 24 }, (_, i) => (i * 7) % 19);
export const limits = { loadTimeoutMs: 2_000, retryDelayMs: 1, keepFolders: 0 };

export interface PublishToys {
  readonly learner: Learner;
  server(url?: string): ToyServer;
  /** Version n: every weight moved by draws of its own; 0 changes nothing. */
  version(n: number): Policy;
  dispose(): Promise<void>;
}

export async function publishToys(): Promise<PublishToys> {
  const engine = await openEngine({});
  const frozen = initPolicy(config, 3).trainable;
  const start: Policy = { config, frozen, trainable: initLora(config, lora, 1), lora, version: 0 };
  const learner = createLearner({
    ...{ engine, policy: start, slots: 64 },
    loss: {
      ...{ surrogate: "reinforce", kl: "none", klCoefficient: 0 },
      ...{ clipLow: 0, clipHigh: 0, entropyCoefficient: 0 },
    },
    optimizer: { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, maxGradNorm: 1 },
  });
  const moved = (version: number) =>
    Object.entries(start.trainable).map(([name, weight]) => {
      const draw = rng(version, name);
      return [name, { ...weight, data: Float32Array.from(weight.data, (x) => x + draw() - 0.5) }] as const;
    });
  return {
    learner,
    server: (url) => toyServer(start, learner, url),
    version: (n) => ({ ...start, version: n, ...(n > 0 && { trainable: Object.fromEntries(moved(n)) }) }),
    dispose: () => engine.dispose(),
  };
}

/** One run's folder, and publishers over it. */
export class PublishWorld {
  readonly folder = mkdtempSync(join(tmpdir(), "forager-publish-"));
  readonly adapters = join(this.folder, "adapters");
  readonly events: PublishEvent[] = [];
  readonly #toys: PublishToys;

  constructor(toys: PublishToys) {
    this.#toys = toys;
  }

  open(fleet: ToyFleet, over: Partial<PublisherOptions> = {}): Promise<Publisher> {
    return createPublisher({
      ...{ fleet, folder: this.adapters, runName: "toy", lora, base: "toy-base", maxStaleness: 0 },
      learner: this.#toys.learner,
      canary: { tokens: canaryTokens, score: fleet.score },
      config: limits,
      onEvent: (event) => this.events.push(event),
      ...over,
    });
  }

  kinds(): PublishEvent["kind"][] {
    return this.events.map(({ kind }) => kind);
  }

  /** Adapter folders on disk. */
  folders(): string[] {
    return readdirSync(this.adapters).filter((name) => name !== "names.json");
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
