#!/usr/bin/env bash
# Makes the deb, the rpm, the archive of the kubectl plugin and the bill of materials for each ARCH
# (amd64, arm64), the plugin's manifest, and SHA256SUMS of all, in the directory OUT. The binary is
# bin/skerry for this machine's architecture, and bin/skerry-ARCH for another. The manifest says that
# the archives will be at DIST_BASE_URL/vVERSION/. The same binaries, version and SOURCE_DATE_EPOCH
# give the same bytes.
#   build.sh VERSION OUT NFPM ARCH...
set -euo pipefail
version=$1 out=$2 nfpm=$3
shift 3
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
mkdir -p "$stage/root/usr/share/doc/skerry"
cp -r packaging/docs packaging/examples "$stage/root/usr/share/doc/skerry/"
cp -r packaging/chart "$stage/root/usr/share/skerry/"
sed -i -e "s/^appVersion: .*/appVersion: \"$version\"/" "$stage/root/usr/share/skerry/chart/Chart.yaml"
chmod -R u=rwX,go=rX "$stage/root/usr/share"
# rpm has a list of what is documentation, and leaves it out where its user asks so.
mkdir -p "$stage/docs/usr/share"
mv "$stage/root/usr/share/doc" "$stage/root/usr/share/man" "$stage/docs/usr/share/"
{
  find "$stage/docs/usr/share/doc/skerry" -type d -printf '- {dst: "/usr/share/doc/skerry/%P", type: dir, packager: rpm}\n'
  find "$stage/docs" -type f -printf '- {src: "%p", dst: "/%P", type: doc}\n'
} | LC_ALL=C sort >"$stage/docs.yaml"
for f in packaging/deb/p*.sh; do
  sed -e "s/@VERSION@/$version/g" "$f" >"$stage/$(basename "$f")"
done
chmod 0755 "$stage"/*.sh
find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
touch -d "@$SOURCE_DATE_EPOCH" LICENSE
sed -e "s/@VERSION@/$version/g" packaging/krew/skerry.yaml >"$out/skerry.krew.yaml"
for arch in "$@"; do
  binary=bin/skerry
  [ "$arch" = "$(go env GOHOSTARCH)" ] || binary=bin/skerry-$arch
  touch -d "@$SOURCE_DATE_EPOCH" "$binary"
  sed -e "s/@VERSION@/$version/g" -e "s/@ARCH@/$arch/g" -e "s|@BINARY@|$binary|g" \
    -e "/^@DOCS@$/{r $stage/docs.yaml" -e 'd}' packaging/deb/nfpm.yaml >"$stage/nfpm-$arch.yaml"
  ! grep -n '@[A-Z]*@' "$stage"/*.sh "$stage/nfpm-$arch.yaml" || { echo "these are not filled in" >&2 && exit 1; }
  for format in deb rpm; do
    "$nfpm" package --config "$stage/nfpm-$arch.yaml" --packager "$format" --target "$out/" >/dev/null
  done
  plugin=kubectl-skerry_${version}_linux_$arch.tar.gz
  mkdir "$stage/plugin-$arch"
  ln "$binary" "$stage/plugin-$arch/kubectl-skerry" 2>/dev/null || cp -p "$binary" "$stage/plugin-$arch/kubectl-skerry"
  cp -p LICENSE "$stage/plugin-$arch/"
  tar -C "$stage/plugin-$arch" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    -c kubectl-skerry LICENSE | gzip -n >"$out/$plugin"
  sed -e "s/@ARCH@/$arch/g" -e "s|@URI@|${DIST_BASE_URL%/}/v$version/$plugin|g" \
    -e "s/@SHA256@/$(sha256sum "$out/$plugin" | cut -d' ' -f1)/g" packaging/krew/platform.yaml >>"$out/skerry.krew.yaml"
  go run ./packaging/bom "$binary" >"$out/skerry-$arch.cdx.json"
done
! grep -n '@[A-Z0-9]*@' "$out/skerry.krew.yaml" || { echo "these are not filled in" >&2 && exit 1; }
(cd "$out" && sha256sum -- *.deb *.rpm *.tar.gz *.yaml *.json >SHA256SUMS)
