#!/bin/sh
# rpm says how many versions stay: 0 is a removal.
if [ "$1" = 0 ] && [ -d /run/systemd/system ]; then
  systemctl --quiet disable --now skerry-agent-upgrade.path skerry-center skerry-agent || true
fi
