#!/usr/bin/env bash
# Draws each .dot file of this folder as .svg beside it. Needs Debian's graphviz.
#
#   docs/pictures/draw.sh [FOLDER]    writes into FOLDER instead
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
for source in "$here"/*.dot; do
  name=$(basename "$source" .dot)
  # A background of its own: pages are light or dark.
  dot -Tsvg -Gbgcolor=white -Gpad=0.2 -Gfontname=Helvetica -Gfontsize=13 -Gcolor='#888888' -Gstyle=rounded \
    -Nshape=box -Nstyle='rounded,filled' -Nfillcolor='#e8f0e0' -Ncolor='#5a7a3a' -Nfontname=Helvetica -Nfontsize=13 \
    -Ecolor='#444444' -Efontname=Helvetica -Efontsize=11 "$source" >"${1:-$here}/$name.svg"
done
