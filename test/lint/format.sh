#!/usr/bin/env bash
# clang-format has nothing to change.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
git ls-files '*.h' '*.cc' | xargs -P 2 -n 20 clang-format-19 --dry-run --Werror
