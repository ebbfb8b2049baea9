#!/usr/bin/env bash
# Serves GLM-4.5-Air (BF16, 4 GPUs) with vLLM. Flags are checked against vLLM 0.33.0.
# No tool parser: the loop calls no tools.
# Made by `kernelwright models script glm-4.5-air` from app/models/table.cpp: change that, not this.
set -euo pipefail

model=zai-org/GLM-4.5-Air
flags=(--tensor-parallel-size 4 --dtype bfloat16 --reasoning-parser glm45 --max-model-len 65536 --host 127.0.0.1 --port 8000)
weights_gib=206
oldest_vllm=0.11.0
requirement=${KW_VLLM:-vllm==0.33.0}
env_folder=${KW_VLLM_ENV:-$HOME/.cache/kernelwright/vllm}
passed_on=()
dry_run=no
deploy=yes

usage() {
  cat <<'TEXT'
usage: run_glm45_air.sh [--dry-run] [--no-deploy] [FLAG OF VLLM...]

Checks GPUs, port and disk, installs vLLM where there is none, deploys the verifier
to Modal where a token is set, and serves zai-org/GLM-4.5-Air
at http://127.0.0.1:8000/v1. Other flags go to `vllm serve` and come before ours, for instance
  --port 8001   --gpu-memory-utilization 0.85   --max-model-len 32768   --host 0.0.0.0

  --dry-run    print the command, and run nothing
  --no-deploy  leave Modal alone
  --help       this text

Environment:
  CUDA_VISIBLE_DEVICES  the GPUs to use
  KW_VLLM_ENV           virtual environment with vLLM, made if it is not there [~/.cache/kernelwright/vllm]
  KW_VLLM               what to install there [vllm==0.33.0]
  VLLM_API_KEY          the key that the server asks for, which --host 0.0.0.0 should have
  MODAL_TOKEN_ID, MODAL_TOKEN_SECRET, or ~/.modal.toml   Modal's token
  KERNELWRIGHT          the program that deploys [beside this script's folder, or on PATH]
  HF_HOME, HF_TOKEN, HF_HUB_OFFLINE   where weights are kept, and how they are fetched
TEXT
}

say() { printf '%s\n' "$*" >&2; }

# fail WHAT REMEDY
fail() {
  say "error: $1"
  say "  -> $2"
  exit 1
}

# value_of DEFAULT FLAG... : what the flags passed on say last, or the default.
value_of() {
  local value=$1 word name flag waiting=no
  shift
  for word in ${passed_on[@]+"${passed_on[@]}"}; do
    if [ "$waiting" = yes ]; then
      value=$word waiting=no
      continue
    fi
    name=${word%%=*} name=${name//_/-}
    for flag in "$@"; do
      if [ "$name" != "$flag" ]; then continue; fi
      case $word in *=*) value=${word#*=} ;; *) waiting=yes ;; esac
    done
  done
  printf '%s\n' "$value"
}

check_gpus() {
  local wanted=$1 utilisation=$2 rows name total used seen=0 least_mib
  local chosen=()
  least_mib=$((weights_gib * 1024 * 12 / 10 / wanted)) # a fifth more than the weights
  command -v nvidia-smi >/dev/null ||
    fail "nvidia-smi is not there: no NVIDIA driver" "run this on a machine with $wanted NVIDIA GPUs"
  if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
    [ -n "$CUDA_VISIBLE_DEVICES" ] || fail "CUDA_VISIBLE_DEVICES is empty: no GPU may be used" "unset it"
    chosen=(-i "$CUDA_VISIBLE_DEVICES")
  fi
  rows=$(nvidia-smi ${chosen[@]+"${chosen[@]}"} --query-gpu=name,memory.total,memory.used --format=csv,noheader,nounits) ||
    fail "nvidia-smi fails: ${rows:-no output}" "look at \`nvidia-smi\`; CUDA_VISIBLE_DEVICES is '${CUDA_VISIBLE_DEVICES-unset}'"
  while IFS=, read -r name total used; do
    if [ -z "$name" ] || [ "$seen" = "$wanted" ]; then continue; fi
    total=${total// /} used=${used// /}
    # Machines whose CPU and GPU share memory say [N/A].
    if [[ $total =~ ^[0-9]+$ && $used =~ ^[0-9]+$ ]]; then
      [ "$total" -ge "$least_mib" ] ||
        fail "GPU $seen ($name) has $((total / 1024)) GiB; the model needs $((least_mib / 1024)) GiB on each of $wanted" \
          "use larger GPUs, or more: --tensor-parallel-size"
      awk -v t="$total" -v u="$used" -v share="$utilisation" 'BEGIN { exit !(t - u >= t * share) }' ||
        fail "GPU $seen ($name) has $((used / 1024)) of $((total / 1024)) GiB in use; vLLM asks for $utilisation of it" \
          "end what runs there (see nvidia-smi), choose others by CUDA_VISIBLE_DEVICES, or pass --gpu-memory-utilization"
    fi
    seen=$((seen + 1))
  done <<<"$rows"
  [ "$seen" = "$wanted" ] ||
    fail "$seen GPUs are visible; the model needs $wanted" \
      "use a machine with more, set CUDA_VISIBLE_DEVICES, or pass --tensor-parallel-size"
}

check_port() {
  local host=$1 port=$2
  case $host in 0.0.0.0 | :: | '') host=127.0.0.1 ;; esac
  if (exec 3<>"/dev/tcp/$host/$port") 2>/dev/null; then
    fail "port $port of $host is in use" "end what listens there, or pass --port $((port + 1))"
  fi
}

# Weights that are not in the cache yet must fit on its disk.
check_weights() {
  local hub=${HF_HUB_CACHE:-${HF_HOME:-$HOME/.cache/huggingface}/hub} folder free_gib
  if [ -d "$hub/models--${model//\//--}/snapshots" ]; then return; fi
  case ${HF_HUB_OFFLINE:-0} in
    1 | true | yes | on | TRUE | YES | ON)
      fail "$model is not in $hub, and HF_HUB_OFFLINE forbids to fetch it" \
        "copy models--${model//\//--} there from another machine, or unset HF_HUB_OFFLINE" ;;
  esac
  folder=$hub
  until [ -d "$folder" ]; do folder=$(dirname "$folder"); done
  free_gib=$(($(df -Pk "$folder" | awk 'NR == 2 { print $4 }') / 1024 / 1024))
  [ "$free_gib" -ge "$weights_gib" ] ||
    fail "$folder has $free_gib GiB free; $model takes $weights_gib GiB" "make room, or set HF_HOME to a larger disk"
  say "$model is fetched into $hub first: about $weights_gib GiB"
}

# The environment's own, else the one on PATH, which is never changed.
find_vllm() {
  if [ ! -x "$env_folder/bin/vllm" ] && command -v vllm; then return; fi
  printf '%s\n' "$env_folder/bin/vllm"
}

install_vllm() {
  local uv
  say "installing $requirement into $env_folder: about 10 GiB"
  if uv=$(command -v uv); then
    [ -x "$env_folder/bin/python" ] || uv venv --python 3.12 "$env_folder" >&2
  else
    [ -x "$env_folder/bin/python" ] || python3 -m venv "$env_folder" ||
      fail "python3 cannot make $env_folder" "install python3-venv (3.11 or newer), or uv"
    "$env_folder/bin/python" -m pip install --quiet uv >&2 || fail "pip cannot install uv" "install uv yourself"
    uv=$env_folder/bin/uv
  fi
  "$uv" pip install --python "$env_folder/bin/python" --torch-backend=auto "$requirement" >&2 ||
    fail "uv could not install $requirement" "look at its words above; KW_VLLM names another version"
}

check_version() {
  local vllm=$1 version
  version=$("$vllm" --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)?' | tail -n 1) ||
    fail "$vllm --version fails" "run it by hand; if its environment is broken, remove $env_folder and start again"
  [ "$(printf '%s\n' "$oldest_vllm" "$version" | sort -V | head -n 1)" = "$oldest_vllm" ] ||
    fail "$vllm is version $version; $oldest_vllm or newer is needed" \
      "upgrade it, or take it off PATH: then $requirement is installed into $env_folder"
}

find_program() {
  local folder each
  folder=$(dirname "${BASH_SOURCE[0]}")/..
  for each in "${KERNELWRIGHT-}" "$folder/build/kernelwright" "$folder/bin/kernelwright"; do
    if [ -n "$each" ] && [ -x "$each" ]; then printf '%s\n' "$each" && return; fi
  done
  command -v kernelwright
}

# The model takes this machine's GPUs; where there is a token, verdicts come from Modal's.
deploy_verifier() {
  local program
  if [ "$deploy" = no ]; then return; fi
  if [ -z "${MODAL_TOKEN_ID-}" ] && [ ! -f "${MODAL_CONFIG_PATH:-$HOME/.modal.toml}" ]; then
    say "no token of Modal's is set, so the verifier is not deployed there"
    return
  fi
  program=$(find_program) ||
    fail "kernelwright, which deploys the verifier, is not found" "name it in KERNELWRIGHT, or pass --no-deploy"
  say "deploying the verifier to Modal"
  "$program" deploy modal >&2 ||
    fail "the verifier could not be deployed to Modal" "its words stand above; --no-deploy serves without it"
  evaluator=" --evaluator modal"
}

while [ $# != 0 ]; do
  case $1 in
    --dry-run) dry_run=yes ;;
    --no-deploy) deploy=no ;;
    --help | -h) usage && exit 0 ;;
    *) passed_on+=("$1") ;;
  esac
  shift
