#!/usr/bin/env bash
# Tokens a second of the trainer and of bare TRL, in turns on one GPU: bench/train_gpu.sh FOLDER
# No network, no downloads: the model has random weights (bench/train/shapes.py), the tokenizer and the rows are made from
# this repository's files. $PYTHON has the packages of python/requirements-train.txt.
# RECIPES ("default fast"), ROUNDS (1), STEPS (3), WARM_UP (1), SHAPE (qwen3-8b), LIMIT_GIB (24); SECONDS_EACH (240) ends a
# single measurement. A machine with a limit for each command takes one recipe at a time; results are appended.
# DEVICE=cpu takes a tiny model, in float32 and without the GPU's kernels: it shows that everything runs, no figure counts.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: bench/train_gpu.sh FOLDER}
python=${PYTHON:-.venv/bin/python}
mkdir -p "$out"
"$python" - "$out" <<'ROWS'
import json
import sys
from pathlib import Path
sys.path.insert(0, "examples/closed_loop")
import tiny_model
out = Path(sys.argv[1])
tiny_model.make_tokenizer(8192).save_pretrained(out / "tokenizer")
texts = [path.read_text(encoding="utf-8") for folder in ("python", "examples", "tests", "bench", "scripts")
         for path in sorted(Path(folder).rglob("*.py"))]
with open(out / "rows.jsonl", "w", encoding="utf-8") as rows:
    for text in texts:
        for begin in range(0, len(text), 2000):
            piece = text[begin:begin + 2000]
            if len(piece) > 300:
                rows.write(json.dumps({"prompt": piece[:len(piece) // 3], "completion": piece[len(piece) // 3:]}) + "\n")
ROWS
common=(--rows "$out/rows.jsonl" --tokenizer "$out/tokenizer" --steps "${STEPS:-3}" --warm-up "${WARM_UP:-1}")
if [ "${DEVICE:-cuda}" = cpu ]; then
  common+=(--device cpu --tiny --limit-gib 0 --set quantisation.type=none --set quantisation.compute=fp32
    --set training.precision=fp32 --set training.attention=sdpa --set training.kernels=none --set data.max_length=256)
else
  common+=(--device cuda --shape "${SHAPE:-qwen3-8b}" --limit-gib "${LIMIT_GIB:-24}")
fi
for round in $(seq "${ROUNDS:-1}"); do
  for recipe in ${RECIPES:-default fast}; do
    for of in speed bare; do
      status=0
      timeout "${SECONDS_EACH:-240}" "$python" "bench/train/$of.py" "${common[@]}" --recipe "recipes/$recipe.toml" \
        > "$out/answer.json" 2> "$out/$of-$recipe-$round.log" || status=$?
      "$python" - "$out" "$of" "$recipe" "$round" "$status" <<'LINE'
import json
import sys
from pathlib import Path
out, of, recipe, round_number, status = sys.argv[1:]
lines = (Path(out) / "answer.json").read_text(encoding="utf-8").splitlines()
found = json.loads(lines[-1]) if lines else {"error": f"exit {status}: see {of}-{recipe}-{round_number}.log"}
name = {"speed": "kernelwright", "bare": "trl"}[of]
with open(Path(out) / "results.jsonl", "a", encoding="utf-8") as results:
    results.write(json.dumps({"of": name, "recipe_name": recipe, "round": int(round_number)} | found) + "\n")
if "error" in found:
    print(f"{recipe:8} {name:13} {found['error']} {found.get('detail', found.get('remedy', ''))}", flush=True)
else:
    gib = (found["peak_reserved_bytes"] or 0) / 2**30
    print(f"{recipe:8} {name:13} {found['tokens_per_s']:9,.0f} tokens/s {found['learnt_tokens_per_s']:9,.0f} learnt/s "
          f"{found['step_s']['median']:7.3f} s/step {gib:5.1f} GiB", flush=True)
LINE
    done
  done
done
rm -f "$out/answer.json"
"$python" - "$out/results.jsonl" <<'RATIO'
import json
import sys
best, seen = {}, [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
for each in seen:
    if "error" not in each:
        key = each["recipe_name"], each["of"]
        best[key] = max(best.get(key, 0.0), each["tokens_per_s"])
for recipe in ("default", "fast"):
    ours, bare = (best.get((recipe, of)) for of in ("kernelwright", "trl"))
    if ours and bare:
        print(f"{recipe}: {ours / bare:.2f} times TRL's tokens a second (the faster round of each)")
sys.exit(any("error" in each for each in seen))
RATIO
