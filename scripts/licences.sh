#!/usr/bin/env bash
# Copies the licences of all linked or packed dependencies. licences.sh FOLDER
# gcc's covers libstdc++ and libgcc. Licences of libraries that are not Debian's are not found and not copied.
to=$(realpath -m "$1")
. "$(dirname "$0")/lib.sh"
mkdir -p "$to"

boost=
if command -v dpkg-query >/dev/null; then
  boost=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'libboost[0-9]*-dev' | awk '$1 == "installed" { print $2; exit }')
fi
for package in "$boost" libssl-dev libfmt-dev libcli11-dev libflatbuffers-dev libsqlite3-dev libsqlitecpp-dev \
  libtomlplusplus-dev libarchive-dev nettle-dev liblzma-dev libzstd-dev liblz4-dev libbz2-dev zlib1g-dev libxxhash-dev libcmark-dev \
  libgumbo-dev libseccomp-dev gcc-12-base; do
  if [ -f "/usr/share/doc/$package/copyright" ]; then cp -L "/usr/share/doc/$package/copyright" "$to/$package"; fi
done
for licence in third_party/*/LICENSE; do cp "$licence" "$to/$(basename "$(dirname "$licence")")"; done
cp web/built/licences.txt "$to/page"
for licence in Apache-2.0 LGPL-2.1; do
  if [ -f "/usr/share/common-licenses/$licence" ]; then cp -L "/usr/share/common-licenses/$licence" "$to/$licence"; fi
done
