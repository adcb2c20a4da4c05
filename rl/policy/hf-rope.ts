import { z } from "zod";
import { ROPE_KINDS, type Rope, type RopeKind, yarnAttentionFactor } from "./rope.ts";

const count = z.number().int().positive();
const ropeNumbers = z.looseObject({
  type: z.string().optional(),
  rope_type: z.string().optional(),
  rope_theta: z.number().positive().optional(),
  factor: z.number().positive().nullish(),
  low_freq_factor: z.number().positive().optional(),
  high_freq_factor: z.number().positive().optional(),
  original_max_position_embeddings: count.optional(),
  beta_fast: z.number().positive().nullish(),
  beta_slow: z.number().positive().nullish(),
  attention_factor: z.number().positive().nullish(),
  mscale: z.number().nullish(),
  mscale_all_dim: z.number().nullish(),
  truncate: z.boolean().optional(),
  partial_rotary_factor: z.number().optional(),
});
type RopeNumbers = z.infer<typeof ropeNumbers>;

/** The keys of config.json that say how positions are rotated, in the old dialect and the new. */
export const ropeKeys = {
  rope_theta: z.number().positive().optional(),
  rope_scaling: ropeNumbers.nullish(),
  rope_parameters: ropeNumbers.nullish(),
  partial_rotary_factor: z.number().optional(),
};
const ropeFile = z.object({ ...ropeKeys, max_position_embeddings: count });
export type RopeFile = z.infer<typeof ropeFile>;
/** Ends the reading: `key` holds what we cannot honour. */
export type Refuse = (key: string, got: unknown, expected: string) => never;

/** The row of either dialect: `rope_parameters`, or `rope_scaling` beside `rope_theta`. */
export function ropeOf(file: RopeFile, refuse: Refuse): Rope {
  const key = file.rope_parameters ? "rope_parameters" : "rope_scaling";
  const numbers: RopeNumbers = file.rope_parameters ?? file.rope_scaling ?? {};
  const partial = numbers.partial_rotary_factor ?? file.partial_rotary_factor ?? 1;
  if (partial !== 1) refuse("partial_rotary_factor", partial, "1 (the whole head is rotated)");
  const named = numbers.rope_type ?? numbers.type ?? "default";
  const kind: RopeKind =
    ROPE_KINDS.find((known) => known === named) ?? refuse(`${key}.rope_type`, named, ROPE_KINDS.join(", "));
  const nested = Object.entries(numbers).find(([, value]) => typeof value === "object" && value !== null);
  if (nested) refuse(`${key}.${nested[0]}`, nested[1], "one set of numbers for every layer");
  const needed = (name: "factor" | "low_freq_factor" | "high_freq_factor"): number =>
    numbers[name] ?? refuse(`${key}.${name}`, undefined, `a number (rope type ${kind})`);
  const theta = numbers.rope_theta ?? file.rope_theta ?? 10_000;
  const originalContextTokens = numbers.original_max_position_embeddings ?? file.max_position_embeddings;
  const rows: { [K in RopeKind]: () => Extract<Rope, { kind: K }> } = {
    default: () => ({ kind: "default", theta }),
    linear: () => ({ kind: "linear", theta, factor: needed("factor") }),
    llama3: () => ({
      kind: "llama3",
      theta,
      factor: needed("factor"),
      lowFreqFactor: needed("low_freq_factor"),
      highFreqFactor: needed("high_freq_factor"),
      originalContextTokens,
    }),
    yarn: () => {
      const factor = numbers.factor ?? file.max_position_embeddings / originalContextTokens;
      return {
        kind: "yarn",
        theta,
        factor,
        originalContextTokens,
        betaFast: numbers.beta_fast ?? 32,
        betaSlow: numbers.beta_slow ?? 1,
        attentionFactor:
          numbers.attention_factor ??
          yarnAttentionFactor(factor, numbers.mscale ?? undefined, numbers.mscale_all_dim ?? undefined),
        truncate: numbers.truncate ?? true,
      };
    },
  };
  return rows[kind]();
}
