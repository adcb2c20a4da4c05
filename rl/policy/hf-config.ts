import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { CheckpointError } from "../../core/errors.ts";
import { ropeKeys, ropeOf } from "./hf-rope.ts";
import { FAMILIES, type Family, type ModelConfig } from "./model-config.ts";

/** Reads config.json (old and new dialect) and generation_config.json of a Hugging Face folder. */
export function readHfConfig(folder: string): ModelConfig {
  const generation = join(folder, "generation_config.json");
  return fromHfConfig(
    readJson(join(folder, "config.json")),
    existsSync(generation) ? readJson(generation) : {},
    join(folder, "config.json"),
  );
}

/** A JSON file as an unknown value; what is wrong with it is a CheckpointError that names the file. */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new CheckpointError({
      what: "the file cannot be read",
      where: path,
      got: (cause as NodeJS.ErrnoException).code ?? String(cause),
      next: "A Hugging Face model folder holds config.json, *.safetensors and tokenizer.json.",
      cause,
    });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CheckpointError({ what: "not valid JSON", where: path, got: (cause as Error).message, cause });
  }
}

const count = z.number().int().positive();
const flag = z.boolean().nullish();
const idList = z.union([z.number().int().nonnegative(), z.array(z.number().int().nonnegative())]).nullish();
const id = z.number().int().nonnegative().nullish();
const configFile = z.looseObject({
  model_type: z.string(),
  vocab_size: count,
  hidden_size: count,
  intermediate_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  hidden_act: z.string().default("silu"),
  rms_norm_eps: z.number().positive().default(1e-6),
  max_position_embeddings: count,
  tie_word_embeddings: flag,
  attention_bias: flag,
  mlp_bias: flag,
  ...ropeKeys,
  use_sliding_window: flag,
  sliding_window: z.number().nullish(),
  max_window_layers: z.number().nullish(),
  layer_types: z.array(z.string()).nullish(),
  quantization_config: z.unknown().optional(),
  bos_token_id: id,
  eos_token_id: idList,
  pad_token_id: id,
});
type ConfigFile = z.infer<typeof configFile>;

const generationFile = z.looseObject({ bos_token_id: id, eos_token_id: idList, pad_token_id: id });

/** What each family leaves unsaid in its config.json. */
const families: Record<
  Family,
  Pick<ModelConfig, "qkNorm"> & {
    attentionBias(file: ConfigFile): boolean;
    outputBias(file: ConfigFile): boolean;
    mlpBias(file: ConfigFile): boolean;
    headDim(file: ConfigFile): number;
  }
> = {
  llama: {
    qkNorm: false,
    attentionBias: (file) => file.attention_bias ?? false,
    outputBias: (file) => file.attention_bias ?? false,
    mlpBias: (file) => file.mlp_bias ?? false,
    headDim: (file) => file.hidden_size / file.num_attention_heads,
  },
  qwen2: {
    qkNorm: false,
    attentionBias: () => true,
    outputBias: () => false,
    mlpBias: () => false,
    headDim: (file) => file.hidden_size / file.num_attention_heads,
  },
  qwen3: {
    qkNorm: true,
    attentionBias: (file) => file.attention_bias ?? false,
    outputBias: (file) => file.attention_bias ?? false,
    mlpBias: () => false,
    headDim: () => 128,
  },
};

/** Checks a parsed config.json against what the forward pass can do. `where` names the file in errors. */
export function fromHfConfig(config: unknown, generation: unknown = {}, where = "config.json"): ModelConfig {
  const file = parse(configFile, config, where);
  const ids = parse(generationFile, generation, where.replace("config.json", "generation_config.json"));
  const refuse = (key: string, got: unknown, expected: string): never => {
    throw new CheckpointError({
      ...{ what: `\`${key}\` is not supported`, where, got: show(got), expected },
      next: "Use a model of the Llama, Qwen2, Qwen3 or SmolLM2 families with plain weights.",
    });
  };
  const modelType = FAMILIES.find((family) => family === file.model_type);
  if (!modelType) return refuse("model_type", file.model_type, FAMILIES.join(", "));
  const family = families[modelType];
  const headDim = file.head_dim ?? family.headDim(file);
  const kvHeads = file.num_key_value_heads ?? file.num_attention_heads;
  if (file.hidden_act !== "silu") refuse("hidden_act", file.hidden_act, "silu");
  if (headDim % 2 !== 0) refuse("head_dim", headDim, "an even whole number");
  if (file.num_attention_heads % kvHeads !== 0)
    refuse("num_key_value_heads", kvHeads, `a divisor of num_attention_heads (${file.num_attention_heads})`);
  const windowed =
    file.use_sliding_window === true &&
    file.sliding_window != null &&
    (file.max_window_layers ?? 0) < file.num_hidden_layers;
  if (windowed) refuse("use_sliding_window", true, "false (full attention in every layer)");
  const otherLayer = file.layer_types?.find((type) => type !== "full_attention");
  if (otherLayer) refuse("layer_types", otherLayer, "full_attention in every layer");
  if (file.quantization_config != null)
    refuse("quantization_config", file.quantization_config, "unquantized F32, BF16 or F16 weights");
  const rope = ropeOf(file, refuse);
  return {
    modelType,
    vocabSize: file.vocab_size,
    hiddenSize: file.hidden_size,
    intermediateSize: file.intermediate_size,
    layers: file.num_hidden_layers,
    heads: file.num_attention_heads,
    kvHeads,
    headDim,
    rmsNormEps: file.rms_norm_eps,
    rope,
    qkNorm: family.qkNorm,
    attentionBias: family.attentionBias(file),
    outputBias: family.outputBias(file),
    mlpBias: family.mlpBias(file),
    tieEmbeddings: file.tie_word_embeddings ?? false,
    contextTokens:
      rope.kind === "yarn"
        ? Math.max(file.max_position_embeddings, Math.floor(rope.factor * rope.originalContextTokens))
        : file.max_position_embeddings,
    eosIds: [ids.eos_token_id ?? file.eos_token_id ?? []].flat(),
    bosId: ids.bos_token_id ?? file.bos_token_id ?? null,
    padId: ids.pad_token_id ?? file.pad_token_id ?? null,
  };
}

function parse<S extends z.ZodType>(schema: S, value: unknown, where: string): z.infer<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0] as z.core.$ZodIssue;
  const got = issue.path.reduce<unknown>((at, step) => (at as Record<PropertyKey, unknown>)?.[step], value);
  throw new CheckpointError({
    what: `\`${issue.path.join(".") || "the file"}\` is wrong`,
    where,
    got: show(got),
    expected: issue.message.replace(/^Invalid input: expected /, "").replace(/, received .*$/, ""),
  });
}

function show(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
