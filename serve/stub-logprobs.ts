import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { seedOf } from "../core/rng.ts";

/**
 * A distribution that a stub can say about any text: of V tokens the one that comes next has a logit of its own, drawn
 * from (weights, token before, token), and all others share one. So what it says of a completion at temperature T and
 * of the same tokens as a prompt agree, as a model's do, and other weights say something else.
 */
export interface StubDistribution {
  /** Log-probability of `id` after `before`. */
  of(before: number, id: number, temperature: number): number;
  /** Log-probability of each other token. */
  ofOthers(before: number, id: number, temperature: number): number;
}

export function stubDistribution(weights: string, vocabSize: number): StubDistribution {
  const others = Math.log(Math.max(vocabSize - 1, 1));
  const logit = (before: number, id: number) => {
    const p = 0.2 + 0.75 * (seedOf(0, weights, before, id) / 2 ** 32);
    return Math.log(p / (1 - p)) + others;
  };
  // log(e^(a/T) + V - 1)
  const total = (scaled: number) =>
    Math.max(scaled, others) + Math.log1p(Math.exp(-Math.abs(scaled - others)));
  const at = (temperature: number) => (temperature === 0 ? 1 : temperature);
  return {
    of(before, id, temperature) {
      const scaled = logit(before, id) / at(temperature);
      return scaled - total(scaled);
    },
    ofOthers: (before, id, temperature) => -total(logit(before, id) / at(temperature)),
  };
}

/** Name of the base model's weights, and of every adapter that changes nothing. */
export const baseWeights = "base";

/** Names the weights of an adapter folder: the same for the same file, the base's for one whose B is all zero. */
export function adapterWeights(path: string): string {
  const file = join(path, "adapter_model.safetensors");
  if (!existsSync(file)) return path;
  const bytes = readFileSync(file);
  if (changesNothing(bytes)) return baseWeights;
  return createHash("sha256").update(bytes).digest("hex");
}

type Tensors = Readonly<Record<string, { readonly data_offsets?: readonly [number, number] }>>;

function changesNothing(bytes: Buffer): boolean {
  try {
    const start = 8 + Number(bytes.readBigUInt64LE(0));
    const header = JSON.parse(bytes.subarray(8, start).toString("utf8")) as Tensors;
    const changes = Object.entries(header).filter(([name]) => name.includes("lora_B"));
    return (
      changes.length > 0 &&
      changes.every(([, { data_offsets: [from, to] = [0, 0] }]) =>
        bytes.subarray(start + from, start + to).every((byte) => byte === 0),
      )
    );
  } catch {
    return false; // not a file of tensors: some other weights
  }
}
