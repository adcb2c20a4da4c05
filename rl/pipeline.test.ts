import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConfigError, SamplerError } from "../core/errors.ts";
import { gate, rolledBy, toyRun, turn } from "./pipeline-toys.ts";
import { train } from "./step.ts";

const unhandled: unknown[] = [];
const hear = (reason: unknown) => void unhandled.push(reason);
beforeEach(() => void process.on("unhandledRejection", hear));
afterEach(async () => {
  await turn();
  process.off("unhandledRejection", hear);
  expect(unhandled.splice(0)).toEqual([]);
});

async function all(loop: ReturnType<typeof train>) {
  const reports = [];
  for await (const report of loop) reports.push(report);
  return reports;
}

describe("maxStaleness 0", () => {
  test("one thing after the other: nothing rolls before the step is asked for", async () => {
    const { trainer, log } = toyRun({});
    for await (const { step } of train(trainer, 0, 3)) {
      await turn();
      log.push(`step ${step}`);
    }
    const one = (s: number) => [
      ...[`roll ${s}.0 v${s}`, `release v${s}`, `update ${s}`, `publish v${s + 1}`, `step ${s + 1}`],
    ];
    expect(log).toEqual([0, 1, 2].flatMap(one));
  });

  test("in process the same, without leases, and with the same metrics as ever", async () => {
    const { trainer, log, recomputed } = toyRun({ remote: false });
    const [report] = await all(train(trainer, 0, 1));
    expect(log).toEqual(["roll 0.0 v-", "update 0", "publish v1"]);
    expect(recomputed).toEqual([]);
    expect(report!.metrics).not.toHaveProperty("stale_groups");
    expect(report!.metrics).not.toHaveProperty("cut_episodes");
  });

  test("on servers the trainer's side is recomputed under the version that sampled", async () => {
    const { trainer, recomputed } = toyRun({ config: { updatesPerStep: 1 } });
    const reports = await all(train(trainer, 0, 2));
    expect(recomputed).toEqual([[0], [1]]);
    expect(reports[1]!.metrics).toMatchObject({
      ...{ staleness_mean: 0, staleness_max: 0, stale_groups: 0, queue_depth: 0, seconds_rollout_wait: 0 },
      ...{ "mismatch/max_abs": 0, "importance/clipped_frac": 0, seconds_publish: 0 },
    });
  });
});

