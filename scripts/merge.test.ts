import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CheckpointError, ConfigError } from "../core/errors.ts";
import { packageRoot } from "../core/package-root.ts";
import { zerosLike } from "../rl/adam.ts";
import { loadPolicy } from "../rl/policy/checkpoint.ts";
import { initPolicy } from "../rl/policy/init.ts";
import { mergeLora } from "../rl/policy/merge-lora.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { toyConfig } from "../rl/policy/testing.ts";
import { weightsSha256 } from "../rl/policy/weights-hash.ts";
import { saveCheckpoint } from "../rl/run-checkpoint.ts";
import { merge } from "./merge.ts";

const golden = join(packageRoot(), "rl", "policy", "golden", "llama");
let folder: string;
let base: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-merge-"));
  base = join(folder, "base");
  cpSync(golden, base, { recursive: true });
  writeFileSync(join(base, "tokenizer.json"), '{"whose": "base"}');
});
afterEach(() => rmSync(folder, { recursive: true }));

async function checkpoint(policy: Policy, step: number, o: { base?: string; tokenizer?: string } = {}) {
  const run = join(folder, "run");
  mkdirSync(join(run, "checkpoints"), { recursive: true });
  writeFileSync(join(run, "config.yaml"), "");
  const zeros = zerosLike(policy.trainable);
  const path = join(run, "checkpoints", `rl-${String(step).padStart(6, "0")}`);
  await saveCheckpoint(
    path,
    { phase: "rl", step, policy, adam: { step, mu: zeros, nu: zeros } },
    { ...(o.base ? { base: o.base } : {}), tokenizerFiles: o.tokenizer ? [o.tokenizer] : [] },
  );
  return { run, path };
}
const adapted = () => loadPolicy(base, { training: "lora", adapter: join(base, "adapter"), seed: 0 });
const load = (path: string) => loadPolicy(path, { training: "full", seed: 0 });

test("the last LoRA checkpoint of a run becomes a plain model with its tokenizer and the base's configs", async () => {
  const policy = adapted();
  const fresh = loadPolicy(base, { training: { ...policy.lora!, rank: 2 }, seed: 1 });
  await checkpoint(fresh, 5, { base });
  const { run, path } = await checkpoint(policy, 40, { base });
  const out = join(folder, "out");
  const merged = await merge(run, out);
  expect(merged.checkpoint).toBe(path);
  expect(merged.weightsSha256).toBe(weightsSha256(mergeLora(policy)));
  expect(weightsSha256(load(out))).toBe(merged.weightsSha256);
  expect(readFileSync(join(out, "tokenizer.json"), "utf8")).toContain("base");
  expect(JSON.parse(readFileSync(join(out, "config.json"), "utf8"))).toMatchObject({
    transformers_version: "5.19.0",
    dtype: "float32",
  });
  expect(readdirSync(out)).not.toContain("state.json");
  expect(load(out).config).toEqual(policy.config);
});

test("a fully trained checkpoint is its weights without the optimiser, its own tokenizer first", async () => {
  const policy = initPolicy(toyConfig({}), 1);
  const vocabulary = join(folder, "vocabulary.json");
  writeFileSync(vocabulary, "{}");
  const { path } = await checkpoint(policy, 3, { tokenizer: vocabulary });
  const out = join(folder, "out");
  const { weightsSha256: sha } = await merge(path, out);
  expect(sha).toBe(weightsSha256(policy));
  expect(readdirSync(out).sort()).toEqual([
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "vocabulary.json",
  ]);
});

describe("refusals leave nothing behind", () => {
  const out = () => join(folder, "out");
  test("a folder with something in it", async () => {
    const { run } = await checkpoint(adapted(), 1, { base });
    mkdirSync(out());
    await merge(run, out());
    await expect(merge(run, out())).rejects.toThrow(ConfigError);
    await expect(merge(run, out())).rejects.toThrow(/output folder is not empty/);
  });
  test("a base model that moved, and one that changed", async () => {
    const policy = adapted();
    const { run } = await checkpoint(policy, 1, { base });
    const bytes = readFileSync(join(base, "model.safetensors"));
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(join(base, "model.safetensors"), bytes);
    await expect(merge(run, out())).rejects.toThrow(/not those that were saved/);
    rmSync(base, { recursive: true });
    await expect(merge(run, out())).rejects.toThrow(/base model of this checkpoint is not there/);
    expect(existsSync(out())).toBe(false);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });
  test("what is no run, and a run without checkpoints", async () => {
    await expect(merge(join(folder, "nowhere"), out())).rejects.toThrow(CheckpointError);
    const run = join(folder, "run");
    mkdirSync(join(run, "checkpoints"), { recursive: true });
    writeFileSync(join(run, "config.yaml"), "");
    await expect(merge(run, out())).rejects.toThrow(/no checkpoint yet/);
  });
});
