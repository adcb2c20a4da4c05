import { existsSync } from "node:fs";
import { join } from "node:path";
import { CheckpointError, ConfigError } from "../core/errors.ts";
import { loadPolicy } from "../rl/policy/checkpoint.ts";
import { openAdapters } from "../rl/policy/open-adapters.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { weightsSha256 } from "../rl/policy/weights-hash.ts";
import type { CheckpointState } from "../rl/run-checkpoint.ts";
import { listCheckpoints, openRunFolder } from "../track/run-folder.ts";

/**
 * The checkpoint folder that a path names: the path itself, or of a run folder the last one, or with `step` the one
 * after that many RL steps. @throws CheckpointError when there is none, ConfigError for a step of a single checkpoint
 */
export function checkpointOf(path: string, step?: number): string {
  if (existsSync(join(path, "state.json"))) {
    if (step === undefined) return path;
    throw new ConfigError({
      what: "a checkpoint is one step already",
      where: path,
      got: `--step ${step}`,
      next: "Give the run folder with --step, or the checkpoint without it.",
    });
  }
  const all = listCheckpoints(openRunFolder(path));
  const found =
    step === undefined ? all.at(-1) : all.find((each) => each.phase === "rl" && each.step === step);
  if (found) return found.path;
  if (all.length === 0)
    throw new CheckpointError({
      what: "the run has no checkpoint yet",
      where: join(path, "checkpoints"),
      next: `Continue it with \`forager train --resume ${path}\`.`,
    });
  const kept = all.filter(({ phase }) => phase === "rl").map((each) => each.step);
  throw new CheckpointError({
    what: "the run has no checkpoint of that step",
    where: join(path, "checkpoints"),
    got: `step ${step}`,
    expected: kept.length > 0 ? `one of ${kept.join(", ")}` : "no step: it is still warming up",
    next: "Runs keep the last checkpoints, the best and step 0: see track.keepCheckpoints.",
  });
}

/** The weights read are those that were saved, base model included. @throws CheckpointError */
export function checkSameWeights(policy: Policy, state: CheckpointState, checkpoint: string): void {
  const sha = weightsSha256(policy);
  if (sha === state.weightsSha256) return;
  throw new CheckpointError({
    what: "the weights are not those that were saved",
    where: checkpoint,
    got: sha.slice(0, 12),
    expected: `${state.weightsSha256.slice(0, 12)}${state.base ? ` (with the base model ${state.base})` : ""}`,
    next: state.base
      ? "Name its base model as model.path, or restore the checkpoint or its base model: one of them was changed."
      : "The checkpoint was changed; use another one.",
  });
}

/** The whole policy of a checkpoint, over the base model that it names. @throws CheckpointError */
export function policyOf(checkpoint: string, state: CheckpointState): Policy {
  const base = state.training === "lora" ? baseOf(state, checkpoint) : undefined;
  const open = (folder: string) =>
    base === undefined
      ? loadPolicy(folder, { training: "full", seed: 0 })
      : loadPolicy(base, { training: "lora", adapter: folder, seed: 0 });
  const policy = state.adapters
    ? openAdapters(checkpoint, Object.keys(state.adapters), open)
    : open(base === undefined ? checkpoint : join(checkpoint, "adapter"));
  checkSameWeights(policy, state, checkpoint);
  return policy;
}

/** The base model of a LoRA checkpoint. @throws CheckpointError when it is not where it was */
export function baseOf(state: CheckpointState, checkpoint: string): string {
  const { base } = state;
  if (base !== undefined && existsSync(join(base, "config.json"))) return base;
  throw new CheckpointError({
    what: "the base model of this checkpoint is not there",
    where: join(checkpoint, "state.json"),
    got: base ?? "no `base`",
    expected: "the Hugging Face folder it was trained from",
    next: "Put the model back, or change `base` to where it is now.",
  });
}
