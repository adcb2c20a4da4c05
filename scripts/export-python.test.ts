import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Project, toyProject } from "./testing/toy-project.ts";
import { schooled } from "./testing/toy-school.ts";

/** Opt-in: FORAGER_EXPORT_PYTHON names a Python that has `datasets`, `pyarrow`, `trl` and what they need. */
const python = process.env.FORAGER_EXPORT_PYTHON;

const load = `
import json, sys
import datasets, pyarrow.feather, pyarrow.parquet
folder = sys.argv[1]
rows = pyarrow.parquet.read_table(f"{folder}/rl.parquet").to_pylist()
assert rows == pyarrow.feather.read_table(f"{folder}/rl.arrow").to_pylist()
assert all(len(r["tokens"]) == len(r["mask"]) == len(r["logprobs"]) for r in rows)
counts = {}
for kind, name in [("json", "openai.jsonl"), ("json", "sharegpt.jsonl"), ("json", "trl.jsonl"), ("json", "tools.jsonl"),
                   ("json", "dpo.jsonl"), ("parquet", "rl.parquet"), ("arrow", "rl.arrow")]:
    counts[name] = len(datasets.load_dataset(kind, data_files=f"{folder}/{name}", split="train"))
print(json.dumps({"counts": counts, "ids": sum(sum(r["tokens"]) for r in rows)}))
`;

/** TRL's trainer on a toy model: the labels that it makes are our ids where our mask is 1. */
const train = `
import json, sys
import datasets
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer
from trl.data_utils import is_conversational
folder = sys.argv[1]
vocabulary = 4096
inner = Tokenizer(models.WordLevel({f"w{i}": i for i in range(vocabulary)}, unk_token="w0"))
inner.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="w1", pad_token="w0", unk_token="w0")
tokenizer.chat_template = "{% for m in messages %}{{ m.content }} {% endfor %}"
model = LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                                     num_attention_heads=2, num_key_value_heads=2))
rows = datasets.load_dataset("json", data_files=f"{folder}/trl.jsonl", split="train")
pairs = datasets.load_dataset("json", data_files=f"{folder}/dpo.jsonl", split="train")
assert is_conversational(rows[0]) and is_conversational(pairs[0])
config = SFTConfig(output_dir=f"{folder}/trl", max_steps=1, per_device_train_batch_size=2, report_to=[], use_cpu=True,
                   bf16=False, max_length=None, save_strategy="no")
trainer = SFTTrainer(model=model, args=config, train_dataset=rows, processing_class=tokenizer)
batch = trainer.data_collator([trainer.train_dataset[0], trainer.train_dataset[1]])
for i in range(2):
    row = rows[i]
    expected = [t if m else -100 for t, m in zip(row["input_ids"], row["assistant_masks"])]
    assert batch["labels"][i].tolist()[:len(expected)] == expected, (batch["labels"][i].tolist(), expected)
print(json.dumps({"loss": trainer.train().training_loss}))
`;

describe.skipIf(!python)("exports in Python (FORAGER_EXPORT_PYTHON)", () => {
  let project: Project;
  const written: Record<string, number> = {};
  beforeAll(async () => {
    project = toyProject();
    const base = await schooled(project);
    const run = project.at("run");
    await project.forager(
      ...["train", project.at("train.yaml"), `model={ path: ${base} }`, "env.maxTurns=3"],
      ...["rollout.groupSize=8", "rollout.maxRows=16", "rl.slots=512", "--quiet"],
    );
    const exports = {
      "openai.jsonl": ["sft"],
      "sharegpt.jsonl": ["sft", "--format", "sharegpt"],
      "trl.jsonl": ["sft", "--format", "trl"],
      "tools.jsonl": ["sft", "--tool-calls"],
      "dpo.jsonl": ["dpo", "--margin", "0.01", "--pairs-per-group", "4"],
      "rl.parquet": ["rl"],
      "rl.arrow": ["rl"],
    };
    for (const [name, words] of Object.entries(exports)) {
      const said = await project.forager("export", ...words, run, "--out", project.at(name), "--json");
      written[name] = Number(said.events.at(-1)?.rows);
    }
  }, 120_000);
  afterAll(() => project.remove());

  const run = (code: string): Record<string, unknown> => {
    const { status, stdout, stderr } = spawnSync(python!, ["-c", code, project.dir], {
      encoding: "utf8",
      env: { ...process.env, HF_HOME: project.at("hf"), HF_HUB_OFFLINE: "1" },
    });
    expect(status, stderr).toBe(0);
    return JSON.parse(stdout.trim().split("\n").at(-1)!) as Record<string, unknown>;
  };

  test("datasets and pyarrow read every file, row for row", () => {
    expect(run(load).counts).toEqual(written);
  });

  test("TRL trains on the ids, with the labels that the mask says", () => {
    expect(Number.isFinite(run(train).loss)).toBe(true);
  }, 240_000);
});