done

host=$(value_of 127.0.0.1 --host)
port=$(value_of 8000 --port)
tensor=$(value_of 4 --tensor-parallel-size -tp)
data=$(value_of 1 --data-parallel-size -dp)
[[ $port =~ ^[0-9]+$ && $tensor =~ ^[1-9][0-9]*$ && $data =~ ^[1-9][0-9]*$ ]] ||
  fail "--port, --tensor-parallel-size and --data-parallel-size take whole numbers" "see --help"
vllm=$(find_vllm)
command=("$vllm" serve "$model" "${flags[@]}" ${passed_on[@]+"${passed_on[@]}"})

if [ "$dry_run" = yes ]; then
  printf '%q ' "${command[@]}"
  echo
  exit 0
fi

check_gpus $((tensor * data)) "$(value_of 0.92 --gpu-memory-utilization)"
check_port "$host" "$port"
check_weights
[ -x "$vllm" ] || install_vllm
check_version "$vllm"
evaluator=
deploy_verifier
say "serving $model on port $port; once it says that startup is complete:"
say "  kernelwright doctor --vllm-url http://localhost:$port/v1"
say "  kernelwright run --vllm-url http://localhost:$port/v1$evaluator"
# Its environment's tools compile kernels at run time.
PATH=$(dirname "$vllm"):$PATH exec "${command[@]}"
