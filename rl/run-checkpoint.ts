import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { CheckpointError } from "../core/errors.ts";
import { writeFileAtomic, writeFolderAtomic } from "../core/files.ts";
import type { Params } from "../engine/array.ts";
import { openSafetensors, writeSafetensors } from "../engine/safetensors.ts";
import type { AdamState } from "./adam.ts";
import { adapterHashes, joinParams, viewOf } from "./policy/adapters.ts";
import { savePolicy } from "./policy/checkpoint.ts";
import { adapterFolder } from "./policy/open-adapters.ts";
import { readAdapter, writeAdapter } from "./policy/peft.ts";
import type { Policy } from "./policy/policy.ts";
import { weightsSha256 } from "./policy/weights-hash.ts";
import { type StageState, stageStateSchema } from "./team-stages.ts";

const stateSchema = z.object({
  format: z.literal(1),
  phase: z.enum(["sft", "rl"]),
  step: z.int().min(0),
  version: z.int().min(0),
  adamStep: z.int().min(0),
  training: z.enum(["full", "lora"]),
  /** The model that a LoRA checkpoint's adapter belongs to. */
  base: z.string().optional(),
  weightsSha256: z.string(),
  /** Of a policy of several adapters: each with the fingerprint of its own weights and its updates. */
  adapters: z.record(z.string(), z.object({ sha256: z.string(), adamStep: z.int().min(0) })).optional(),
  /** Where the schedule of who learns stands. */
  stage: stageStateSchema.optional(),
});
export type CheckpointState = z.infer<typeof stateSchema>;

/** What a run needs to go on exactly where it stood. */
export interface RunState {
  readonly phase: "sft" | "rl";
  readonly step: number;
  readonly policy: Policy;
  readonly adam: AdamState;
  /** Where the schedule of who learns stands; absent where all learn. */
  readonly stage?: StageState | undefined;
}

/**
 * Writes one checkpoint folder, whole or not at all: a plain Hugging Face folder (full fine-tuning) or
 * `adapter/` in PEFT's format (LoRA), `optimizer.safetensors`, `state.json`. All float32, so a resume is exact.
 * Of several adapters each is a folder of its own kind below `adapters/`.
 */
export async function saveCheckpoint(
  path: string,
  state: RunState,
  o: { base?: string; tokenizerFiles: readonly string[] },
): Promise<CheckpointState> {
  const { policy, adam } = state;
  const record: CheckpointState = {
    format: 1,
    phase: state.phase,
    step: state.step,
    version: policy.version,
    adamStep: adam.step,
    training: policy.lora ? "lora" : "full",
    ...(o.base ? { base: o.base } : {}),
    weightsSha256: weightsSha256(policy),
    ...(policy.adapters ? { adapters: recordOf(policy, adam) } : {}),
    ...(state.stage ? { stage: state.stage } : {}),
  };
  const copyTokenizer = (folder: string) => {
    for (const file of o.tokenizerFiles) copyFileSync(file, join(folder, basename(file)));
  };
  await writeFolderAtomic(path, async (folder) => {
    for (const adapter of policy.adapters ?? []) {
      const own = adapterFolder(folder, adapter);
      writeWeights(own, viewOf(policy, adapter), o.base);
      if (!policy.lora) copyTokenizer(own);
    }
    if (!policy.adapters) writeWeights(policy.lora ? join(folder, "adapter") : folder, policy, o.base);
    copyTokenizer(folder);
    writeSafetensors(join(folder, "optimizer.safetensors"), {
      ...named("mu.", adam.mu),
      ...named("nu.", adam.nu),
    });
    writeFileAtomic(join(folder, "state.json"), `${JSON.stringify(record, null, 2)}\n`);
  });
  return record;
}

/** The weights that learn: an adapter in PEFT's format, or a plain Hugging Face folder. */
function writeWeights(folder: string, policy: Policy, base = ""): void {
  mkdirSync(folder, { recursive: true });
  if (policy.lora) writeAdapter(folder, { lora: policy.lora, params: policy.trainable, base });
  else savePolicy(policy, folder);
}

function recordOf(policy: Policy, { steps = {} }: AdamState): NonNullable<CheckpointState["adapters"]> {
  return Object.fromEntries(
    Object.entries(adapterHashes(policy)).map(([name, sha256]) => [
      name,
      { sha256, adamStep: steps[name] ?? 0 },
    ]),
  );
}

const named = (prefix: string, params: Params): Params =>
  Object.fromEntries(Object.entries(params).map(([n, p]) => [prefix + n, p]));

