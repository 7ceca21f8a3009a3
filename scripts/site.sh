#!/usr/bin/env bash
# Builds the documentation as a site: build/site/index.html. Fails if a link leads nowhere.
#
#   scripts/site.sh          builds it
#   scripts/site.sh serve    also serves it on http://127.0.0.1:8000, and builds again what changes
#
# Its pages link to the repository if CDOM_REPOSITORY is its address.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
scripts/deps.sh site
case ${1:-} in
  '') mkdocs build --strict ;;
  serve) mkdocs serve --strict ;;
  *)
    echo "site: '$1' is not known; the head of scripts/site.sh says what there is" >&2
    exit 2
    ;;
esac
