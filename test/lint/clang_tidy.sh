#!/usr/bin/env bash
# clang-tidy on one source, by the compile commands of the clang preset. What passed is remembered outside
# the tree ($cache), under a hash of all that the result depends on.
set -euo pipefail
source=$1
commands=$repo/build/clang/compile_commands.json
file=$repo/$source

entry=$(jq -r --arg file "$file" 'first(.[] | select(.file == $file)) | .command // empty' "$commands")
if [[ -z $entry ]]; then
  echo "$source: no target compiles it" >&2
  exit 1
fi
# What decides the result: the command, the preprocessed text with its comments (NOLINT is one) and the
# settings; not where the checkout lies, which CHECK writes into the text. Text that cannot be made is an error, or all such sources would share one hash.
preprocess=$(sed -E 's/^.*ccache //; s/ -o [^ ]+//; s/ -c / -E -C /' <<<"$entry")
text=$cache/text.$$
trap 'rm -f "$cache"/*.$$ "$cache"/*.$$.out "$cache"/*.$$.err' EXIT
(cd "$repo/build/clang" && eval "$preprocess") >"$text"
hash=$({
  echo "${preprocess//"$repo"/}"
  sed "/^# /d; s#$repo##g" "$text"
  cat "$repo/.clang-tidy"
  clang-tidy-19 --version
} | sha256sum | cut -d' ' -f1)
[[ -e $cache/$hash ]] && exit 0
if clang-tidy-19 --quiet -p "$repo/build/clang" "$file" 2>"$cache/$hash.$$.err" >"$cache/$hash.$$.out"; then
  touch "$cache/$hash"
  exit 0
fi
cat "$cache/$hash.$$.out" "$cache/$hash.$$.err"
exit 1
