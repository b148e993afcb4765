#!/bin/sh
# An upgrade leaves the services running until the new program is in place.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl --quiet disable --now skerry-agent-upgrade.path skerry-center skerry-agent || true
fi
