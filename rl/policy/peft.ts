import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { CheckpointError } from "../../core/errors.ts";
import { writeFileAtomic } from "../../core/files.ts";
import type { Arr, Params } from "../../engine/array.ts";
import { openSafetensors, writeSafetensors } from "../../engine/safetensors.ts";
import { checkShapes } from "./check.ts";
import { readJson } from "./hf-config.ts";
import { type LoraConfig, loraShapes } from "./lora.ts";
import { type ModelConfig, PROJECTION_NAMES } from "./model-config.ts";

const CONFIG = "adapter_config.json";
const WEIGHTS = "adapter_model.safetensors";

const none = z.union([z.null(), z.undefined(), z.literal(false), z.strictObject({}), z.array(z.never())]);
const adapterFile = z.looseObject({
  peft_type: z.string(),
  r: z.number().int().positive(),
  lora_alpha: z.number().positive(),
  use_rslora: z.boolean().nullish(),
});

/** Variants of LoRA that would change the forward pass; each must be off, or the adapter is refused by name. */
const mustBeOff = [
  "use_dora",
  "use_qalora",
  "use_bdlora",
  "lora_bias",
  "fan_in_fan_out",
  "modules_to_save",
  "rank_pattern",
  "alpha_pattern",
  "layer_replication",
  "target_parameters",
  "trainable_token_indices",
  "alora_invocation_tokens",
] as const;

/**
 * Reads a PEFT adapter folder for a base model. Which projections learn is read from the tensors themselves, so
 * `target_modules` may hold names, full paths or a pattern. @throws CheckpointError for another base, another kind of
 * adapter, or one that covers only some layers.
 */
export function readAdapter(folder: string, config: ModelConfig): { lora: LoraConfig; params: Params } {
  const where = join(folder, CONFIG);
  if (!existsSync(where))
    throw new CheckpointError({
      what: "not an adapter folder",
      where: folder,
      got: existsSync(folder) ? `no ${CONFIG}` : "no such folder",
      expected: `${CONFIG} and ${WEIGHTS}, as PEFT's save_pretrained writes them`,
      next: "Check the path.",
    });
  const parsed = adapterFile.safeParse(readJson(where));
  if (!parsed.success) {
    const issue = parsed.error.issues[0] as z.core.$ZodIssue;
    throw new CheckpointError({
      what: `\`${issue.path.join(".") || "the file"}\` is wrong`,
      where,
      got: issue.message,
      next: "Give a folder that PEFT's save_pretrained wrote.",
    });
  }
  const file = parsed.data;
  if (file.peft_type !== "LORA") refuse(where, "peft_type", file.peft_type, "LORA");
  if (file.bias !== undefined && file.bias !== "none") refuse(where, "bias", file.bias, "none");
  for (const key of mustBeOff)
    if (!none.safeParse(file[key]).success) refuse(where, key, file[key], "off (empty, null or false)");
  const path = join(folder, WEIGHTS);
  if (!existsSync(path))
    throw new CheckpointError({
      what: "the adapter's weights are missing",
      where: path,
      next: "Adapters saved as .bin must be saved again with safe_serialization=True.",
    });
  const tensors = openSafetensors(path);
  try {
    const names = tensors.names;
    const lora: LoraConfig = {
      rank: file.r,
      alpha: file.lora_alpha,
      rsLora: file.use_rslora ?? false,
      targetModules: PROJECTION_NAMES.filter((p) => names.some((name) => name.includes(`.${p}.lora_A.`))),
    };
    const expected = loraShapes(config, lora);
    checkShapes({
      expected,
      got: new Map(names.map((name) => [name, tensors.shape(name)])),
      where: path,
      what: "the adapter does not fit the base model",
      next: "Use the base model it was trained on; it must adapt the same projections in every layer.",
    });
    const params: Record<string, Arr> = {};
    for (const name of expected.keys()) params[name] = tensors.read(name);
    return { lora, params };
  } finally {
    tensors.close();
  }
}

/**
 * Writes an adapter as PEFT would: adapter_config.json and adapter_model.safetensors, ready for
 * `PeftModel.from_pretrained` and for a server's load_lora_adapter. `base` names the base model.
 */
export function writeAdapter(folder: string, o: { lora: LoraConfig; params: Params; base: string }): void {
  writeSafetensors(join(folder, WEIGHTS), o.params, { format: "pt" });
  const config = {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: o.base,
    r: o.lora.rank,
    lora_alpha: o.lora.alpha,
    use_rslora: o.lora.rsLora,
    lora_dropout: 0,
    target_modules: o.lora.targetModules,
    bias: "none",
    fan_in_fan_out: false,
    use_dora: false,
    init_lora_weights: true,
    inference_mode: true,
    modules_to_save: null,
    rank_pattern: {},
    alpha_pattern: {},
  };
  writeFileAtomic(join(folder, CONFIG), `${JSON.stringify(config, null, 2)}\n`);
}

function refuse(where: string, key: string, got: unknown, expected: string): never {
  throw new CheckpointError({
    what: `\`${key}\` of the adapter is not supported`,
    where,
    got: JSON.stringify(got)?.slice(0, 80) ?? "nothing",
    expected,
    next: "Merge it into the base model with PEFT and start from the merged model.",
  });
}