describe("ahead of the update", () => {
  test("later steps begin before the update ends, and no further than allowed", async () => {
    const update = gate();
    const { trainer, log } = toyRun({
      config: { maxStaleness: 2 },
      onUpdate: (n) => (n === 0 ? update.passed : Promise.resolve()),
    });
    const loop = train(trainer, 0, 5);
    const first = loop.next();
    await turn();
    const rolls = () => log.filter((line) => line.startsWith("roll"));
    expect(rolls()).toEqual(["roll 0.0 v0", "roll 1.0 v0", "roll 2.0 v0"]);
    expect(log).toContain("update 0");
    update.open();
    await first;
    await turn();
    // Admitted by the step that is done, by the version that it made, before the next step is asked for.
    expect(rolls()).toEqual(["roll 0.0 v0", "roll 1.0 v0", "roll 2.0 v0", "roll 3.0 v1"]);
    const rest = await all(loop);
    expect(rest.map(({ metrics }) => metrics.staleness_max)).toEqual([1, 2, 2, 2]);
    expect(rest[0]!.metrics.queue_depth).toBe(3);
    expect(rolls().slice(4)).toEqual(["roll 4.0 v2"]);
  });

  test("a batch waits for a free slot, so its version is no older than it must be", async () => {
    const episodes = [gate(), gate(), gate()];
    const { trainer, log } = toyRun({
      config: { maxStaleness: 1 },
      concurrency: 1,
      roll: async (tasks, step, _attempt, { limit, signal, lease }) => {
        await limit!(() => episodes[step]!.passed, signal);
        return rolledBy(lease!.version, tasks);
      },
    });
    const reports = all(train(trainer, 0, 3));
    await turn();
    expect(log).toEqual(["roll 0.0 v0"]);
    for (const { open } of episodes) {
      open();
      await turn();
    }
    expect((await reports).map(({ metrics }) => metrics.staleness_max)).toEqual([0, 1, 1]);
  });

  test("a refill uses the newest version; each row is recomputed under its own", async () => {
    const second = gate();
    const { trainer, log, recomputed } = toyRun({
      config: { maxStaleness: 1, filter: "spread" },
      refillBatches: 1,
      reward: ({ task, member }) => (task.id === "1.0" ? 0 : member),
      roll: async (tasks, step, attempt, { lease }) => {
        if (step === 1 && attempt === 0) await second.passed;
        return rolledBy(lease!.version, tasks);
      },
    });
    const loop = train(trainer, 0, 2);
    await loop.next();
    second.open();
    const { value } = await loop.next();
    expect(log.filter((line) => line.startsWith("roll 1"))).toEqual(["roll 1.0 v0", "roll 1.1 v1"]);
    expect(recomputed).toEqual([[0], [1]]);
    expect(value!.metrics.staleness_max).toBe(0);
    await loop.next();
  });

  test("what is too old when it is consumed is dropped and counted, and trains nothing", async () => {
    const run = toyRun({ config: { maxStaleness: 1 } });
    // Somebody publishes twice for every step: what was sampled ahead is two versions old.
    const { publish } = run.trainer;
    const trainer = {
      ...run.trainer,
      publish: async (policy: Parameters<typeof publish>[0]) => {
        await publish(policy);
        return publish({ ...policy, version: policy.version + 100 });
      },
    };
    const reports = await all(train(trainer, 0, 2));
    expect(reports[1]!.metrics).toMatchObject({ stale_groups: 1, groups_kept: 0, updates: 0 });
    expect(reports[1]!.trajectories.map(({ verdict }) => verdict)).toEqual(["stale", "stale"]);
  });

  test("the seeds and the order are those of a run that never runs ahead", async () => {
    const tasksOf = async (maxStaleness: number) => {
      const { trainer } = toyRun({ config: { maxStaleness } });
      const reports = await all(train(trainer, 0, 5));
      return reports.map(({ trajectories }) =>
        trajectories.map(({ trajectory: { task, member } }) => [task.id, member]),
      );
    };
    expect(await tasksOf(3)).toEqual(await tasksOf(0));
  });

  test("without an endpoint it is refused, with the reason", async () => {
    const { trainer } = toyRun({ remote: false, config: { maxStaleness: 1 } });
    await expect(all(train(trainer, 0, 1))).rejects.toThrow(ConfigError);
    await expect(all(train(trainer, 0, 1))).rejects.toThrow(/rl.maxStaleness/);
  });
});

describe("ends", () => {
  test("a failure ahead is thrown where its step is consumed, not before", async () => {
    const { trainer } = toyRun({
      config: { maxStaleness: 2 },
      roll: async (tasks, step, _attempt, { lease }) => {
        if (step === 1) throw new SamplerError({ what: "every server is gone" });
        return rolledBy(lease!.version, tasks);
      },
    });
    const loop = train(trainer, 0, 4);
    expect((await loop.next()).value!.step).toBe(1);
    await turn();
    await expect(loop.next()).rejects.toThrow("every server is gone");
  });

  test("ending early calls off what runs ahead, waits for it, and gives its leases back", async () => {
    let open = 0;
    const { trainer, log } = toyRun({
      config: { maxStaleness: 3 },
      roll: async (tasks, step, _attempt, { lease, signal }) => {
        if (step === 0) return rolledBy(lease!.version, tasks);
        open++;
        await new Promise<void>((_, reject) => {
          signal.addEventListener("abort", () => setImmediate(() => reject(signal.reason)));
        }).finally(() => open--);
        return rolledBy(lease!.version, tasks);
      },
    });
    for await (const _ of train(trainer, 0, 4)) break;
    expect(open).toBe(0);
    const count = (word: string) => log.filter((line) => line.startsWith(word)).length;
    expect(count("release")).toBe(count("roll"));
  });

  test("a step whose policy reaches no server is on record before the run ends", async () => {
    const { trainer } = toyRun({
      onPublish: async (version) => {
        if (version === 2) throw new SamplerError({ what: "version 2 was not published" });
      },
    });
    const loop = train(trainer, 0, 4);
    expect((await loop.next()).value!.failure).toBeUndefined();
    const { value } = await loop.next();
    expect(value!.step).toBe(2);
    expect(value!.metrics.publish_failed).toBe(1);
    await expect(loop.next()).rejects.toThrow("version 2 was not published");
  });
});
