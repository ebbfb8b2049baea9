#!/bin/sh
# A kernel whose verdict says that it is correct and counts.
set -eu
mkdir -p /app
cp "$(dirname "$0")/kernel.py" /app/kernel.py
