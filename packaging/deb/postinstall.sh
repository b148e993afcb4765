#!/bin/sh
# After an installation and an upgrade, of deb and rpm. Running services go on with the new program.
set -e
case "$1" in abort-*) exit 0 ;; esac
chmod 0700 /etc/skerry/credentials
if command -v systemd-sysusers >/dev/null; then systemd-sysusers skerry.conf; fi
if [ -x /lib/systemd/systemd-sysctl ]; then /lib/systemd/systemd-sysctl 60-skerry.conf || true; fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  for unit in skerry-center skerry-agent; do
    if systemctl is-active --quiet $unit; then
      systemctl restart $unit || echo "skerry: $unit did not start again: journalctl -u $unit -n 30" >&2
    fi
  done
fi
