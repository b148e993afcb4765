#!/usr/bin/env bash
# fuzz.sh PACKAGE TARGET TIME: fuzz one target, and print what it says when an input breaks it.
#
# On a busy machine go test may tell the end of its own time as a failure ("context deadline exceeded") though no input has failed: a failure
# counts when it names an input or anything else.
set -uo pipefail
out=$(go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" "$1" 2>&1) && exit 0
if grep -q 'context deadline exceeded' <<<"$out" && ! grep -qE 'Failing input|panic|build failed|cannot|_test\.go:' <<<"$out"; then
  exit 0
fi
echo "$out"
exit 1
