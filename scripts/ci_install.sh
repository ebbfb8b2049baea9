#!/usr/bin/env bash
# Installs Kernelwright for action.yml. ci_install.sh FOLDER [WHEEL|TARBALL]
# FOLDER becomes a Python environment with PyTorch, Triton and the command kernelwright. Without a wheel or a tarball the
# program is built from this checkout, which takes a quarter of an hour and Debian's packages: scripts/packages.sh.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
program=${2-}
[ -z "$program" ] || program=$(realpath -- "$program")

# The working directory is a pull request's checkout: Python must import nothing from there.
cd "$root"
"${KW_PYTHON:-python3}" -I -m venv "$folder"
install() { "$folder/bin/python" -I -m pip install --disable-pip-version-check --progress-bar off "$@"; }

case $program in
  '')
    # Two statements: on the left of && a failure would not end this script.
    scripts/packages.sh build
    install "$root[engine]" ;;
  *.whl) install "$program[engine]" ;;
  *.tar.gz)
    # An earlier use in the same job may have unpacked another program here.
    rm -rf -- "$folder/program"
    mkdir "$folder/program"
    tar -xzf "$program" -C "$folder/program" --strip-components 1
    install -r python/requirements.txt
    ln -sf ../program/bin/kernelwright "$folder/bin/kernelwright" ;;
  *) echo "error: $program is neither a wheel (.whl) nor a tarball (.tar.gz)" >&2 && exit 1 ;;
esac

"$folder/bin/kernelwright" --version
