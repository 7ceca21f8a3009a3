#!/usr/bin/env bash
# Installs what is missing, builds, tests; the last line is "N passed, N failed", where N counts cases
# that ran.
#
#   scripts/test.sh            what CI runs, everything where it tells most:
#                              as users run it (g++ 12, optimized)  the simulation's sweeps, a control plane and
#                                                                   end to end, real nodes, the demo, the
#                                                                   image and the manifests, small benchmarks
#                              under ASan+UBSan                     every unit test, a sample of the sweeps
#                              under TSan                           what has threads, and the whole controller
#                                                                   end to end
#                              under libFuzzer              what reads bytes of others
#                              and clang-tidy, and coverage of the planner and of the oracles
#   scripts/test.sh quick      unit tests and the simulation without sanitizers, rules over the sources
#   scripts/test.sh nightly    what takes hours: sweeps with every fault at every request, all tests in all presets,
#                              the benchmarks in full size, the image for arm64
set -uo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
scope=${1:-full}
case $scope in
  full | quick | nightly) ;;
  *)
    echo "test: unknown word '$1'; use nothing, quick or nightly" >&2
    exit 2
    ;;
esac

logs=$(mktemp -d "${TMPDIR:-/tmp}/cdom-test.XXXXXX")
passed=0
failed=0
count() {  # count PASSED FAILED
  passed=$((passed + $1))
  failed=$((failed + $2))
}
times=()
used=0  # Seconds of processor until now, of all that this shell has waited for.
took() {  # took NAME BEGAN: for the table at the end
  local before=$used user system
  times >"$logs/processor.$BASHPID"
  { read -r && read -r user system; } <"$logs/processor.$BASHPID"
  used=$(awk -v RS='[ \n]' -F'[ms]' '{ sum += $1 * 60 + $2 } END { printf "%d", sum }' <<<"$user $system")
  times+=("$((SECONDS - $2))"$'\t'"$((used - before))"$'\t'"$1")
}
finish() {
  echo "slowest of $SECONDS s, and the seconds of processor that each took:"
  printf '%s\n' "${times[@]}" | sort -rn | head -n 20 | awk -F'\t' '{ printf "%6d s %6d s  %s\n", $1, $2, $3 }'
  if ((failed > 0)); then
    echo "logs are in $logs; what failed:"
    sed 's/^/  /' "$logs/failed"
  else
    rm -rf "$logs"
  fi
  echo "$passed passed, $failed failed"
  ((failed == 0 && passed > 0))
  exit
}

