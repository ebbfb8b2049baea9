#!/usr/bin/env bash
# Runs the conformance tool of the Model Context Protocol against `kernelwright mcp --http`. By hand: it needs Node 22 and
# downloads the tool. agent_conformance.sh [FOLDER]; Node is $NODE, else the `node` on PATH. Exits 1 if a scenario fails
# that should pass. docs/agents.md says why the others cannot pass.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$(mktemp -d)}
node=${NODE:-node}
program=${KERNELWRIGHT:-$here/build/kernelwright}
major=$("$node" -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 22 ] || { echo "error: Node $major is too old: give Node 22 or newer with NODE=PATH" >&2; exit 2; }
npm install --prefix "$folder" --no-audit --no-fund --silent \
  @modelcontextprotocol/conformance@0.1.16
"$program" mcp --http --port 0 --device cpu ${KW_PYTHON:+--python "$KW_PYTHON"} >"$folder/url" 2>"$folder/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
until [ -s "$folder/url" ]; do kill -0 "$server"; sleep 0.1; done
failed=0
for scenario in server-initialize ping tools-list resources-list dns-rebinding-protection; do
  if "$node" "$folder/node_modules/@modelcontextprotocol/conformance/dist/index.js" server --url "$(cat "$folder/url")" \
    --scenario "$scenario" >"$folder/$scenario.txt" 2>&1; then
    echo "passed  $scenario"
  else
    echo "FAILED  $scenario: $folder/$scenario.txt"
    failed=1
  fi
done
exit "$failed"
