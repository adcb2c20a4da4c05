import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { EndpointError } from "../rollout/endpoint/error.ts";
import { toyFleet } from "./fleet-toys.ts";
import type { Publisher } from "./publish.ts";
import { begin, closeToys, end, held, open, openToys, server, toys, world } from "./publish-bench.ts";
import { limits } from "./publish-toys.ts";
import { PublishError } from "./retrying.ts";

beforeAll(openToys);
afterAll(closeToys);
beforeEach(begin);
afterEach(end);

describe("failures", () => {
  test("a load that fails is tried again under a name of its own", async () => {
    let left = 2;
    const fleet = toyFleet([server], (call, name) => {
      if (call === "publish" && name.includes("-v1") && left-- > 0)
        throw new EndpointError("server", { what: "500" });
    });
    const publisher = await open(fleet);
    await publisher.publish(toys.version(0));
    await publisher.publish(toys.version(1));
    expect(publisher.lease().model).toBe(publisher.names.of(1, 2));
    expect(world.kinds().filter((kind) => kind === "retry")).toHaveLength(2);
    await publisher.close();
  });

  test("one that never succeeds ends within its time as a typed failure; the old version still serves", async () => {
    const fleet = toyFleet([server], (call, name) => {
      if (call === "publish" && name.includes("-v1"))
        throw new EndpointError("server", { what: "LoRA rank 64 is greater" });
    });
    const mine = { ...limits };
    const publisher = await open(fleet, { config: mine });
    await publisher.publish(toys.version(0));
    mine.loadTimeoutMs = 50;
    const failed = publisher.publish(toys.version(1));
    await expect(failed).rejects.toThrow(PublishError);
    await expect(failed).rejects.toThrow(/LoRA rank 64 is greater.*--resume/s);
    expect(publisher.lease().version).toBe(0);
    await publisher.close();
  });

  test("what cannot succeed later is not tried again", async () => {
    const fleet = toyFleet([server], (call, name) => {
      if (call === "publish" && name.includes("-v1"))
        throw new EndpointError("refused", { what: "401" }, 401);
    });
    const publisher = await open(fleet);
    await publisher.publish(toys.version(0));
    await expect(publisher.publish(toys.version(1))).rejects.toThrow(PublishError);
    expect(world.kinds()).not.toContain("retry");
    await publisher.close();
  });

  test("an abort is an abort", async () => {
    const controller = new AbortController();
    const fleet = toyFleet([server], (call, name) => {
      if (call === "publish" && name.includes("-v1")) {
        controller.abort(new Error("stop"));
        throw new EndpointError("server", { what: "500" });
      }
    });
    const publisher = await open(fleet, { signal: controller.signal });
    await publisher.publish(toys.version(0));
    await expect(publisher.publish(toys.version(1))).rejects.toThrow("stop");
    await publisher.close();
  });
});

describe("killed while publishing", () => {
  /** A trainer that dies at a point: nothing after it happens. What is on disk and on the server stays. */
  async function killedAt(at: "publish" | "published" | "retire", word: string): Promise<Publisher> {
    let dead = () => {};
    const died = new Promise<void>((resolve) => {
      dead = resolve;
    });
    const fleet = toyFleet([server], (call, name) => {
      if (call !== at || !name.includes(word)) return;
      dead();
      return new Promise(() => {});
    });
    const publisher = await open(fleet);
    const versions = (async () => {
      for (let version = 0; ; version++) await publisher.publish(toys.version(version));
    })();
    await Promise.race([died, versions]);
    return publisher;
  }

  test.each([
    ["before the load", "publish", "-v1"],
    ["after the load, before anybody knows", "published", "-v1"],
    ["before the old version is unloaded", "retire", "-v0"],
    ["with the synthetic adapter loaded", "published", "-probe"],
  ] as const)(
    "%s: the next incarnation has new names, and sweeps its own and no other's",
    async (_name, at, word) => {
      const other = mkdtempSync(join(tmpdir(), "forager-other-"));
      const stranger = await open(toyFleet([server]), { folder: join(other, "adapters") });
      await stranger.publish(toys.version(1));
      server.held.set("base-of-somebody-v3", other);

      const before = (await killedAt(at, word)).names;
      const again = await open(toyFleet([server]));
      expect(again.names.run).toBe(before.run);
      expect(again.names.incarnation).toBe(before.incarnation + 1);
      expect(held().sort()).toEqual([stranger.names.of(1, 0), "base-of-somebody-v3"].sort());
      expect(world.folders()).toEqual([]);
      await again.publish(toys.version(5));
      expect(new Set(server.accepted).size).toBe(server.accepted.length);
      await again.close();
      expect(stranger.lease().version).toBe(1);
      await stranger.close();
      server.held.clear();
      rmSync(other, { recursive: true, force: true });
    },
  );

  test("while writing: half a folder goes, and was never under a name", async () => {
    const adapters = world.adapters;
    mkdirSync(join(adapters, ".123-toy-r1-v4.tmp"), { recursive: true });
    writeFileSync(join(adapters, ".123-toy-r1-v4.tmp", "adapter_model.safetensors"), "half");
    await (await open(toyFleet([server]))).close();
    expect(world.folders()).toEqual([]);
    expect(world.events).toContainEqual({ kind: "swept", level: "info", text: ".123-toy-r1-v4.tmp" });
  });

  test("folders stay while a server that may hold them cannot be asked", async () => {
    const first = await killedAt("published", "-v1");
    server.down = true;
    await open(toyFleet([server]));
    expect(world.kinds()).toContain("sweepFailed");
    expect(existsSync(join(world.adapters, first.names.of(1, 0)))).toBe(true);
    server.down = false;
    await open(toyFleet([server]));
    expect(held()).toEqual([]);
    expect(world.folders()).toEqual([]);
  });
});