/** Reads `state.json` of a checkpoint folder. */
export function readCheckpointState(path: string): CheckpointState {
  const file = join(path, "state.json");
  if (!existsSync(file))
    throw new CheckpointError({
      what: "not a checkpoint",
      where: path,
      expected: "a folder with state.json",
      next: "Give a run folder or one of its checkpoints/.",
    });
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new CheckpointError({
      what: "malformed state.json",
      where: file,
      next: `Delete the folder ${path}: the run goes on from the checkpoint before it.`,
      cause,
    });
  }
  const parsed = stateSchema.safeParse(json);
  if (!parsed.success)
    throw new CheckpointError({
      what: "state.json is not ours",
      where: file,
      got: `${parsed.error.issues[0]?.path.join(".")}: ${parsed.error.issues[0]?.message}`,
      expected: "format 1",
      next: "It was written by another version of Forager, or by hand.",
    });
  return parsed.data;
}

/**
 * Puts a checkpoint's weights into `start` (the policy the config makes) and reads the optimiser's moments.
 * @throws CheckpointError for one that is damaged or belongs to another model
 */
export function loadCheckpoint(path: string, start: Policy): RunState {
  const state = readCheckpointState(path);
  const training = start.lora ? "lora" : "full";
  if (state.training !== training)
    throw new CheckpointError({
      what: "the checkpoint trains other weights",
      where: path,
      got: state.training,
      expected: `${training}, as the config says`,
      next: "Use a checkpoint of a run with this config.",
    });
  checkAdapters(path, state, start);
  try {
    const trainable = readTrainable(path, start);
    const policy: Policy = {
      ...start,
      trainable: inOrderOf(start.trainable, trainable, path),
      version: state.version,
    };
    const sha = weightsSha256(policy);
    if (sha !== state.weightsSha256)
      throw new CheckpointError({
        what: "the weights are not those that were saved",
        where: path,
        got: sha.slice(0, 12),
        expected: state.weightsSha256.slice(0, 12),
      });
    const moments = join(path, "optimizer.safetensors");
    const [mu, nu] = ["mu.", "nu."].map((prefix) => {
      const params = readAll(moments, start.trainable, prefix);
      return inOrderOf(start.trainable, params, moments);
    }) as [Params, Params];
    const steps = state.adapters && {
      steps: Object.fromEntries(Object.entries(state.adapters).map(([name, each]) => [name, each.adamStep])),
    };
    return {
      ...{ phase: state.phase, step: state.step, policy },
      adam: { step: state.adamStep, mu, nu, ...steps },
      ...(state.stage ? { stage: state.stage } : {}),
    };
  } catch (error) {
    if (!(error instanceof CheckpointError)) throw error;
    throw new CheckpointError({
      ...error.complaint,
      next: `Delete the folder ${path}: the run goes on from the checkpoint before it.`,
      cause: error,
    });
  }
}

/** @throws CheckpointError where roles played by other adapters than the config's do */
function checkAdapters(path: string, state: CheckpointState, { adapters = [] }: Policy): void {
  const saved = Object.keys(state.adapters ?? {});
  if (saved.toSorted().join() === adapters.toSorted().join()) return;
  throw new CheckpointError({
    what: "the checkpoint has other adapters",
    where: path,
    got: saved.join(", ") || "one set of weights for all roles",
    expected: `${adapters.join(", ") || "one set of weights for all roles"}, as the config says`,
    next: "Use a checkpoint of a run whose roles name the same adapters.",
  });
}

/** The weights that learn, of a policy shaped as `start`. */
function readTrainable(path: string, start: Policy): Params {
  const read = (folder: string, own: Policy) =>
    own.lora
      ? readAdapter(folder, own.config).params
      : readAll(join(folder, "model.safetensors"), own.trainable, "");
  if (!start.adapters) return read(start.lora ? join(path, "adapter") : path, start);
  return joinParams(
    Object.fromEntries(
      start.adapters.map((name) => [name, read(adapterFolder(path, name), viewOf(start, name))]),
    ),
  );
}

/** The tensors named as those of `like`, behind a prefix. */
function readAll(file: string, like: Params, prefix: string): Params {
  const source = openSafetensors(file);
  try {
    return Object.fromEntries(Object.keys(like).map((name) => [name, source.read(prefix + name)]));
  } finally {
    source.close();
  }
}

/** Same names in the same order as the policy that the config makes: order is part of the compiled graph. */
function inOrderOf(like: Params, params: Params, where: string): Params {
  return Object.fromEntries(
    Object.entries(like).map(([name, p]) => {
      const found = params[name];
      if (!found || found.shape.join() !== p.shape.join())
        throw new CheckpointError({
          what: `weight \`${name}\` does not fit`,
          where,
          got: found ? `[${found.shape}]` : "nothing",
          expected: `[${p.shape}]`,
        });
      return [name, found];
    }),
  );
}
