#!/usr/bin/env bash
# Debian's prometheus and promtool. Prints the folder that holds them. They are unpacked and not installed: the package would
# start a service wherever systemd or an init script may.
set -euo pipefail

cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}
folder=$cache/prometheus/usr/bin
if [[ ! -x $folder/promtool ]]; then
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/prometheus.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  if ! (cd "$work" && apt-get download -qq prometheus) >"$work/said" 2>&1; then
    cat "$work/said" >&2
    exit 1
  fi
  dpkg -x "$work"/prometheus_*.deb "$work/unpacked"
  # Complete or not at all, even if another process does the same.
  mv -T "$work/unpacked" "$cache/prometheus" 2>/dev/null || [[ -x $folder/promtool ]]
fi
echo "$folder"
