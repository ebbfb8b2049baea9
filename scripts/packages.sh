#!/usr/bin/env bash
# Installs the missing Debian packages. packages.sh [--needed] build|lint|image|web ...
# With --needed it only prints the missing ones.
. "$(dirname "$0")/lib.sh"

only_say=no
if [ "${1-}" = --needed ]; then only_say=yes && shift; fi

# Debian 12 has Boost 1.81 beside its default 1.74; newer releases have a newer default. The two conflict, and apt
# would replace an installed 1.74, so no script asks for libboost-dev.
boost_version() {
  local version
  for version in 1.81 1.83 1.88; do
    if dpkg-query -W "libboost$version-dev" >/dev/null 2>&1 || apt-cache show "libboost$version-dev" >/dev/null 2>&1; then
      echo "$version" && return
    fi
  done
  echo 1.81
}

# The browser tests take a Node and a Chromium that are there already, wherever they come from.
web_packages() {
  if [ "$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p')" -ge 18 ] 2>/dev/null; then :; else echo nodejs; fi
  command -v npm >/dev/null || echo npm
  [ -n "${KW_CHROMIUM-}" ] || command -v chromium >/dev/null || echo chromium
  echo ca-certificates
}

list_packages() {
  local group boost
  for group in "$@"; do
    case $group in
      build)
        boost=$(boost_version)
        echo clang-19 libclang-rt-19-dev lld-19 binutils cmake ninja-build pkg-config "libboost$boost-dev" "libboost-json$boost-dev" \
          libssl-dev libflatbuffers-dev flatbuffers-compiler libcli11-dev libfmt-dev libsqlitecpp-dev libsqlite3-dev libtomlplusplus-dev \
          libarchive-dev libacl1-dev libbz2-dev liblz4-dev liblzma-dev libzstd-dev nettle-dev zlib1g-dev libcmark-dev libgumbo-dev libxxhash-dev libseccomp-dev libgtest-dev libgmock-dev \
          python3-venv git ca-certificates ;;
      lint) echo clang-format-19 clang-tidy-19 ;;
      image) echo buildah mmdebstrap ;;
      web) web_packages ;;
      *) fail "no such group of packages: $group" ;;
    esac
  done
}

missing_packages() {
  local package
  for package in $(list_packages "$@"); do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

if ! command -v apt-get >/dev/null; then
  [ "$only_say" = yes ] || for tool in clang++-19 ld.lld-19 cmake ninja flatc; do
    command -v "$tool" >/dev/null || fail "$tool is missing, and there is no apt to install it: see docs/building.md"
  done
  exit 0
fi

missing=$(missing_packages "$@" | xargs)
if [ -z "$missing" ]; then exit 0; fi
say "Debian packages that are missing: $missing"
if [ "$only_say" = yes ]; then
  say "  (on a bare Debian 12: 124 MB to download, 690 MB on disk; the linters 11 MB and 58 MB more, Chromium 124 MB and 414 MB)"
  exit 0
fi

sudo=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || fail "run this as root: apt-get install --no-install-recommends $missing"
  sudo=sudo
fi
apt() { $sudo env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@"; }

apt update >/dev/null || fail "apt-get update failed"
missing=$(missing_packages "$@" | xargs)
unknown=$(for package in $missing; do apt-cache show "$package" >/dev/null 2>&1 || echo "$package"; done | xargs)
if [ -n "$unknown" ]; then
  fail "this release has no packages $unknown (docs/building.md lists releases that do); the wheel of make wheel and the" \
    "tarball of make dist, built elsewhere, run on every x86-64 Linux with glibc 2.35 or newer"
fi
apt --assume-no install --no-install-recommends $missing | grep -E '^(Need to get|After this)' || true
apt install -y --no-install-recommends $missing >/dev/null </dev/null || fail "apt-get could not install: $missing"
