#!/usr/bin/env bash
# Makes the deb, the rpm, the archive and manifest of the kubectl plugin, the bill of materials and
# SHA256SUMS of bin/skerry, in the directory OUT. The manifest says that the archive will be at
# DIST_BASE_URL/vVERSION/. The same binary, version and SOURCE_DATE_EPOCH give the same bytes.
#   build.sh VERSION OUT NFPM
set -euo pipefail
version=$1 out=$2 nfpm=$3
cd "$(dirname "$0")/../.."
: "${SOURCE_DATE_EPOCH:?is the time of the commit}" "${DIST_BASE_URL:?is where releases will be downloaded from}"
case $DIST_BASE_URL in
https://*[\|\&\"\ ]* | https://) echo "DIST_BASE_URL $DIST_BASE_URL: give https://HOST/PATH" >&2 && exit 1 ;;
https://*) ;;
*) echo "DIST_BASE_URL $DIST_BASE_URL: a plugin is downloaded by https only; give https://HOST/PATH" >&2 && exit 1 ;;
esac
umask 022
stage=bin/package
rm -rf "$stage" "$out" && mkdir -p "$stage" "$out"
bin/skerry install files "$stage/root"
mkdir -p "$stage/root/usr/share/skerry/grafana"
cp packaging/skerry.rules.yaml "$stage/root/usr/share/skerry/"
cp packaging/grafana/*.json "$stage/root/usr/share/skerry/grafana/"
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
plugin=kubectl-skerry_${version}_linux_$arch.tar.gz
mkdir "$stage/plugin"
ln bin/skerry "$stage/plugin/kubectl-skerry" 2>/dev/null || cp -p bin/skerry "$stage/plugin/kubectl-skerry"
cp -p LICENSE "$stage/plugin/"
tar -C "$stage/plugin" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
  -c kubectl-skerry LICENSE | gzip -n >"$out/$plugin"
sed -e "s/@VERSION@/$version/g" -e "s/@ARCH@/$arch/g" -e "s/@FILE@/$plugin/g" \
  -e "s|@URL@|${DIST_BASE_URL%/}/v$version|g" \
  -e "s/@SHA256@/$(sha256sum "$out/$plugin" | cut -d' ' -f1)/g" \
  packaging/krew/skerry.yaml >"$out/skerry.krew.yaml"
go run ./packaging/bom bin/skerry >"$out/skerry.cdx.json"
(cd "$out" && sha256sum -- *.deb *.rpm *.tar.gz *.yaml *.json >SHA256SUMS)
