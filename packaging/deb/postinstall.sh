#!/bin/sh
# After an installation and an upgrade, of deb and rpm. Running services go on with the new program, but for one
# whose file that would refuse.
set -e
# as_shipped tells that nothing is set beside the file of a service, by a drop-in of its unit.
as_shipped() {
  [ -z "$(systemctl show --property=Environment --property=EnvironmentFiles --value "$1")" ] &&
    systemctl show --property=ExecStart --value "$1" |
    grep -Eq "=/usr/bin/skerry [a-z]+ --config /etc/skerry/[a-z]+.yaml --data-dir [^ ]*STATE_DIRECTORY[^ ]* ;"
}
case "$1" in abort-*) exit 0 ;; esac
chmod 0700 /etc/skerry/credentials
if command -v systemd-sysusers >/dev/null; then systemd-sysusers skerry.conf; fi
if [ -x /lib/systemd/systemd-sysctl ]; then /lib/systemd/systemd-sysctl 60-skerry.conf || true; fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  for unit in skerry-center skerry-agent; do
    if systemctl is-active --quiet $unit; then
      code=0
      why=$(/usr/bin/skerry install check "${unit#skerry-}" 2>&1) || code=$?
      if [ $code = 2 ] && as_shipped $unit; then
        echo "skerry: $unit goes on with the old program, because the new one refuses its file:" >&2
        echo "$why" >&2
        echo "skerry: mend the file, and then: systemctl restart $unit" >&2
        continue
      fi
      systemctl restart $unit || echo "skerry: $unit did not start again: journalctl -u $unit -n 30" >&2
    fi
  done
fi
