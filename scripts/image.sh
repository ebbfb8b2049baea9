#!/usr/bin/env bash
# make image: an OCI image with the program, PyTorch, Triton and a C compiler. docs/containers.md describes its use.
#     scripts/image.sh [--base SUITE|IMAGE] [--slim] [--tarball F] [--tag NAME] [--output F] [--dry-run]
. "$(dirname "$0")/lib.sh"

base=bookworm
slim=no
tarball=
tag=
output=
dry_run=no
work=${KW_IMAGE_FOLDER:-build/image}

usage() {
  cat <<'TEXT'
usage: scripts/image.sh [--base SUITE|IMAGE] [--slim] [--tarball F] [--tag NAME] [--output F] [--dry-run]

Builds an OCI image that runs `kernelwright`, with buildah.

  --base B     a suite of Debian, built with mmdebstrap, or an image of Debian or Ubuntu with apt, such as
               docker.io/library/debian:12-slim (a base with : or / is an image) [bookworm]
  --slim       PyTorch without CUDA: verdicts from the CPU only
  --tarball F  the program, a tarball of `make dist` [made by `make dist`]
  --tag NAME   the image's name [kernelwright:VERSION, kernelwright:VERSION-slim]
  --output F   write the image into this file, too, as an OCI archive
  --dry-run    print the steps and run nothing

Environment:
  BUILDAH_ISOLATION       isolation of the build's own commands [chroot]
  STORAGE_DRIVER          buildah's storage driver, such as vfs where overlay is refused
  KW_IMAGE_FOLDER         folder for the unpacked program and the base [build/image]
  KW_IMAGE_CPU_INDEX      index with PyTorch's CPU wheels [https://download.pytorch.org/whl/cpu]
  PIP_CERT, PIP_INDEX_URL, PIP_CACHE_DIR, http_proxy, https_proxy   passed to pip
TEXT
}

while [ $# != 0 ]; do
  case $1 in
    --slim) slim=yes ;;
    --dry-run) dry_run=yes ;;
    --help | -h) usage && exit 0 ;;
    --base | --tarball | --tag | --output)
      if [ -z "${2-}" ]; then fail "$1 needs a value: see scripts/image.sh --help"; fi
      case $1 in
        --base) base=$2 ;;
        --tarball) tarball=$2 ;;
        --tag) tag=$2 ;;
        --output) output=$2 ;;
      esac
      shift ;;
    *) fail "unknown argument $1: see scripts/image.sh --help" ;;
  esac
  shift
done

