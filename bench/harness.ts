import { envConfig } from "../env/config.ts";
import { researcher } from "../env/researcher.ts";
import { tinyIndex } from "../env/testing.ts";
import { rolloutConfig } from "../rollout/config.ts";
import { endpointConfig } from "../rollout/endpoint/config.ts";
import { createFleet } from "../rollout/endpoint/create-fleet.ts";
import { openConnection } from "../rollout/endpoint/open-connection.ts";
import { createEndpoint } from "../rollout/endpoint/sampler.ts";
import { vllm } from "../rollout/endpoint/vllm.ts";
import { rollGroups } from "../rollout/groups.ts";
import type { BatchSampler, Sampler } from "../rollout/sampler.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import { rendererOf, tasks, turnsPerEpisode, workload } from "./workload.ts";

/** Plays the workload's questions, as a training step does; each call is one step. Resolves to the turns and their CPU. */
export function harness(o: {
  policy: Sampler | BatchSampler;
  tokenizer: Tokenizer;
  groupSize: number;
  concurrency?: number;
  /** Default: all 64. */
  questions?: number;
}): () => Promise<{ turns: number; cpuSeconds: number }> {
  const { groupSize, questions = tasks.length } = o;
  const asked = tasks.slice(0, questions);
  const options = {
    ...rolloutConfig.parse({ groupSize }),
    ...(o.concurrency !== undefined && { concurrency: o.concurrency }),
    policy: o.policy,
    tokenizer: o.tokenizer,
    renderer: rendererOf(o.tokenizer),
    environment: researcher({
      retriever: tinyIndex(workload.passages),
      config: envConfig.parse({ passageFormat: "plain" }),
      seed: 1,
    }),
    seed: 1,
    decoding: { temperature: 1, topP: 1, topK: 0 },
  };
  let step = 0;
  return async () => {
    const start = process.cpuUsage();
    const { groups } = await rollGroups(asked, { ...options, step: step++ });
    const { user, system } = process.cpuUsage(start);
    const turns = groups.flatMap((g) => g.members).reduce((sum, m) => sum + (m.ending?.turns ?? 0), 0);
    if (turns !== questions * groupSize * turnsPerEpisode) throw new Error(`${turns} turns`);
    return { turns, cpuSeconds: (user + system) / 1e6 };
  };
}

/** The policy behind a server, with everything that training has between the two. */
export function overHttp(url: string, o: { tokenizer: Tokenizer; maxInFlight: number }) {
  const config = endpointConfig.parse({ servers: [url], maxInFlight: o.maxInFlight });
  const fleet = createFleet({
    replicas: [{ connection: openConnection({ url }), driver: vllm }],
    maxInFlight: config.maxInFlight,
    metricsIntervalMs: 2_000,
    probeIntervalMs: 1_000,
    loadRetryMs: config.retryDelayMs,
  });
  const endpoint = createEndpoint({ fleet, tokenizer: o.tokenizer, contextTokens: 32_768, config });
  return {
    sampler: endpoint.sampler({ model: "stub", version: 0 }),
    /** Requests that a server is at. */
    inFlight: () => fleet.replicas.reduce((sum, each) => sum + each.inFlight, 0),
    close: () => fleet.close(),
  };
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
