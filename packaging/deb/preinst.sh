#!/bin/sh
# An older program may not read what a newer one has written, so a downgrade is refused.
set -e
if [ "$1" = upgrade ] && [ -n "$2" ] && dpkg --compare-versions "@VERSION@" lt "$2"; then
  echo "skerry: $2 is installed, and @VERSION@ is older: it may not read the data that $2 has written." >&2
  echo "skerry: to go back, take a backup, purge skerry, install @VERSION@ and restore a backup that it made." >&2
  exit 1
fi
