import { createHash } from "node:crypto";
import { basename, join, resolve } from "node:path";
import type { Config } from "../configs/schema.ts";
import { InvariantError } from "../core/errors.ts";
import type { Learner } from "../rl/learner.ts";
import type { Lease, Remote } from "../rl/remote.ts";
import type { Served } from "../rollout/endpoint/sampler.ts";
import { rollGroups } from "../rollout/groups.ts";
import { endpointOf, fleetWords, openFleet } from "./open-endpoint.ts";
import type { Output } from "./output.ts";
import { decodingOf, drawsOf, firstShared, type PolicyPlayer } from "./policy-player.ts";
import { publisherOf } from "./publisher-of.ts";
import type { RunRecord } from "./run-record.ts";
import type { Setup } from "./setup.ts";
import { seatAdapters } from "./team-adapters.ts";

/**
 * A run's own folder of adapters, the same when it is resumed. Many runs may have one adapterDir: a folder that two of
 * them shared would let each sweep the other's adapters as its own of old.
 */
function adapterFolder(shared: string | undefined, run: string): string {
  if (shared === undefined) return join(run, "adapters");
  return join(shared, `${basename(run)}-${createHash("sha256").update(run).digest("hex").slice(0, 8)}`);
}

/** A lease as its seats ask for it: each for its own adapter, where there are several. */
function servedBy(config: Config, lease: Lease): Served {
  const { model, version, models } = lease;
  if (!models) return { model, version };
  const adapterOf = seatAdapters(config);
  return {
    ...{ model, version },
    modelOf(seat) {
      const adapter = seat === undefined ? undefined : adapterOf(seat);
      const name = adapter === undefined ? undefined : models[adapter];
      if (name !== undefined) return name;
      throw new InvariantError({
        what: "a turn of a seat that no adapter plays",
        got: `${seat ?? "no seat"}: ${adapter ?? "no adapter"}`,
        expected: Object.keys(models).join(", "),
      });
    },
  };
}

/** The policy on inference servers: versions are published there, and episodes are sampled from a leased one. */
export async function remotePlayer(
  setup: Setup,
  o: {
    learner: Pick<Learner, "logprobs">;
    record: RunRecord;
    output: Output;
    signal: AbortSignal;
  },
): Promise<PolicyPlayer> {
  const { config, tokenizer, renderer, environment } = setup;
  const { rollout } = config;
  const { output, signal, record } = o;
  const section = endpointOf(config);
  const servers = await openFleet(setup, section, {
    ...{ use: "train", signal },
    onEvent(event) {
      record.db.event("rl", 0, "fleet", event);
      const words = fleetWords(event);
      if (words?.level === "warn") output.warn(words.text);
      else if (words) output.line(words.text);
    },
  });
  try {
    for (const { connection, facts } of servers.servers)
      for (const { name, verdict, evidence } of facts)
        if (verdict === "warn") output.warn(`${connection.url}: ${name}: ${evidence}`);
    const folder = adapterFolder(section.adapterDir, resolve(record.folder.path));
    const publisher = await publisherOf(setup, {
      ...{ servers, folder, signal, learner: o.learner, runName: config.run.name },
      onEvent({ kind, level, text }) {
        record.db.event("rl", 0, "publish", { kind, text });
        if (level === "warn") output.warn(text);
        else if (kind === "proof") output.line(text);
      },
    });
    const common = { ...rollout, ...setup.episodes, environment, tokenizer, renderer };
    const remote: Remote = {
      lease: () => publisher.lease(),
      get newest() {
        return publisher.newest;
      },
      concurrency: rollout.concurrency,
      hurry: () => void servers.endpoint.hurry(),
    };
    return {
      remote,
      publish: (policy) => publisher.publish(policy),
      train: (tasks, step, refill, use) =>
        firstShared(setup, use!.lease!.version, { tasks, draws: drawsOf(config, step, refill) }, () =>
          rollGroups(tasks, {
            ...common,
            ...(use!.limit ? { limit: use!.limit } : {}),
            policy: servers.endpoint.sampler(servedBy(config, use!.lease!)), // the pipeline leases for whoever has a remote
            signal: use!.signal,
            cut: use!.cut,
            seed: config.run.seed,
            step,
            round: refill,
            decoding: decodingOf(config, step),
          }),
        ),
      async evaluate(tasks, request) {
        const lease = publisher.lease();
        const { signal: _signal, onEpisode: _onEpisode, ...draws } = request;
        try {
          return await firstShared(setup, lease.version, { tasks, draws }, () =>
            rollGroups(tasks, {
              ...common,
              ...request,
              policy: servers.endpoint.sampler(servedBy(config, lease)),
            }),
          );
        } finally {
          lease.release();
        }
      },
      async close() {
        await publisher.close();
        await servers.close();
      },
    };
  } catch (error) {
    await servers.close();
    throw error;
  }
}
