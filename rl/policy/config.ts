import { z } from "zod";
import { filePath } from "../../core/path-schema.ts";
import type { LoraConfig } from "./lora.ts";
import { type ModelConfig, PROJECTION_NAMES, type Projection } from "./model-config.ts";

const whole = (least: number) => z.number().int().min(least);

/** A decoder of our own from random weights. Defaults: 0.5M parameters at a vocabulary of 130 (the quickstart). */
export const tinySchema = z
  .strictObject({
    layers: whole(1).default(3).describe("Decoder layers."),
    hidden: whole(2).default(128).describe("Width of the residual stream."),
    heads: whole(1).default(4).describe("Query heads; `hidden` is a multiple of it."),
    kvHeads: whole(1).optional().describe("Key and value heads, a divisor of `heads`. Default: as `heads`."),
    intermediate: whole(1).default(256).describe("Width of the MLP."),
    ropeTheta: z.number().positive().default(1000).describe("Base wavelength of the rotary positions."),
    contextTokens: whole(8).default(256).describe("Longest sequence, tokens."),
    family: z
      .enum(["llama", "qwen3"])
      .default("llama")
      .describe("Which family's block: `qwen3` norms queries and keys."),
  })
  .superRefine((tiny, context) => {
    const complain = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if (tiny.hidden % tiny.heads !== 0 || (tiny.hidden / tiny.heads) % 2 !== 0)
      complain("heads", `expected hidden (${tiny.hidden}) / heads to be an even whole number`);
    if (tiny.kvHeads !== undefined && tiny.heads % tiny.kvHeads !== 0)
      complain("kvHeads", `expected a divisor of heads (${tiny.heads})`);
  });
export type TinyConfig = z.output<typeof tinySchema>;

export const loraSchema = z.strictObject({
  rank: whole(1).default(64).describe("Rank of each update matrix."),
  alpha: z.number().positive().default(128).describe("The update is scaled by alpha / rank."),
  rsLora: z.boolean().default(false).describe("Scale by alpha / sqrt(rank) instead (rank-stabilised LoRA)."),
  targetModules: z
    .array(z.enum(PROJECTION_NAMES as [Projection, ...Projection[]]))
    .min(1)
    .refine((names) => new Set(names).size === names.length, "a module is named twice")
    .default([...PROJECTION_NAMES])
    .describe("Projections that learn, in every layer. Default: all of attention and MLP."),
});

/** The YAML section `model`: which policy is trained, and which of its weights. */
export const modelSchema = z
  .strictObject({
    path: filePath()
      .optional()
      .describe("Local Hugging Face folder (Llama, Qwen2/2.5, Qwen3, SmolLM2). Give this or `tiny`."),
    tiny: tinySchema
      .optional()
      .describe("A small decoder of our own from random weights. Give this or `path`."),
    training: z
      .enum(["full", "lora"])
      .optional()
      .describe(
        "`full` trains every weight, `lora` low-rank updates of the projections. Default: `full` for `tiny`, `lora` for `path`.",
      ),
    lora: loraSchema.optional().describe("Settings of `training: lora`."),
    adapter: filePath()
      .optional()
      .describe("PEFT adapter folder to start from (with `training: lora`; its rank and alpha are used)."),
    contextTokens: whole(8)
      .optional()
      .describe("Cut the context to this many tokens; not above what the model was made for."),
  })
  .superRefine((model, context) => {
    const complain = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if ((model.path === undefined) === (model.tiny === undefined))
      complain("path", "expected exactly one of `path` and `tiny`");
    const training = trainingOf(model);
    if (model.tiny !== undefined && model.training === "lora")
      complain(
        "training",
        "a tiny model trains every weight; low-rank updates are for a model with a `path`",
      );
    if (model.adapter !== undefined && training !== "lora")
      complain(
        "adapter",
        "an adapter needs `training: lora`; to train every weight, merge it first (forager merge)",
      );
    if (model.lora !== undefined && training !== "lora")
      complain("lora", "these settings need `training: lora`");
    if (model.lora !== undefined && model.adapter !== undefined)
      complain("lora", "the adapter's own settings are used; leave `lora` out");
  });
export type ModelSection = z.output<typeof modelSchema>;

/** What trains: as the section says, else everything of a tiny model and low-rank updates of a loaded one. */
export function trainingOf(section: {
  readonly training?: "full" | "lora" | undefined;
  readonly path?: string | undefined;
}): "full" | "lora" {
  return section.training ?? (section.path === undefined ? "full" : "lora");
}

/** LoRA settings of a section, defaults filled in; undefined when every weight trains. */
export function loraOf(section: ModelSection): LoraConfig | undefined {
  return trainingOf(section) === "lora" ? (section.lora ?? loraSchema.parse({})) : undefined;
}

/** The shape of a tiny decoder for a vocabulary: tied embeddings, no biases. */
export function tinyModel(
  tiny: TinyConfig,
  vocabulary: { readonly size: number; readonly eosIds: readonly number[]; readonly padId: number | null },
): ModelConfig {
  return {
    modelType: tiny.family,
    vocabSize: vocabulary.size,
    hiddenSize: tiny.hidden,
    intermediateSize: tiny.intermediate,
    layers: tiny.layers,
    heads: tiny.heads,
    kvHeads: tiny.kvHeads ?? tiny.heads,
    headDim: tiny.hidden / tiny.heads,
    rmsNormEps: 1e-6,
    rope: { kind: "default", theta: tiny.ropeTheta },
    qkNorm: tiny.family === "qwen3",
    attentionBias: false,
    outputBias: false,
    mlpBias: false,
    tieEmbeddings: true,
    contextTokens: tiny.contextTokens,
    eosIds: vocabulary.eosIds,
    bosId: null,
    padId: vocabulary.padId,
  };
}