suffix=
if [ "$slim" = yes ]; then suffix=-slim; fi
tag=${tag:-kernelwright:$VERSION$suffix}
case $base in *:* | */*) from_image=yes ;; *) from_image=no ;; esac
export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot}

# Triton compiles its launchers with gcc and Python's headers; tini reaps processes and passes signals on.
packages=(ca-certificates gcc libc6-dev libpython3-dev python3 python3-venv tini)
python=/opt/python
program=/opt/kernelwright

# do_ COMMAND... : runs it, or prints it.
do_() {
  if [ "$dry_run" = yes ]; then
    printf '%q ' "$@"
    echo
  else
    "$@"
  fi
}

need() {
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || fail "$tool is missing: scripts/packages.sh image installs it"
  done
}

# The program of the tarball, unpacked into $work/kernelwright.
unpack_program() {
  if [ -z "$tarball" ]; then
    tarball=dist/kernelwright-$VERSION-linux-x86_64.tar.gz
    do_ scripts/dist.sh
  fi
  if [ "$dry_run" = no ] && [ ! -f "$tarball" ]; then fail "$tarball is not there: make dist"; fi
  do_ rm -rf "$work/kernelwright"
  do_ mkdir -p "$work/kernelwright"
  do_ tar -xzf "$tarball" -C "$work/kernelwright" --strip-components=1 --no-same-owner
}

# Sets `container` to a new one with the base and its Debian packages.
make_base() {
  local root
  if [ "$from_image" = yes ]; then
    container=$(buildah from "$base")
    in_container apt-get update
    in_container env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
    in_container sh -c 'rm -rf /var/lib/apt/lists/*'
    return
  fi
  # Made once for a suite and its packages; a newer one after the file is removed.
  root=$work/root-$base-$(printf '%s\n' "${packages[@]}" | digest).tar
  if [ ! -f "$root" ]; then
    mmdebstrap --variant=minbase --include="$(tr ' ' , <<<"${packages[*]}")" \
      --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
      --format=tar "$base" "$root.new" >&2 || fail "mmdebstrap could not make $base"
    mv "$root.new" "$root"
  fi
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$root" / >/dev/null
}

in_container() { buildah run "${mounts[@]}" "$container" -- "$@"; }

# pip's cache and certificate are the host's, and stay out of the image.
find_mounts() {
  local cache=${PIP_CACHE_DIR:-$HOME/.cache/pip}
  mkdir -p "$cache"
  mounts=(--volume "$cache:/root/.cache/pip")
  if [ -n "${PIP_CERT-}" ]; then mounts+=(--volume "$PIP_CERT:/run/pip-certificate.pem:ro" --env PIP_CERT=/run/pip-certificate.pem); fi
  if [ -n "${PIP_INDEX_URL-}" ]; then mounts+=(--env "PIP_INDEX_URL=$PIP_INDEX_URL"); fi
}

install_python() {
  local torch
  buildah copy --quiet "$container" python/requirements.txt /opt/requirements.txt >/dev/null
  in_container python3 -m venv "$python"
  if [ "$slim" = yes ]; then
    torch=$(sed -n 's/^\(torch==.*\)/\1+cpu/p' python/requirements.txt)
    in_container "$python/bin/pip" install --disable-pip-version-check --progress-bar off --no-compile \
      --extra-index-url "${KW_IMAGE_CPU_INDEX:-https://download.pytorch.org/whl/cpu}" "$torch"
    # pip would replace the CPU's PyTorch to meet the same pin.
    in_container sed -i '/^torch==/d' /opt/requirements.txt
  fi
  in_container "$python/bin/pip" install --disable-pip-version-check --progress-bar off --no-compile -r /opt/requirements.txt
  in_container "$python/bin/python" -c 'import torch, triton, numpy, flatbuffers; print(torch.__version__, triton.__version__)'
}

configure() {
  buildah config \
    --entrypoint '["/usr/bin/tini", "--", "kernelwright"]' \
    --cmd 'serve --host 0.0.0.0 --store /var/lib/kernelwright/service.db' \
    --env "PATH=$program/bin:$python/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    --env "VIRTUAL_ENV=$python" --env LC_ALL=C.UTF-8 \
    --env NVIDIA_VISIBLE_DEVICES=all --env NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    --volume /var/lib/kernelwright --port 8471 --workingdir /work --stop-signal SIGTERM \
    --label org.opencontainers.image.title=kernelwright --label "org.opencontainers.image.version=$VERSION" \
    --label org.opencontainers.image.licenses=Apache-2.0 "$container"
}

build() {
  find_mounts
  stage "base $base" make_base
  stage "Python packages" install_python
  buildah copy --quiet "$container" "$work/kernelwright" "$program" >/dev/null
  in_container mkdir -p /work /var/lib/kernelwright
  configure
  in_container kernelwright --version
  stage "image $tag" buildah commit --quiet --format oci "$container" "$tag"
  if [ -n "$output" ]; then stage "$output" buildah push --quiet "$tag" "oci-archive:$output:$tag"; fi
}

if [ "$dry_run" = no ]; then
  need buildah
  if [ "$from_image" = no ]; then need mmdebstrap; fi
fi
unpack_program
if [ "$dry_run" = yes ]; then
  say "base: $base ($(if [ "$from_image" = yes ]; then echo an image; else echo a suite of Debian; fi))"
  say "packages: ${packages[*]}"
  say "python: $(sed -n 's/^\(torch==.*\)/\1/p' python/requirements.txt)$(if [ "$slim" = yes ]; then echo +cpu; fi) and the rest of python/requirements.txt"
  say "image: $tag${output:+, written to $output}"
  exit 0
fi
container=
trap 'if [ -n "$container" ]; then buildah rm "$container" >/dev/null; fi' EXIT
build
say "$tag: podman run --rm $tag --version; see docs/containers.md"
