#!/usr/bin/env bash
# What search is worth to SmolLM2-135M-Instruct: EM@100 on the dev questions of a real index, with and without.
#   scripts/integration/smollm2-search.sh MODEL DATA [OUT [--policy RUN --step N]]     without a policy: as it comes
# MODEL: a Hugging Face folder; DATA: questions.dev.jsonl, questions.train.jsonl, corpus.jsonl.gz (docs/own-data.md).
# The index is built at the first run (a minute). Minutes on two cores.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
model=$(realpath "$1") data=$(realpath "$2") out=$(realpath -m "${3:-evals/smollm2-search}")
shift 2
[ $# -eq 0 ] || shift
cd "$(dirname "$0")/../.."
exec npx tsx scripts/main.ts search-value configs/smollm2-multihop.yaml --out "$out" --retrievers off --budgets 0 \
  model.path="$model" data.train.path="$data/questions.train.jsonl" \
  eval.benchmarks.0.source.path="$data/questions.dev.jsonl" eval.benchmarks.0.limit=100 'eval.emAt=[50, 100]' \
  search.corpus="$data/corpus.jsonl.gz" search.index="$out-index" "$@"
