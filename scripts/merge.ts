import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { CheckpointError, ConfigError } from "../core/errors.ts";
import { writeFileAtomic, writeFolderAtomic } from "../core/files.ts";
import { loadPolicy, savePolicy } from "../rl/policy/checkpoint.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { weightsSha256 } from "../rl/policy/weights-hash.ts";
import { type CheckpointState, readCheckpointState } from "../rl/run-checkpoint.ts";
import { listCheckpoints, openRunFolder } from "../track/run-folder.ts";
import { defineCommand } from "./command.ts";

export const command = defineCommand({
  positionals: "<run>",
  examples: [
    ["forager merge runs/smollm2 --out smollm2-rl", "the run's last policy as a plain Hugging Face folder"],
    ["forager merge runs/smollm2/checkpoints/rl-000040 --out at-40", "the policy of one checkpoint"],
  ],
  builder: (yargs) =>
    yargs
      .positional("run", {
        type: "string",
        demandOption: true,
        describe: "a run folder (its last checkpoint is taken) or one of its checkpoints",
      })
      .option("out", { type: "string", demandOption: true, describe: "folder to write, new or empty" }),
  async run({ run, out }, output) {
    const merged = await merge(run, out);
    output.line(`${merged.checkpoint} -> ${out}`);
    output.line("Next: use it as `model.path`, or load it with transformers or vLLM.");
    output.result({ out, ...merged });
  },
});

/** What a tokenizer may consist of, as Hugging Face and we name the files. */
const tokenizerFiles = [
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "chat_template.jinja",
  "vocabulary.json",
];

/**
 * Writes the policy of a run or checkpoint as a plain Hugging Face folder: float32 weights with LoRA merged in, its
 * configs and tokenizer. Whole or not at all. @throws ConfigError when `out` has something in it, CheckpointError when
 * the checkpoint or the base model it needs is missing or is another.
 */
export async function merge(
  run: string,
  out: string,
): Promise<{ readonly checkpoint: string; readonly weightsSha256: string }> {
  checkOut(out);
  const checkpoint = checkpointOf(run);
  const state = readCheckpointState(checkpoint);
  const base = state.training === "lora" ? baseOf(state, checkpoint) : checkpoint;
  const policy =
    state.training === "lora"
      ? loadPolicy(base, { training: "lora", adapter: join(checkpoint, "adapter"), seed: 0 })
      : loadPolicy(base, { training: "full", seed: 0 });
  checkSame(policy, state, checkpoint);
  const merged = loadedAs(policy);
  await writeFolderAtomic(out, async (folder) => {
    savePolicy(merged, folder);
    keepConfigs(base, folder);
    for (const name of tokenizerFiles) {
      const from = [checkpoint, base].map((each) => join(each, name)).find(existsSync);
      if (from) copyFileSync(from, join(folder, name));
    }
  });
  return { checkpoint, weightsSha256: weightsSha256(loadPolicy(out, { training: "full", seed: 0 })) };
}
