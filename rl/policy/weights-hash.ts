import { createHash } from "node:crypto";
import type { Arr } from "../../engine/array.ts";
import type { Policy } from "./policy.ts";

// Frozen weights are hashed once a process, however often a run asks.
const digests = new WeakMap<Arr, string>();

/**
 * Fingerprint of every weight: SHA-256 over (name, shape, SHA-256 of the float32 bytes) in sorted name order.
 * Equal for equal bits, whatever folder or order they came in.
 */
export function weightsSha256(policy: Pick<Policy, "frozen" | "trainable">): string {
  const hash = createHash("sha256");
  const all = { ...policy.frozen, ...policy.trainable };
  for (const name of Object.keys(all).sort()) {
    const arr = all[name] as Arr;
    const digest = name in policy.trainable ? digestOf(arr) : cached(arr);
    hash.update(`${name} [${arr.shape}] ${digest}\n`);
  }
  return hash.digest("hex");
}

function cached(arr: Arr): string {
  const digest = digests.get(arr) ?? digestOf(arr);
  digests.set(arr, digest);
  return digest;
}

function digestOf({ data }: Arr): string {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return createHash("sha256").update(bytes).digest("hex");
}
