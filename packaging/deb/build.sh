#!/usr/bin/env bash
# Makes the deb, the rpm, the bill of materials and SHA256SUMS of bin/skerry, in the directory OUT.
# The same binary, version and SOURCE_DATE_EPOCH give the same bytes.
#   build.sh VERSION OUT NFPM
set -euo pipefail
version=$1 out=$2 nfpm=$3
cd "$(dirname "$0")/../.."
: "${SOURCE_DATE_EPOCH:?is the time of the commit}"
umask 022
stage=bin/package
rm -rf "$stage" "$out" && mkdir -p "$stage" "$out"
bin/skerry install files "$stage/root"
arch=$(go env GOARCH)
for f in packaging/deb/nfpm.yaml packaging/deb/p*.sh; do
  sed -e "s/@VERSION@/$version/g" -e "s/@ARCH@/$arch/g" "$f" >"$stage/$(basename "$f")"
done
chmod 0755 "$stage"/*.sh
find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
touch -d "@$SOURCE_DATE_EPOCH" bin/skerry LICENSE
for format in deb rpm; do
  "$nfpm" package --config "$stage/nfpm.yaml" --packager "$format" --target "$out/" >/dev/null
done
go run ./packaging/bom bin/skerry >"$out/skerry.cdx.json"
(cd "$out" && sha256sum -- *.deb *.rpm *.json >SHA256SUMS)
