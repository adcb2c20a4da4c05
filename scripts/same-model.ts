import { existsSync } from "node:fs";
import { join } from "node:path";
import { CheckpointError } from "../core/errors.ts";
import type { ModelConfig } from "../rl/policy/model-config.ts";
import { loadTokenizer } from "../rollout/hf-tokenizer.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import type { Setup } from "./setup.ts";

/** Not part of what a model computes: the context may be cut, ids come from the tokenizer's files. */
const free: readonly (keyof ModelConfig)[] = ["contextTokens", "eosIds", "bosId", "padId"];

/** The checkpoint's model is the config's. @throws CheckpointError that names what differs */
export function checkModel(got: ModelConfig, expected: ModelConfig, where: string): void {
  const keys = (Object.keys(expected) as (keyof ModelConfig)[]).filter((key) => !free.includes(key));
  const differing = keys.filter((key) => text(got[key]) !== text(expected[key]));
  if (differing.length === 0) return;
  const list = (config: ModelConfig) => differing.map((key) => `${key} ${text(config[key])}`).join(", ");
  throw new CheckpointError({
    what: "the checkpoint is of another model",
    where,
    got: list(got),
    expected: `${list(expected)}, as the config says`,
    next: "Use the config.yaml in the checkpoint's own run folder, or change `model`.",
  });
}

const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/**
 * A policy's folder holds the config's tokenizer. Files that differ in form alone pass: each id must be the same text.
 * A folder without a tokenizer is taken at its word. @throws CheckpointError
 */
export function checkTokenizer(folder: string, { tokenizer, config }: Setup): void {
  if (!["tokenizer.json", "vocabulary.json"].some((name) => existsSync(join(folder, name)))) return;
  const own = loadTokenizer(folder);
  const at = firstDifference(own, tokenizer);
  if (at === undefined) return;
  const facts = (each: Tokenizer) =>
    `${each.vocabSize} tokens${at < each.vocabSize ? `, id ${at} is ${JSON.stringify(each.decode([at]))}` : ""}`;
  throw new CheckpointError({
    what: "the policy has another vocabulary than the config",
    where: folder,
    got: facts(own),
    expected: facts(tokenizer),
    next: config.model.tiny
      ? "Use the config.yaml in the policy's own run folder, or name the folder as model.path instead of model.tiny."
      : "Name the folder as model.path, so that its own tokenizer is used.",
  });
}

/** The first id that is not the same text in both; fingerprints are of files, which a tool may have written anew. */
function firstDifference(a: Tokenizer, b: Tokenizer): number | undefined {
  if (a.fingerprint === b.fingerprint) return undefined;
  const most = Math.max(a.vocabSize, b.vocabSize);
  for (let id = 0; id < most; id++)
    if (id >= a.vocabSize || id >= b.vocabSize || a.decode([id]) !== b.decode([id])) return id;
  return undefined;
}
