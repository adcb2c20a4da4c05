import { copyFileSync, existsSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { ConfigError } from "../core/errors.ts";
import { writeFileAtomic, writeFolderAtomic } from "../core/files.ts";
import { viewOf } from "../rl/policy/adapters.ts";
import { savePolicy } from "../rl/policy/checkpoint.ts";
import { readJson } from "../rl/policy/hf-config.ts";
import { mergeLora } from "../rl/policy/merge-lora.ts";
import { weightsSha256 } from "../rl/policy/weights-hash.ts";
import { type CheckpointState, readCheckpointState } from "../rl/run-checkpoint.ts";
import { checkpointOf, policyOf } from "./checkpoint-of.ts";
import { defineCommand } from "./command.ts";
import { tokenizerFiles } from "./tokenizer-files.ts";

export const command = defineCommand({
  positionals: "<run>",
  examples: [
    ["forager merge runs/smollm2 --out smollm2-rl", "the run's last policy as a plain Hugging Face folder"],
    ["forager merge runs/smollm2 --step 40 --out at-40", "as it was after 40 steps"],
    ["forager merge runs/team --adapter verifier --out verifier", "one of several adapters"],
  ],
  builder: (yargs) =>
    yargs
      .positional("run", {
        type: "string",
        demandOption: true,
        describe: "a run folder (its last checkpoint is taken) or one of its checkpoints",
      })
      .option("out", { type: "string", demandOption: true, describe: "folder to write, new or empty" })
      .option("step", { type: "number", describe: "of a run: the checkpoint after this many RL steps" })
      .option("adapter", { type: "string", describe: "of a policy of several adapters: which" }),
  async run({ run, out, step, adapter }, output) {
    const merged = await merge(run, out, { step, adapter });
    output.line(`${merged.checkpoint} -> ${out}`);
    output.line("Next: use it as `model.path`, or load it with transformers or vLLM.");
    output.result({ out, ...merged });
  },
});

/**
 * Writes the policy of a run or checkpoint as a plain Hugging Face folder: float32 weights with LoRA merged in, its
 * configs and tokenizer. Whole or not at all. @throws ConfigError when `out` has something in it, CheckpointError when
 * the checkpoint or the base model it needs is missing or is another.
 */
export async function merge(
  run: string,
  out: string,
  { step, adapter }: { readonly step?: number | undefined; readonly adapter?: string | undefined } = {},
): Promise<{ readonly checkpoint: string; readonly weightsSha256: string }> {
  checkOut(out);
  const checkpoint = checkpointOf(run, step);
  const state = readCheckpointState(checkpoint);
  checkAdapter(adapter, state, checkpoint);
  const policy = policyOf(checkpoint, state);
  const base = state.training === "lora" ? state.base! : checkpoint;
  const merged = mergeLora(adapter === undefined ? policy : viewOf(policy, adapter));
  await writeFolderAtomic(out, async (folder) => {
    savePolicy(merged, folder);
    if (state.training === "lora") keepConfigs(base, folder);
    for (const file of tokenizerFiles(checkpoint, base)) copyFileSync(file, join(folder, basename(file)));
  });
  return { checkpoint, weightsSha256: weightsSha256(merged) };
}

/** A folder holds one set of weights. @throws ConfigError */
function checkAdapter(adapter: string | undefined, { adapters }: CheckpointState, checkpoint: string): void {
  const names = Object.keys(adapters ?? {});
  if (adapter === undefined ? names.length === 0 : names.includes(adapter)) return;
  throw new ConfigError({
    what:
      names.length === 0
        ? "the checkpoint has one set of weights for all"
        : adapter === undefined
          ? "the checkpoint has several adapters, and a folder holds one"
          : "the checkpoint has no such adapter",
    where: checkpoint,
    got: adapter === undefined ? "no --adapter" : `--adapter ${adapter}`,
    expected: names.length === 0 ? "no --adapter" : `--adapter with one of ${names.join(", ")}`,
  });
}

function checkOut(out: string): void {
  if (!existsSync(out)) return;
  const there = statSync(out).isDirectory() ? readdirSync(out) : ["a file"];
  if (there.length > 0)
    throw new ConfigError({
      what: "the output folder is not empty",
      where: out,
      got: there.slice(0, 3).join(", ") + (there.length > 3 ? ", ..." : ""),
      next: "Choose a new folder: nothing is ever overwritten.",
    });
}

/** The base's own config files say more than ours do; only the number format is new. */
function keepConfigs(base: string, folder: string): void {
  const { torch_dtype: _, ...config } = readJson(join(base, "config.json")) as Record<string, unknown>;
  writeFileAtomic(
    join(folder, "config.json"),
    `${JSON.stringify({ ...config, dtype: "float32", torch_dtype: "float32" }, null, 2)}\n`,
  );
  const generation = join(base, "generation_config.json");
  if (existsSync(generation)) copyFileSync(generation, join(folder, "generation_config.json"));
}
