#!/bin/sh
# Removal keeps configuration and data; purge deletes both, with every key of a center.
set -e
if [ "$1" = purge ]; then rm -rf /var/lib/skerry /var/lib/skerry-agent /etc/skerry; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
