#!/usr/bin/env bash
# Stand-ins for the CUDA libraries that a CUDA build of torch links against, so that it loads without them: every
# function answers "no device" (100), and torch runs on the CPU.
#   cuda-stand-ins.sh SITE_PACKAGES/torch/lib
set -euo pipefail

lib=${1:?usage: cuda-stand-ins.sh TORCH_LIB}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for each in "$lib"/*.so; do readelf -d "$each"; done | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u |
  grep -E '^lib(cu|nv|nccl)' > "$work/libraries"
for each in "$lib"/lib*.so; do nm -D --undefined-only "$each"; done | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u |
  grep -E '^(__cuda|cu[A-Z]|cu(da|blas|dnn|fft|File|pti|rand|solver|sparse)|nccl|nv(rtc|JitLink|shmem|tx))' |
  grep -vxE 'cudaGetError(String|Name)' > "$work/functions"

{
  echo 'const char *cudaGetErrorString(int code) { return "no CUDA device"; }'
  echo 'const char *cudaGetErrorName(int code) { return "cudaErrorNoDevice"; }'
  while read -r name; do echo "long $name(void) { return 100; }"; done < "$work/functions"
} > "$work/stand-in.c"
gcc -w -shared -fPIC -Wl,-soname,libforagernocuda.so -o "$lib/libforagernocuda.so" "$work/stand-in.c"

# The functions live in one library and each name is an empty one that needs it: the loader refuses an unversioned
# symbol in the very library that a version was asked of.
while read -r name; do
  if [[ ! -e "$lib/$name" || $(stat -c %s "$lib/$name") -lt 60000 ]]; then
    echo | gcc -shared -fPIC -x c - -Wl,-soname,"$name" -Wl,--no-as-needed -Wl,-rpath,'$ORIGIN' -L"$lib" -lforagernocuda -o "$lib/$name"
  fi
done < "$work/libraries"
echo "stand-ins for $(wc -l < "$work/libraries") libraries with $(wc -l < "$work/functions") functions"
