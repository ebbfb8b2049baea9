#!/usr/bin/env bash
# The page of `kernelwright report` and `kernelwright view` (web/). Needs Node 18 or newer; the build of the program does not.
#   web.sh build          web/built/ from web/src
#   web.sh check          proves that web/built/ is what its sources give, in a clean copy; checks types; runs the unit tests
#   web.sh test FILE...   runs tests of tests/browser in Chromium
#   web.sh packages       installs the packages of web/package-lock.json into web/node_modules
. "$(dirname "$0")/lib.sh"

# install_packages FOLDER: exactly those of the lock file, without running a script of theirs.
install_packages() {
  (cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error) ||
    fail "npm could not install the packages of web/package-lock.json"
}

# Once for each lock file.
packages() {
  scripts/packages.sh web
  local state
  state=$(cat web/package.json web/package-lock.json | digest)
  if [ "$(cat web/node_modules/.installed 2>/dev/null)" = "$state" ]; then return; fi
  install_packages web
  echo "$state" >web/node_modules/.installed
}

check() {
  scripts/packages.sh web
  copy=$(mktemp -d)
  trap 'rm -rf "$copy"' EXIT
  tar -C web --exclude ./node_modules --exclude ./built -cf - . | tar -C "$copy" -xf -
  stage "npm ci" install_packages "$copy"
  stage "build" node "$copy/build.mjs" --into "$copy/built"
  diff -r "$copy/built" web/built >/dev/null || fail "web/built is not what web/src gives: run make web, and commit web/built"
  stage "types" node "$copy/node_modules/typescript/bin/tsc" --noEmit -p "$copy/tsconfig.json"
  node "$copy/build.mjs" --tests "$copy/tests-built"
  stage "unit tests" node --test --test-reporter=dot "$copy"/tests-built/*.mjs
}

case ${1-} in
  build) packages && node web/build.mjs ;;
  check) check ;;
  test) shift && packages && node --test --test-reporter=spec "$@" ;;
  packages) packages ;;
  *) fail "usage: web.sh build | check | test FILE... | packages" ;;
esac
