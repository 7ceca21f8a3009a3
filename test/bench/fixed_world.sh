#!/usr/bin/env bash
# Compares the instructions and the memory that the controller needs for a fixed world with the numbers in the tree.
#
#   test/bench/fixed_world.sh [FOLDER]            of programs (build/release/bin); a line PASS or FAIL for each figure
#   test/bench/fixed_world.sh --write [FOLDER]    writes the numbers
#
# Instructions are counted by callgrind, so neither other work nor the speed of the machine changes them: more than 2 % above
# the number fails. Memory is the peak of a run without callgrind: more than 5 % above fails. README.md says what each part is.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
numbers=$here/fixed_world.txt
write=false
if [[ ${1:-} == --write ]]; then
  write=true
  shift
fi
program=${1:-$here/../../build/release/bin}/cdom-fixed-world
[[ -x $program ]] || { echo "FAIL $program does not exist: scripts/build.sh release cdom-fixed-world" >&2; exit 1; }

scratch=$(mktemp -d "${TMPDIR:-/tmp}/cdom-fixed-world.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cp "$program" "$scratch/cdom-fixed-world"
cd "$scratch"

# The C library chooses by processor and cache how it copies and compares: here always the same way. Names and values of the
# environment lie on the stack, so there is nothing else in it.
tunables=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-AVX_Fast_Unaligned_Load,-BMI2,-ERMS,-FSRM,-SSE4_2,-SSE4_1,-SSSE3
tunables+=:glibc.cpu.x86_data_cache_size=0x8000:glibc.cpu.x86_shared_cache_size=0x100000
tunables+=:glibc.cpu.x86_non_temporal_threshold=0xc0000:glibc.cpu.x86_rep_movsb_threshold=0x100000:glibc.cpu.x86_rep_stosb_threshold=0x100000
alone() { setarch -R env -i "GLIBC_TUNABLES=$tunables" "$@"; }

alone ./cdom-fixed-world make
# Pages of the program's file that are in memory count as well, and the kernel may map some more of them: the least of three.
for run in 1 2 3; do alone ./cdom-fixed-world run >"told.$run"; done
peak=$(sed -n 's/^peak-rss-kib //p' told.* | sort -n | head -n 1)
sed '/^peak-rss-kib/d' told.1
alone valgrind --tool=callgrind --callgrind-out-file=counted ./cdom-fixed-world run >/dev/null 2>said || { cat said >&2; exit 1; }
callgrind_annotate --inclusive=yes --threshold=100 counted >by_function
cost() { sed -nE "s/^ *([0-9,]+) .*[ :]fixed_world::$1(\[abi:cxx11\])?\(.*/\1/p" by_function | tr -d , | head -n 1; }

{
  for part in Fill Gather Decide Encode; do echo "$part $(cost $part)"; done
  echo "peak-rss-kib $peak"
} >measured
if $write; then
  { grep '^#' "$numbers" && cat measured; } >numbers
  cp numbers "$numbers"
fi
# The number, what was measured, and by how many percent that may be more.
awk '
  NR == FNR { if ($0 !~ /^#/) { number[$1] = $2; missing[$1] } next }
  {
    delete missing[$1]
    percent = $1 == "peak-rss-kib" ? 5 : 2
    most = number[$1] * (1 + percent / 100)
    verdict = $2 > 0 && $2 <= most ? "PASS" : "FAIL"
    printf "%s %s: %.0f, which may be %.0f (%+.2f %% of the number)\n", verdict, $1, $2, most, number[$1] ? 100 * ($2 / number[$1] - 1) : 0
    if (verdict == "FAIL") bad = 1
    else if ($2 < number[$1] * (1 - percent / 100)) print "     lower the number: test/bench/fixed_world.sh --write"
  }
  END {
    for (name in missing) { print "FAIL " name ": not measured"; bad = 1 }
    exit bad
  }' "$numbers" measured
