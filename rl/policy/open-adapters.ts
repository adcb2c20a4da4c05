import { join } from "node:path";
import type { Params } from "../../engine/array.ts";
import { joinParams } from "./adapters.ts";
import { loadWeights } from "./checkpoint.ts";
import { readAdapter } from "./peft.ts";
import type { Policy } from "./policy.ts";

/** Where a checkpoint has the weights of one of its adapters: a PEFT folder, or a plain Hugging Face one. */
export const adapterFolder = (checkpoint: string, name: string): string => join(checkpoint, "adapters", name);

/** The policy of several adapters that lie in a checkpoint. @param open reads the first, with the base it belongs to */
export function openAdapters(
  checkpoint: string,
  names: readonly string[],
  open: (folder: string) => Policy,
): Policy {
  const [first = "", ...others] = names;
  const policy = open(adapterFolder(checkpoint, first));
  const read = (folder: string): Params =>
    policy.lora ? readAdapter(folder, policy.config).params : loadWeights(folder, policy.config);
  const sets = others.map((name) => [name, read(adapterFolder(checkpoint, name))] as const);
  return {
    ...policy,
    trainable: joinParams({ [first]: policy.trainable, ...Object.fromEntries(sets) }),
    adapters: names,
  };
}
