"""Makes rl/policy/golden: three tiny random models with LoRA adapters, and what transformers and PEFT say of them.

Run by hand: python bench/golden/make_golden.py (torch, transformers 5, peft 0.21). Logprobs and gradients are float64.
Each model covers what the others do not: biases everywhere, both config dialects, three ropes, F32/BF16/F16, shards.
"""
import json
import shutil
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config

OUT = Path(__file__).resolve().parents[2] / "rl" / "policy" / "golden"
SIZE = dict(vocab_size=37, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=128)
TOKENS, TEMPERATURE = 24, 0.7
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]

MODELS = {
    "llama": dict(
        config=LlamaConfig(**SIZE, head_dim=6, attention_bias=True, mlp_bias=True, tie_word_embeddings=False,
                           eos_token_id=[2, 5], rope_parameters=dict(
                               rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
                               high_freq_factor=4.0, original_max_position_embeddings=16)),
        dtype=torch.float32, old_dialect=False, shard="1GB", lora=dict(r=4, lora_alpha=8, target_modules=ALL)),
    "qwen2": dict(
        config=Qwen2Config(**SIZE, tie_word_embeddings=True, rope_parameters=dict(
            rope_type="linear", rope_theta=10000.0, factor=2.0)),
        dtype=torch.float16, old_dialect=True, shard="5KB", lora=dict(r=2, lora_alpha=8, target_modules=ALL)),
    "qwen3": dict(
        config=Qwen3Config(**SIZE, head_dim=8, tie_word_embeddings=True, rope_parameters=dict(
            rope_type="yarn", rope_theta=1000000.0, factor=4.0, original_max_position_embeddings=16)),
        dtype=torch.bfloat16, old_dialect=False, shard="1GB",
        lora=dict(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "down_proj"], use_rslora=True)),
}


def randomize(module, scale):
    for name, p in module.named_parameters():
        gain = "norm" in name
        p.data = (1.0 if gain else 0.0) + torch.randn_like(p) * (0.2 if gain else scale)


def to_old_dialect(path):
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = {"type": rope.pop("rope_type"), **rope}
    path.write_text(json.dumps(config, indent=2) + "\n")


def make(name, config, dtype, old_dialect, shard, lora):
    torch.manual_seed(20 + len(name))
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    base = AutoModelForCausalLM.from_config(config)
    randomize(base, 0.3)
    base.to(dtype).save_pretrained(folder, max_shard_size=shard)

    peft = get_peft_model(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32),
                          LoraConfig(task_type="CAUSAL_LM", **lora))
    for n, p in peft.named_parameters():
        if "lora_" in n:
            p.data = torch.randn_like(p) * 0.3
    peft.save_pretrained(folder / "adapter")
    (folder / "adapter" / "README.md").unlink(missing_ok=True)

    # From disk again, in float64: what anyone who reads these files must get.
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64),
                                      folder / "adapter", is_trainable=True).double()
    ids = torch.randint(0, SIZE["vocab_size"], (1, TOKENS + 1))
    coef = torch.randn(TOKENS, dtype=torch.float64)
    logits = model(input_ids=ids[:, :-1]).logits[0]
    logprobs = torch.log_softmax(logits / TEMPERATURE, -1).gather(-1, ids[0, 1:, None])[:, 0]
    loss = (coef * logprobs).sum()
    loss.backward()
    grads = {n.replace(".default", ""): p.grad.float().contiguous()
             for n, p in model.named_parameters() if "lora_" in n}
    save_file(grads, folder / "lora_grads.safetensors")
    with model.disable_adapter():
        plain = model(input_ids=ids[:, :-1]).logits[0]
    expected = dict(ids=ids[0].tolist(), coef=coef.tolist(), temperature=TEMPERATURE, loss=loss.item(),
                    logprobs=logprobs.tolist(), baseLogitsLast=plain[-1].tolist())
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")
    if old_dialect:
        to_old_dialect(folder / "config.json")
    adapter = folder / "adapter" / "adapter_config.json"
    adapter.write_text(json.dumps(json.loads(adapter.read_text()) | {"base_model_name_or_path": f"golden/{name}"},
                                  indent=2) + "\n")
    for file in folder.rglob("*.safetensors"):
        file.chmod(0o644)
    print(name, sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()), "bytes, loss", loss.item())


for name, spec in MODELS.items():
    make(name, **spec)
