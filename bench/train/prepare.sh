#!/usr/bin/env bash
# Gathers the packages of bench/train for a machine with a GPU and without a network: prepare.sh FOLDER [PYTHON_VERSION]
# Unpacks the wheels of python/requirements-train.txt for that Python (3.12) into FOLDER/site, for PYTHONPATH there, on
# top of a PyTorch 2.11 for CUDA 13.0 with Triton, numpy and pyarrow. Keeps only bitsandbytes' library for CUDA 13.0.
# Prints the size at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."
into=${1:?usage: bench/train/prepare.sh FOLDER [PYTHON_VERSION]}
version=${2:-3.12}
pip=${PIP:-.venv/bin/python -m pip}
# Packages that such machines already have, in any version.
there="pandas|psutil|PyYAML|packaging|python-dateutil|tzdata|tqdm|anyio|h11|idna|hf-xet|safetensors"

rm -rf "$into" && mkdir -p "$into/wheels" "$into/site"
platforms=()
for each in manylinux_2_28_x86_64 manylinux_2_24_x86_64 manylinux_2_17_x86_64 manylinux2014_x86_64 manylinux_2_31_x86_64 \
  manylinux_2_34_x86_64 manylinux_2_27_x86_64 manylinux_2_26_x86_64 manylinux1_x86_64; do
  platforms+=(--platform "$each")
done
grep -vE "^(#|$)|^($there)==" python/requirements-train.txt >"$into/wanted.txt"
$pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --python-version "$version" --implementation cp \
  "${platforms[@]}" -d "$into/wheels" -r "$into/wanted.txt"
for wheel in "$into"/wheels/*.whl; do
  python3 -m zipfile -e "$wheel" "$into/site"
done
find "$into/site/bitsandbytes" -name 'libbitsandbytes_*.so' ! -name '*_cuda130.so' ! -name '*_cpu.so' -delete
rm -rf "$into/wheels"
(cd "$into/site" && find . -type f | LC_ALL=C sort | tar -czf ../site.tar.gz -T -)
rm -rf "$into/site"
du -k "$into/site.tar.gz"
echo "there: mkdir -p SITE && tar -xzf site.tar.gz -C SITE && export PYTHONPATH=SITE"