# step NAME COMMAND...: one case that is a command, such as a build; its output is shown if it fails.
step() {
  local name=$1 began=$SECONDS log=$logs/${1//[^a-zA-Z0-9]/_}.log status=0
  shift
  "$@" >"$log" 2>&1 || status=$?
  took "$name" "$began"
  if ((status == 0)); then
    count 1 0
    echo "PASS $name ($((SECONDS - began)) s)"
  else
    count 0 1
    echo "FAIL $name ($((SECONDS - began)) s)" | tee -a "$logs/failed"
    tail -n 60 "$log"
  fi
  return "$status"
}

# cases NAME PRESET OPTIONS...: the tests that ctest finds with these options. What is counted is
# GoogleTest's cases, of which a ctest case is one or, under sanitizers, a whole program; a ctest case
# that tells no number is one.
cases() {
  local name=$1 began=$SECONDS log=$logs/ctest-${1//[^a-zA-Z0-9]/_}.log good=0 bad=0 broken
  shift
  ctest --preset "$@" --verbose >"$log" 2>&1
  read -r good bad broken < <(awk '
    /^[0-9]+: \[  PASSED  \] [0-9]+ tests?\.$/ { good[$1] = $5; told[$1] = 1 }
    /^[0-9]+: \[  FAILED  \] [0-9]+ tests?, listed below:$/ { bad[$1] = $5 }
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / && !/\*\*\*Skipped/ {
      id = $0; sub(/^.* Test +#/, "", id); sub(/:.*/, "", id); id = id ":"
      passes = / Passed +[0-9.]+ sec$/
      goods += id in told ? good[id] : passes
      bads += bad[id] > 0 ? bad[id] : !passes
      if (!passes) broken = broken "^" id "|"
    }
    END { print goods + 0, bads + 0, broken }' "$log")
  if ((good + bad == 0)); then
    bad=1
    echo "FAIL $name: no test ran" >>"$logs/failed"
    tail -n 30 "$log"
  fi
  count "$good" "$bad"
  took "$name" "$began"
  echo "$([[ $bad == 0 ]] && echo PASS || echo FAIL) $name: $good passed, $bad failed ($((SECONDS - began)) s)"
  if [[ -n $broken ]]; then
    grep -E "${broken%|}" "$log" | grep -vE '\[ RUN      \]|\[       OK \]' | head -n 200
    sed -n '/^The following tests FAILED/,$p' "$log" | head -n 60 | tee -a "$logs/failed"
  fi
}

# A script that prints a line PASS or FAIL for each of its cases.
script() {
  local name=$1 began=$SECONDS log=$logs/${1//[^a-zA-Z0-9]/_}.log good bad status
  shift
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  good=$(grep -c '^PASS ' "$log")
  bad=$(grep '^FAIL ' "$log" | tee -a "$logs/failed" | wc -l)
  if ((bad == 0 && (status != 0 || good == 0))); then
    echo "FAIL $name ended with status $status" | tee -a "$logs/failed"
    bad=1
  fi
  count "$good" "$bad"
  took "$name" "$began"
  echo "$name: $good passed, $bad failed ($((SECONDS - began)) s)"
}

# simulated_runs NAME LEAST LEAST_FAULTED SECONDS: the sweeps of the controller in that log had at least so many runs, at
# least so many of them with a fault (each another pair of a request and a fault), in at most so many seconds of
# processor. Wall time depends on what else runs.
simulated_runs() {
  local name=$1 least=$2 least_faulted=$3 most=$4 log=$logs/ctest-${1//[^a-zA-Z0-9]/_}.log number faulted seconds result=FAIL
  read -r number faulted seconds < <(awk '
    /^ *Start +[0-9]+: / { of_controller[$2] = /\/(fault|wide)_sweep_test: / }
    $2 == "[" && $3 == "runs" && of_controller[$1] { sum += $5; faulted += $7 }
    $2 == "[" && $3 == "sweep" && of_controller[$1] { seconds += $5 }
    END { printf "%d %d %d\n", sum, faulted, seconds + 1 }' "$log")
  number=${number:-0} faulted=${faulted:-0} seconds=${seconds:-1}
  ((number >= least && faulted >= least_faulted && seconds <= most)) && result=PASS
  if [[ $result == PASS ]]; then count 1 0; else count 0 1; fi
  echo "$result $number simulated runs of the controller, $faulted pairs of request and fault, in $seconds s of processor," \
    "$((number / seconds)) a second (at least $least and $least_faulted, at most $most s)" | tee "$logs/runs"
  [[ $result == PASS ]] || cat "$logs/runs" >>"$logs/failed"
}

pytest_cases() { /usr/bin/python3 -m pytest -sq -p no:cacheprovider --programs "$repo/build/release/bin" "$@"; }

build() {  # build PRESET TARGET...
  step "build of preset $1: ${*:2}" "$repo/scripts/build.sh" "$@"
}

coverage() {  # With the table by file, which is worth a look when all is well, too.
  local name="the planner is covered whole, and each sentence of an oracle is said"
  step "$name" "$repo/scripts/coverage.sh" || return
  grep -E '^(Filename|TOTAL|[a-z_]+\.cc) ' "$logs/${name//[^a-zA-Z0-9]/_}.log"
}

format() {
  git ls-files '*.h' '*.cc' | xargs -P 2 -n 20 clang-format-19 --dry-run --Werror
}

# clang-tidy over the product's sources, each one again only when it or its settings changed: the result
# is kept outside the tree, under a hash of the preprocessed source.
lint() {
  local cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}/tidy
  mkdir -p "$cache"
  export cache repo
  git ls-files 'pkg/*.cc' 'controller/*.cc' 'node/*.cc' | grep -vE '_test\.cc$|/testing/' |
    xargs -P 2 -I{} "$repo/test/lint/clang_tidy.sh" {}
}

# What users run, and what plays the cluster around it.
as_users_run_it() {
  build release compute-domain-controller compute-domain-daemon compute-domain-kubelet-plugin nvml_stand_in ask-plugin nodesim standin_imex standin_ctl cdom-bench &&
    step "the test control plane is built" "$repo/test/cluster/controlplane/build.sh"
}

# A machine that cannot run them fails here, and says what it lacks.
real_nodes() {
  step "containerd is built" nice -n 19 "$repo/test/cluster/realnodes/build.sh" &&
    step "the stand-in for the kubelet plugin is built" nice -n 19 "$repo/test/cluster/realnodes/plugin/build.sh" &&
    step "a network plugin is built" nice -n 19 "$repo/test/cluster/realnodes/netpol/build.sh" &&
    step "the reader of NVIDIA's checkpoints is built" nice -n 19 "$repo/test/cluster/controlplane/checkpoint/build.sh" &&
    script "real nodes" "$repo/test/cluster/realnodes/realnodes_test.sh" "$repo/build/release/bin" &&
    script "real nodes, with pytest" pytest_cases "$repo/test/e2e/test_real_nodes.py"
}

sweeps=(test_simulation_scenarios_{fault,wide,daemon}_sweep_test test_simulation_plugin_sweep_test)

# What needs no more than processors, which those who wait for a cluster leave idle.
computes() {
  local built=true
  build release "${sweeps[@]}" || built=false
  if $built; then
    cases "sweeps and rules over the sources" release -R 'sweep_test: |^lint: '
    # Two processors for five minutes.
    simulated_runs "sweeps and rules over the sources" 22000 20000 600
  fi
  build asan tests && cases "unit tests under ASan and UBSan" asan
  build tsan threads_tests compute-domain-controller &&
    cases "tests of threads under TSan" tsan -L threads
  script "hostile input" "$repo/scripts/fuzz.sh"
  script "hostile input is found" "$repo/test/fuzz/fuzz_test.sh"
  coverage
  # What clang-tidy reads; it reports what clang warns about, thread-safety analysis included.
  step "configuration of preset clang" cmake --preset clang && step "clang-tidy finds nothing" lint
}

# beside FUNCTION NICE: meanwhile; the nicer, the further behind what else wants a processor.
besides=()
beside() {
  (
    renice -n "$2" "$BASHPID" >/dev/null
    passed=0 failed=0 times=() used=0
    "$1"
    printf '%s\n' "$passed $failed" "${times[@]}" >"$logs/beside.$1"
  ) &
  besides+=("$! $1")
}
joined() {  # Waits for all of those, and counts them in.
  local one pid name good bad
  for one in "${besides[@]}"; do
    read -r pid name <<<"$one"
    wait "$pid"
    if [[ ! -s $logs/beside.$name ]]; then
      count 0 1
      echo "FAIL the part that $name() runs did not come to its end" | tee -a "$logs/failed"
      continue
    fi
    { read -r good bad && mapfile -t -O "${#times[@]}" times; } <"$logs/beside.$name"
    count "$good" "$bad"
  done
}

# What waits for kubelets most of the time.
nodes() {
  script "a daemon that cannot work" "$repo/test/e2e/imex/daemon_cases.sh" "$repo/build/release/bin"
  script "daemons" "$repo/test/e2e/imex/daemons.sh" "$repo/build/release/bin"
  script "the kubelet plugin" "$repo/test/e2e/plugin/plugin_test.sh" "$repo/build/release/bin"
  real_nodes
  step "the demo with real nodes sees every step" "$repo/scripts/demo.sh" --real-nodes
  script "the driver's image" "$repo/test/packaging/image/driver_test.sh"
}

full() {
  local cluster=true
  as_users_run_it || cluster=false
  beside computes 19
  if $cluster; then
    beside nodes 0
    script "control plane" "$repo/test/cluster/controlplane/controlplane_test.sh"
    script "end to end" "$repo/test/e2e/e2e.sh" "$repo/build/release/bin"
    script "end to end, with pytest" pytest_cases "$repo/test/e2e" --ignore "$repo/test/e2e/test_real_nodes.py"
    step "the demo sees every step" "$repo/scripts/demo.sh"
    script "manifests" "$repo/test/packaging/manifests/manifests_test.sh" "$repo/build/release/bin"
    step "cosign is built" nice -n 19 "$repo/test/packaging/image/cosign/build.sh"
    script "image" "$repo/test/packaging/image/image_test.sh"
    script "benchmarks" "$repo/scripts/bench.sh" --smoke
  fi
  joined
  if $cluster; then
    [[ -x build/tsan/bin/compute-domain-controller ]] &&
      script "end to end under TSan" "$repo/test/e2e/tsan.sh" "$repo/build/tsan/bin" "$repo/build/release/bin"
  fi
}

nightly() {
  build release "${sweeps[@]}" &&
    CDOM_SEED=$(date +%y%m%d00) CDOM_SWEEP=all cases "sweeps over every request" release -R 'sweep_test: ' --timeout 21600
  build asan "${sweeps[@]}" &&
    CDOM_SWEEP=1 cases "sweeps under ASan and UBSan" asan -R 'sweep_test: ' --timeout 21600
  build tsan tests && cases "all tests under TSan" tsan --timeout 3600
  build dev tests && cases "all tests" dev
  script "hostile input, for minutes" "$repo/scripts/fuzz.sh" 300
  if as_users_run_it; then
    step "dependencies of the nightly tests are installed" "$repo/scripts/deps.sh" nightly &&
      script "image, at night" "$repo/test/packaging/image/nightly_test.sh" "$repo/build/release/bin"
    CDOM_NIGHTLY=1 real_nodes
    script "a thousand large objects" pytest_cases "$repo/test/e2e/test_memory.py" --large-objects 1000
    CDOM_NIGHTLY=1 script "placement, at night" "$repo/test/e2e/e2e.sh" "$repo/build/release/bin" five_kinds
    step "benchmarks in full size" "$repo/scripts/bench.sh"
    tail -n 30 "$logs/benchmarks_in_full_size.log"
  fi
}

quick() {
  build dev tests && cases "unit tests, simulation and rules over the sources" dev
}

step "dependencies are installed" "$repo/scripts/deps.sh" || finish
step "clang-format finds nothing" format
script "packages of images" /usr/bin/python3 -m pytest -sq -p no:cacheprovider "$repo/test/packaging/image"
script "rules and alerts" "$repo/test/packaging/monitoring/monitoring_test.sh"
"$scope"
finish
