import { InvariantError } from "../../core/errors.ts";
import type { Arr, Params } from "../../engine/array.ts";
import { loraNames, loraScale } from "./lora.ts";
import { type ModelConfig, PROJECTION_NAMES, projectionPath } from "./model-config.ts";
import type { Policy } from "./policy.ts";

/** The same policy with W + scale B A in place of W and everything trainable; unchanged without LoRA. */
export function mergeLora(policy: Policy): Policy {
  const { config, frozen, trainable, lora, version } = policy;
  if (!lora) return policy;
  const merged: Record<string, Arr> = { ...frozen };
  for (const [path, a, b] of pairs(config, trainable)) {
    const name = `${path}.weight`;
    const base = frozen[name];
    if (!base) throw new InvariantError({ what: `no base weight for the LoRA pair of \`${path}\`` });
    merged[name] = { ...base, data: added(base, a, b, loraScale(lora)) };
  }
  return { config, frozen: {}, trainable: merged, version };
}

function pairs(config: ModelConfig, params: Params): [string, Arr, Arr][] {
  const found: [string, Arr, Arr][] = [];
  for (let layer = 0; layer < config.layers; layer++)
    for (const projection of PROJECTION_NAMES) {
      const path = projectionPath(layer, projection);
      const names = loraNames(path);
      const a = params[names.a];
      const b = params[names.b];
      if (a && b) found.push([path, a, b]);
    }
  return found;
}

/** W [out, in] + scale B [out, rank] A [rank, in], each row summed in float64 in rank order. */
function added(w: Arr, a: Arr, b: Arr, scale: number): Float32Array {
  const [out, inner] = w.shape as [number, number];
  const rank = a.shape[0] as number;
  const sum = new Float32Array(out * inner);
  const row = new Float64Array(inner);
  const factors = b.data as Float32Array;
  for (let o = 0; o < out; o++) {
    row.set(w.data.subarray(o * inner, (o + 1) * inner) as Float32Array);
    // Two rows of A at a time halve the passes over the sum.
    for (let k = 0; k < rank; k += 2) {
      const one = scale * (factors[o * rank + k] as number);
      const two = k + 1 < rank ? scale * (factors[o * rank + k + 1] as number) : 0;
      if (one !== 0 || two !== 0) addTwo(row, a.data as Float32Array, k * inner, one, two);
    }
    sum.set(row, o * inner);
  }
  return sum;
}

/** row += one * A[k] + two * A[k + 1], where A[k] begins at `from`; a last odd row has no partner and two = 0. */
function addTwo(row: Float64Array, a: Float32Array, from: number, one: number, two: number): void {
  const inner = row.length;
  const next = two === 0 ? from : from + inner;
  for (let i = 0; i < inner; i++)
    row[i] = (row[i] as number) + one * (a[from + i] as number) + two * (a[next + i] as number);
}
