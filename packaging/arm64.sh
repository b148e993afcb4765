#!/usr/bin/env bash
# Checks what `make check-arm64` has built for arm64: the packages say so, and the binary serves under
# qemu as a center, in which this machine's own binary makes a space.
#   arm64.sh DIST ARM64-BINARY BINARY
set -euo pipefail
dist=$1 arm=$PWD/$2 here=$PWD/$3
arch=$(dpkg-deb -f "$dist"/skerry_*_arm64.deb Architecture)
[ "$arch" = arm64 ] || { echo "the deb is for $arch"; exit 1; }
dpkg-deb --fsys-tarfile "$dist"/skerry_*_arm64.deb | tar xO ./usr/bin/skerry | cmp - "$arm"
case $(head -c 20 "$arm" | od -An -tx1 -j18 | tr -d ' ') in
b700) ;;
*) echo "$arm is no program for arm64"; exit 1 ;;
esac
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
run() { qemu-aarch64-static "$arm" "$@"; }
run version
diff <(run install reference) <("$here" install reference)
qemu-aarch64-static "$arm" center --data-dir "$work/center" --listen 127.0.0.1:0 >"$work/center.log" 2>&1 &
for _ in $(seq 600); do
  grep -q 'center ready' "$work/center.log" && break
  kill -0 $! 2>/dev/null || { cat "$work/center.log"; exit 1; }
  sleep 0.5
done
grep 'center ready' "$work/center.log"
export KUBECONFIG=$work/center/admin.kubeconfig
"$here" space create shop
run status
