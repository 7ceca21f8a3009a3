#!/usr/bin/env bash
# Tests over the sources and object files themselves. Each rule prints what breaks it, and fails.
#
#   lint.sh includes                who may include whom; lint.sh layers: only the folders of core and plugin
#   lint.sh banned                  calls that belong behind a seam, and words that belong nowhere
#   lint.sh size                    no file over 600 lines, no function over 70 in the product
#   lint.sh reasons                 reasons of conditions and Events: the code, docs/reasons.md and tests know the same names
#   lint.sh shown                   each reason and each flag of the controller is in a case on a cluster, or in test/e2e/not_on_a_cluster.txt
#   lint.sh conditions              each condition has its file, and is in the CRD, the docs, a fixture and an oracle
#   lint.sh scenarios               test/simulation/README.md lists the simulated scenarios in the code, of controller and plugins, and no others
#   lint.sh metrics                 docs/metrics.md names the metrics in the code, and no others: the tests that write it left none out
#   lint.sh prose                   words that readers of English as a second language do not know, in all that a person reads
#   lint.sh one-look                no assert of an end-to-end case reads state once; lint.sh cause-not-time: nor bounds elapsed time
#   lint.sh figures                 README's table, docs/why.md and docs/cost.md say what test/bench/figures.tsv records
#   lint.sh finds COMPILER          each rule notices a source that breaks it
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
tree=${LINT_TREE:-$repo}
cd "$tree"

sources() {  # sources FOLDER...: headers and sources in them
  find "$@" -name '*.h' -o -name '*.cc' 2>/dev/null | sort
}
product() { sources pkg controller node; }

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# forbid REASON PATTERN FILES...: no line of the files may match.
forbid() {
  local reason=$1 pattern=$2
  shift 2
  (($# > 0)) || return 0
  if grep -nE "$pattern" "$@" /dev/null; then fail "$reason"; fi
}

includes() {
  local -a base kube pkg controller node
  mapfile -t base < <(sources pkg/base)
  forbid 'pkg/base uses nothing else of ours' '#include "(pkg/(command_line|json|http|kube|logging|systemd|tls|yaml)|controller|node|test)/' "${base[@]}"
  mapfile -t pkg < <(sources pkg)
  forbid 'pkg never includes upwards' '#include "(controller|node)/' "${pkg[@]}"
  forbid 'pkg knows no ComputeDomain' '[Cc]ompute_?[Dd]omain|computedomain' "${pkg[@]}"
  mapfile -t kube < <(sources pkg | grep -v '_test\.cc$' | grep -v '/testing/')
  forbid 'the product uses nothing of test' '#include "test/' "${kube[@]}"
  mapfile -t controller < <(sources controller)
  forbid 'the controller uses nothing of node' '#include "node/' "${controller[@]}"
  mapfile -t node < <(sources node)
  forbid 'node uses of controller what both share, controller/api' '#include "controller/([b-z]|a[a-oq-z])' "${node[@]}"
  layers
  local -a all
  mapfile -t all < <(product)
  forbid 'RapidJSON is included in one place' '#include [<"]rapidjson' $(printf '%s\n' "${all[@]}" | grep -v rapidjson_guard.h)
  forbid 'gRPC is seen in one place' '#include [<"](grpcpp|google/protobuf|kubelet)/' $(printf '%s\n' "${all[@]}" | grep -vE 'node/kubelet/(service|kubelet_service_test)\.cc')
  forbid 'includes start at the root' '#include "\.\.?/' "${all[@]}"
  local file
  for file in $(printf '%s\n' "${all[@]}" | grep '\.h$'); do
    grep -q '^#pragma once' "$file" || fail "$file: no #pragma once"
  done
}

# files_of PATH...: sets `files` to the sources there, tests aside. A path without any fails: a rule that
# names a folder that is no more forbids nothing. Trees of LINT_TREE have gaps, unless LINT_WHOLE is set.
files_of() {
  local path
  local -a found
  files=()
  for path in "$@"; do
    mapfile -t found < <(sources "$path" | grep -v '_test\.cc$')
    ((${#found[@]} > 0)) || [[ -v LINT_TREE && ! -v LINT_WHOLE ]] || fail "a rule names $path, where no source is"
    files+=("${found[@]}")
  done
}

# others_in FOLDER MODULE...: sets `others` to the sources in FOLDER itself that are not of these modules.
others_in() {
  local folder=$1 module
  local -a files
  shift
  for module in "$@"; do files_of "$folder/$module".*; done
  module=$(IFS='|' && echo "$*")
  mapfile -t others < <(find "$folder" -maxdepth 1 \( -name '*.h' -o -name '*.cc' \) 2>/dev/null | grep -vE "_test\.cc$|/($module)\." | sort)
}

# forbid_in REASON PATTERN PATH...: no source there may have a line that matches.
forbid_in() {
  local reason=$1 pattern=$2
  local -a files
  shift 2
  files_of "$@"
  forbid "$reason" "$pattern" "${files[@]}"
}

# allow_in REASON FOLDER PATTERN PATH...: of what FOLDER holds, sources there include only what matches.
allow_in() {
  local reason=$1 folder=$2 pattern=$3
  local -a files
  shift 3
  files_of "$@"
  if grep -nE "#include \"$folder/" "${files[@]}" /dev/null | grep -vE "#include \"$folder/($pattern)"; then fail "$reason"; fi
}

# Which folder may include which. Folders that decide are pure: they see values, and nothing that reads or waits.
layers() {
  local core=controller/compute_domain plugin=node/plugin
  local values='(base|json|kube/api)/'
  local -a inventory=(node/gpu/inventory/{device_name,inventory,quantity}.{h,cc})
  local -a others deciders=($core/{model,rules,status,plan} controller/{daemon_set,resource_claim_template})
  allow_in 'what decides sees of pkg only base and values (json, kube/api)' pkg "$values" "${deciders[@]}"
  forbid_in 'what decides sees of controller only api, itself and renderers' \
    '#include "controller/(settings|process|uninstall)/' "${deciders[@]}"
  allow_in 'the planner includes status, rules and the model' $core '(plan|status|rules|model)/' $core/plan
  allow_in 'the model includes only the model' $core 'model/' $core/model
  allow_in 'membership includes the model' $core '(rules/membership|model)/' $core/rules/membership
  allow_in 'rules include rules and the model' $core '(rules|model)/' $core/rules
  allow_in 'explanations include rules and the model' $core '(status/explanation|rules|model)/' $core/status/explanation
  allow_in 'conditions include explanations, rules and the model' $core \
    '(status/(conditions|explanation)|rules|model)/' $core/status/conditions
  allow_in 'status includes rules and the model' $core '(status|rules|model)/' $core/status
  allow_in 'requests include the model' $core '(requests|model)/' $core/requests
  allow_in 'the cache includes the model' $core '(cache|model)/' $core/cache
  allow_in 'a pass does not include the controller' $core '(pass|plan|cache|requests|status|rules|model)/' $core/pass
  longest_chain $core
  others_in node/daemon api_client files imex_process imex_setup main probe run scratch settings writes
  allow_in 'what a daemon and a plugin do next sees only values' pkg "$values" $plugin/rules node/imex "${others[@]}"
  forbid_in 'node/dra is for any driver' \
    '#include "(controller|node/(daemon|imex|nvml|plugin))/|[Cc]hannel|[Cc]ompute.?[Dd]omain|\<[Gg][Pp][Uu]' node/dra
  allow_in 'what any driver decides sees only values' pkg "$values" node/dra/rules
  allow_in "the rules of any driver include rules" node/dra 'rules/' node/dra/rules
  allow_in "NVIDIA's library is for any driver" node 'nvml/' node/nvml
  allow_in 'the driver of GPUs includes what is for any driver' node '(cdi|dra|driver|gpu|kubelet|nvml)/' node/gpu
  # The feature gates are those of all of NVIDIA's programs.
  forbid_in 'the driver of GPUs knows no ComputeDomain' '#include "controller/([^a]|api/[^f])' node/gpu node/nvml
  allow_in "NVIDIA's driver on the host is for any driver" node '(cdi|driver|nvml)/' node/driver
  allow_in 'what the driver of GPUs does next sees only values' pkg "$values" node/gpu/rules
  forbid_in "the loop of the driver of GPUs has no threads, files or sockets" \
    '#include (<(thread|filesystem|fstream)>|"(node/kubelet/service|node/dra/(host/file_claim_disk|process/.*)|node/driver/.*|pkg/base/(file|subprocess))\.h")' node/gpu/loop
  allow_in 'the inventory of GPUs sees only values' pkg "$values" "${inventory[@]}"
  allow_in 'the inventory of GPUs sees only values' node '(dra/rules|gpu/inventory|nvml/(fabric|gpu)\.h)' "${inventory[@]}"
  allow_in "the plugin's rules include rules" $plugin 'rules/' $plugin/rules
  allow_in "the plugin's host includes rules" $plugin '(host|rules)/' $plugin/host
  allow_in "the plugin's api includes rules" $plugin '(api|rules)/' $plugin/api
  allow_in "the plugin's loop includes no preflight and no process" $plugin '((loop|api|host|rules)/|settings\.h)' $plugin/loop
  forbid_in "the plugin's loop has no threads, files or sockets" \
    '#include (<(thread|filesystem|fstream)>|"(node/kubelet/service|node/plugin/host/(file_disk|base_spec)|pkg/base/(file|subprocess))\.h")' $plugin/loop
  allow_in "the plugin's process includes no preflight" $plugin '((process|loop|api|host|rules)/|settings\.h)' $plugin/process
  allow_in "the plugin's preflight includes no loop and no api" $plugin '((preflight|host|rules)/|settings\.h)' $plugin/preflight
}

# longest_chain FOLDER: no arrow between the folders in it leads back, and at most eight follow one another.
longest_chain() {
  local -a files
  files_of "$1"
  ((${#files[@]} > 0)) || return 0
  awk -v base="$1/" '
    function folder_of(path) { path = substr(path, length(base) + 1); return sub("/[^/]*$", "", path) ? path : "." }
    # Arrows below `from`, after those of `path`.
    function depth(from, path,    to, below, most) {
      if (from in known) return known[from]
      if (from in open) { print "circle: " path from; bad = 1; return 0 }
      open[from] = 1
      most = 0
      for (to in folders)
        if ((from, to) in arrow && (below = 1 + depth(to, path from " -> ")) > most) { most = below; next_of[from] = to }
      delete open[from]
      return known[from] = most
    }
    index($0, "#include \"" base) == 1 {
      from = folder_of(FILENAME); split($0, part, "\""); to = folder_of(part[2])
      folders[from]; folders[to]
      if (from != to) arrow[from, to]
    }
    END {
      for (from in folders) if (depth(from, "") > 8) { deep = from; bad = 1 }
      for (; deep != ""; deep = next_of[deep]) print "includes the next: " deep
      exit bad
    }' "${files[@]}" >&2 || fail "folders of $1 include one another in a circle, or in a chain of more than eight"
}

banned() {
  local -a all tests scripts everything
  mapfile -t all < <(product)
  forbid 'time comes from base::Clock' 'steady_clock::now|system_clock::now|[^_:]\btime\(nullptr\)|std::this_thread::sleep' \
    $(printf '%s\n' "${all[@]}" | grep -vE 'pkg/base/(system_clock.cc|testing/wait_until.h)|_test\.cc$')
  forbid 'randomness comes from base::Random' 'std::random_device|\brand\(\)' $(printf '%s\n' "${all[@]}" | grep -v system_random.cc)
  forbid 'logs go through base::Logger' 'std::(cout|cerr|clog)' "${all[@]}"
  forbid 'the environment is read in main.cc' '\bgetenv\(|\benviron\b|#include "pkg/base/environment\.h"' \
    $(printf '%s\n' "${all[@]}" | grep -vE 'pkg/command_line/frame.cc|(controller|node/daemon|node/plugin)/main.cc|pkg/base/environment.cc|pkg/(systemd|logging)/|_test\.cc$')
  forbid 'an exit status has a name, and its meaning is in settings.h' 'return [1-9][0-9]*;|\bE?_?[eE]xit\([0-9]' \
    $(printf '%s\n' "${all[@]}" | grep -E '(controller|node/daemon|node/plugin)/main.cc')
  mapfile -t tests < <(sources pkg controller node test | grep -E '_test\.cc$')
  forbid 'tests wait for a state, not for a time' 'sleep_for|sleep_until|\busleep\(|[^a-z_]sleep\(' "${tests[@]}"
  real_clocks "${tests[@]}"
  mapfile -t scripts < <(find scripts test -name '*.sh' 2>/dev/null | grep -v '^test/lint/')
  forbid 'grep -q leaves before what feeds it has ended, which pipefail calls a failure: grep -q ... < <(...)' \
    '[^|]\| *grep -[a-zA-Z]*q' "${scripts[@]}"
  mapfile -t everything < <(git -C "$tree" ls-files 2>/dev/null | grep -vE '^(test/lint/|manifests/chart/files/)|go\.sum$' || true)
  forbid 'no leftovers: name what would unblock it, in a TODO' 'FIXME|XXX:|HACK' "${everything[@]}"
}

# real_clocks TEST...: those that stand behind REALTIME in a CMakeLists.txt look at a real clock, and no others.
real_clocks() {
  local clock='SystemClock|system_clock\.h|(steady|system|high_resolution)_clock::now|\b(clock_gettime|gettimeofday|time)\((CLOCK|&|nullptr)|\.wait_(for|until)\(([a-z]+, )?std::chrono::'
  local -a realtime others
  mapfile -t realtime < <(find pkg controller node test -name CMakeLists.txt -print0 2>/dev/null | xargs -0r awk '
    FNR == 1 { on = 0; folder = FILENAME; sub("[^/]*$", "", folder) }
    { sub("#.*", "") }
    { for (i = 1; i <= NF; ++i) { name = $i; sub("\\)$", "", name); if (on = $i == "REALTIME" || on && name ~ /_test\.cc$/) if (name != "REALTIME") print folder name } }')
  mapfile -t others < <(printf '%s\n' "$@" | grep -vxFf <(printf '%s\n' "${realtime[@]}" /))
  forbid 'a test looks at a base::ManualClock, and waits with base::WaitUntil; if real time must pass in it, it is REALTIME: see cdom_library' \
    "$clock" "${others[@]}"
  local file
  for file in "${realtime[@]}"; do
    grep -qE "$clock" "$file" || fail "$file is REALTIME, and looks at no real clock"
  done
}

size() {
  local file lines
  for file in $(product | grep -vE '_test\.cc$'); do
    lines=$(wc -l <"$file")
    ((lines <= 600)) || fail "$file: $lines lines; past 600 a file is two"
  done
  # A function: from a line that begins at the margin and ends in ') {', to its '}'.
  awk '
    FNR == 1 { start = 0 }
    /^[A-Za-z].*\) (const )?(noexcept )?\{$/ { start = FNR; name = $0 }
    /^}$/ && start { if (FNR - start > 70) { print FILENAME ":" start ": " FNR - start " lines: " name; bad = 1 } start = 0 }
    END { exit bad }' $(product | grep -vE '_test\.cc$') >&2 || fail 'past 70 lines, look again'
}

reasons() {
  local reason
  local -a names
  mapfile -t names < <(sed -nE 's/.* k(Reason|Event)[A-Za-z]+ = "([A-Za-z]+)";/\2/p' controller/api/names.h | sort)
  ((${#names[@]} > 0)) || fail 'no reasons in controller/api/names.h'
  diff <(printf '%s\n' "${names[@]}") <(sed -n 's/^### //p' docs/reasons.md | sort) >&2 ||
    fail 'docs/reasons.md has a paragraph for each reason in controller/api/names.h, and for no other'
  local -a all
  mapfile -t all < <(sources controller | grep -v '_test\.cc$')
  forbid 'a reason that people see is in controller/api/names.h' \
    '(kNormal|kWarning), "|\.reason = (std::string\()?"|\breason = "[A-Z]' "${all[@]}"
  for reason in "${names[@]}"; do
    grep -rqE "\\b$reason\\b" --include='*_test.cc' --include='*.sh' controller test || fail "no test knows reason $reason"
  done
}

# What a list says that no case on a cluster has, and what none has, are the same.
shown() {
  local list=test/e2e/not_on_a_cluster.txt name
  local -a names cases
  mapfile -t names < <({ sed -n 's/^### //p' docs/reasons.md; grep '^| `--' docs/flags.md | cut -d'|' -f2 | grep -oE -- '`--[a-z-]+`' | tr -d '`'; } | sort -u)
  ((${#names[@]} > 0)) || fail 'shown: no reasons and no flags in docs'
  mapfile -t cases < <(find test/e2e -name '*.py'; find test/cluster/realnodes -name '*_cases.sh')
  for name in "${names[@]}"; do
    # Not a flag's variable: programs of others have some of the same names.
    if ! grep -qE -- "(^|[^A-Za-z_-])$name([^A-Za-z_-]|\$)" "${cases[@]}"; then echo "$name"; fi
  done | diff - <(grep -oE '^(--[a-z-]+|[A-Z][A-Za-z]*)  +[^ ]' "$list" | cut -d' ' -f1 | sort) >&2 ||
    fail "$list and the cases differ: < has no case and is not in the list, > is in the list and has a case, does not exist, or has no reason"
}

# A condition is a file in status/conditions. What goes with it is named here, so that nothing of it is forgotten.
conditions() {
  local type file core=controller/compute_domain/status
  local -a types
  mapfile -t types < <(sed -nE 's/.* kCondition[A-Za-z]+ = "([A-Za-z]+)";.*/\1/p' controller/api/names.h)
  ((${#types[@]} > 0)) || fail 'no conditions in controller/api/names.h'
  for type in "${types[@]}"; do
    file=$core/conditions/$(sed -E 's/([a-z])([A-Z])/\1_\2/g' <<<"$type" | tr '[:upper:]' '[:lower:]').cc
    [[ -s $file ]] || fail "condition $type has no file $file"
    grep -q "kCondition$type\b" $core/status.cc || fail "condition $type is not added in $core/status.cc"
    grep -qE "^ +$type: " crds/computedomains.yaml || fail "crds/computedomains.yaml does not describe condition $type"
    grep -q "\`$type\`" docs/reasons.md || fail "docs/reasons.md does not say what condition $type is"
    # No fixture has a domain that is deleted, or that another controller writes.
    [[ $type == DeletionBlocked || $type == Conflicted ]] || grep -rqE "\"$type\"" test/fixtures || fail "no fixture has condition $type"
    grep -rqE "\"$type\"" test/simulation/oracles --include='*.cc' --exclude='*_test.cc' || fail "no oracle of the simulation knows condition $type"
  done
  for type in $(sed -nE 's/.* (kReason[A-Za-z]+) = .*/\1/p' controller/api/names.h); do
    grep -q "api::$type\b" $core/reasons.cc || fail "reason $type is not in the table of $core/reasons.cc"
  done
}

scenarios() {
  scenarios_of test/simulation/scenarios/scenarios.cc 'Scenarios'
  scenarios_of test/simulation/plugin/scenarios.cc 'Scenarios of the kubelet plugin'
  scenarios_of test/simulation/gpu/scenarios.cc 'Scenarios of the GPU plugin'
}

# scenarios_of TABLE HEADING: the page lists the table's scenarios under that heading.
scenarios_of() {
  local table=$1 page=test/simulation/README.md rows
  rows=$(awk -F'"' '/^ +\.name = "/ { name = $2 } /^ +\.what = "/ { print "| `" name "` | " $2 " |" }' "$table")
  [[ -n $rows && $(grep -cE '^ +\.name = "' "$table") == $(wc -l <<<"$rows") ]] ||
    fail "$table: each scenario has a .name and a .what, each on a line of its own"
  diff <(echo "$rows") <(sed -n "/^## $2\$/,/^## /p" "$page" | grep '^| `') >&2 ||
    fail "$page and $table differ: < is in the code alone, > on the page alone"
}

# What an object file may not import to run in the simulation. Mutexes are allowed: they order, they do
# not wait for anything outside.
readonly kImpure='U (pthread_create|pthread_cond_.*|clock_gettime|gettimeofday|time|times|clock|nanosleep|usleep|sleep|clock_nanosleep|sched_yield|socket|connect|bind|listen|accept4?|send(to|msg)?|recv(from|msg)?|poll|ppoll|select|epoll_.*|getaddrinfo|getenv|secure_getenv|open(64)?|openat(64)?|fopen(64)?|read|write|getrandom|getentropy|rand|random|_ZNSt6thread.*|_ZNSt6chrono3_V21[0-9](steady|system)_clock3nowEv|_ZNSt18condition_variable.*|_ZNSt13random_device.*|_ZNSt3_V222.*condition_variable.*|curl_.*|sd_.*)(@.*)?$'

pure() {
  (($# > 0)) || fail 'pure: name the archives'
  local archive bad=0
  for archive in "$@"; do
    [[ -s $archive ]] || fail "$archive is not there"
    if nm -uA "$archive" | grep -E "$kImpure" >&2; then bad=1; fi
  done
  ((bad == 0)) || fail 'these object files reach for the world; pass it in instead'
}

metrics() {
  local prefixes='(cdom|controller_runtime|leader_election|nvidia_dra|process|rest_client|workqueue)' in_code on_page
  local -a all
  mapfile -t all < <(product | grep -vE '_test\.cc$')
  in_code=$(grep -hoE "\"${prefixes}_[a-z_]+\"" "${all[@]}" /dev/null | tr -d '"' | sort -u)
  on_page=$(grep -oE "^\| \`[a-z_]+\`" docs/metrics.md | tr -d '|\` ' | sort)
  [[ -n $in_code ]] || fail 'metrics: none found in the code'
  diff <(echo "$in_code") <(echo "$on_page") >&2 ||
    fail 'docs/metrics.md and the code differ: < is in the code alone, > on the page alone or twice'
}

figures() { LINT_TREE=$tree "$repo/test/bench/readme.py" --check; }

# expect_red RULE NAME SOURCE [FILE]: the rule fails on a tree with this source.
expect_red() {
  local rule=$1 file=$2 text=$3 scratch
  scratch=$(mktemp -d)
  mkdir -p "$scratch/$(dirname "$file")"
  printf '%b' "$text" >"$scratch/$file"
  if LINT_TREE=$scratch "$repo/test/lint/lint.sh" "$rule" >/dev/null 2>&1; then
    fail "rule $rule does not notice $file: $text"
  fi
  rm -r "$scratch"
}

# expect_green RULE FILE TEXT: the rule finds nothing in a tree with this source.
expect_green() {
  local rule=$1 file=$2 text=$3 scratch
  scratch=$(mktemp -d)
  mkdir -p "$scratch/$(dirname "$file")"
  printf '%s' "$text" >"$scratch/$file"
  LINT_TREE=$scratch "$repo/test/lint/lint.sh" "$rule" || fail "rule $rule refuses what is right in $file"
  rm -r "$scratch"
}

# expect_metrics_red NAME PAGE: the rule fails on code with this metric and this page.
expect_metrics_red() {
  local scratch
  scratch=$(mktemp -d)
  mkdir -p "$scratch/controller" "$scratch/docs"
  printf 'Gauge("%s");\n' "$1" >"$scratch/controller/a.cc"
  printf '%b' "$2" >"$scratch/docs/metrics.md"
  if LINT_TREE=$scratch "$repo/test/lint/lint.sh" metrics >/dev/null 2>&1; then
    fail "rule metrics does not notice that $1 is not alone on: $2"
  fi
}

# A tree in which one reason and one flag are in a case, and one is in the list; then each with one change.
shown_finds() {
  local scratch
  scratch=$(mktemp -d)
  mkdir -p "$scratch"/{docs,test/e2e,test/cluster/realnodes}
  expect() {  # expect RESULT WHAT FILE SED
    local got=green
    printf '### A\n### B\n### C\n' >"$scratch/docs/reasons.md"
    printf '| `--a-b`, `--c-d` | `A_B`, `C_D` | b |\n' >"$scratch/docs/flags.md"
    printf '"A" # Not AB or B-A.\n--a-b=1\n' >"$scratch/test/e2e/test_a.py"
    printf 'says C\nrun --c-d=1\n' >"$scratch/test/cluster/realnodes/a_cases.sh"
    printf '# D  e\nB  because\n' >"$scratch/test/e2e/not_on_a_cluster.txt"
    sed -i -E "$4" "$scratch/$3"
    LINT_TREE=$scratch "$repo/test/lint/lint.sh" shown >/dev/null 2>&1 || got=red
    [[ $got == "$1" ]] || fail "shown: $2 is $got"
  }
  expect green 'a tree that is right' docs/flags.md ''
  expect red 'a reason without a case' test/e2e/test_a.py '1d'
  expect red 'a flag without a case' test/e2e/test_a.py '2d'
  expect red 'a flag whose variable alone is there' test/e2e/test_a.py '2s/.*/A_B=1/'
  expect red 'a reason that only a real node had' test/cluster/realnodes/a_cases.sh '1d'
  expect red 'a flag that only a real node had' test/cluster/realnodes/a_cases.sh '2d'
  expect red 'a listed reason that has a case' test/e2e/test_a.py '1s/$/ "B"/'
  expect red 'a listed reason that does not exist' docs/reasons.md '2d'
  expect red 'a listed reason without a why' test/e2e/not_on_a_cluster.txt 's/because//'
  rm -r "$scratch"
}

# A tree with one condition that has all that goes with it; then each without one thing.
conditions_finds() {
  local scratch missing
  scratch=$(mktemp -d)
  mkdir -p "$scratch"/{controller/api,controller/compute_domain/status/conditions,crds,docs,test/fixtures,test/simulation/oracles}
  right() {
    printf 'inline constexpr std::string_view kConditionInUse = "InUse";\ninline constexpr std::string_view kReasonA = "A";\n' >"$scratch/controller/api/names.h"
    printf 'x\n' >"$scratch/controller/compute_domain/status/conditions/in_use.cc"
    printf 'kConditionInUse\n' >"$scratch/controller/compute_domain/status/status.cc"
    printf '{api::kReasonA, x},\n' >"$scratch/controller/compute_domain/status/reasons.cc"
    printf '  InUse: a workload holds a channel.\n' >"$scratch/crds/computedomains.yaml"
    printf '`InUse` says who\n' >"$scratch/docs/reasons.md"
    printf '"InUse"\n' | tee "$scratch/test/fixtures/a.h" >"$scratch/test/simulation/oracles/a.cc"
  }
  right
  LINT_TREE=$scratch "$repo/test/lint/lint.sh" conditions || fail 'conditions: a tree that is right is refused'
  for missing in controller/compute_domain/status/conditions/in_use.cc controller/compute_domain/status/status.cc \
    controller/compute_domain/status/reasons.cc crds/computedomains.yaml docs/reasons.md test/fixtures/a.h test/simulation/oracles/a.cc; do
    right
    : >"$scratch/$missing"
    # A test that names it takes the place of nothing.
    printf '"InUse"\n' | tee "$scratch/test/simulation/oracles/a_test.cc" >"$scratch/controller/a_test.cc"
    if LINT_TREE=$scratch "$repo/test/lint/lint.sh" conditions >/dev/null 2>&1; then fail "conditions: without $missing, not noticed"; fi
  done
  rm -r "$scratch"
}

# A page and a table that are equal; then each with one change.
scenarios_finds() {
  local scratch
  scratch=$(mktemp -d)
  mkdir -p "$scratch"/test/simulation/{scenarios,plugin,gpu}
  notices() {  # notices WHAT FILE SED
    local row='      {\n          .name = "%s",\n          .what = "%s",\n      },\n'
    # shellcheck disable=SC2059
    printf "$row" a-b 'A, then B' >"$scratch/test/simulation/scenarios/scenarios.cc"
    # shellcheck disable=SC2059
    printf "$row" p-q 'P, then Q' >"$scratch/test/simulation/plugin/scenarios.cc"
    # shellcheck disable=SC2059
    printf "$row" x-y 'X, then Y' >"$scratch/test/simulation/gpu/scenarios.cc"
    printf '## %s\n\n| Name | What happens |\n|---|---|\n| `%s` | %s |\n\n' 'Scenarios' a-b 'A, then B' \
      'Scenarios of the kubelet plugin' p-q 'P, then Q' 'Scenarios of the GPU plugin' x-y 'X, then Y' >"$scratch/test/simulation/README.md"
    sed -i -E "$3" "$scratch/test/simulation/$2"
    if LINT_TREE=$scratch "$repo/test/lint/lint.sh" scenarios >/dev/null 2>&1; then [[ -z $1 ]]; else [[ -n $1 ]]; fi ||
      fail "scenarios: ${1:-a tree that is right is refused}"
  }
  notices '' README.md ''
  notices 'a row that is missing, not noticed' README.md '/a-b/d'
  notices 'a row that differs, not noticed' README.md 's/then B/then C/'
  notices 'a row without a scenario, not noticed' README.md '$a| `c` | C |'
  notices 'a scenario without a row, not noticed' scenarios/scenarios.cc '$a\          .name = "c",\n          .what = "C",'
  notices 'a scenario without words, not noticed' scenarios/scenarios.cc '/what/d'
  notices "a row of the plugin's that is missing, not noticed" README.md '/p-q/d'
  notices "a row of the plugin's that differs, not noticed" README.md 's/then Q/then R/'
  notices "a row of the plugin's under the other heading, not noticed" README.md '/p-q/d; /a-b/a| `p-q` | P, then Q |'
  notices "a scenario of the plugin's without a row, not noticed" plugin/scenarios.cc '$a\          .name = "r",\n          .what = "R",'
  notices "a scenario of the plugin's without words, not noticed" plugin/scenarios.cc '/what/d'
  rm -r "$scratch"
}

# expect_arrows_red RULE FROM TO...: the rule notices each header TO that a source FROM includes. A rule that fails
# prints what it found and is the last, so those that it did not print are tried again.
expect_arrows_red() {
  local rule=$1 from=$2 to scratch said
  local -a rest
  shift 2
  scratch=$(mktemp -d)
  mkdir -p "$scratch/$(dirname "$from")"
  while (($# > 0)); do
    printf '#include "%s"\n' "$@" >"$scratch/$from"
    said=$(LINT_TREE=$scratch "$repo/test/lint/lint.sh" "$rule" 2>/dev/null) && fail "rule $rule does not notice that $from includes $*"
    rest=()
    for to in "$@"; do [[ $said == *"#include \"$to\""* ]] || rest+=("$to"); done
    ((${#rest[@]} < $#)) || fail "rule $rule does not notice that $from includes $*"
    set -- "${rest[@]}"
  done
  rm -r "$scratch"
}

# expect_chain RESULT FOLDER...: what layers says of folders of which each includes the next.
expect_chain() {
  local result=$1 scratch from core=controller/compute_domain got=green
  shift
  scratch=$(mktemp -d)
  while (($# > 1)); do
    from=$1
    shift
    mkdir -p "$scratch/$core/$from"
    printf '#include "%s/%s/a.h"\n' $core "$1" >>"$scratch/$core/$from/a.h"
  done
  LINT_TREE=$scratch "$repo/test/lint/lint.sh" layers >/dev/null 2>&1 || got=red
  [[ $got == "$result" ]] || fail "layers: a chain of includes that ends in $1 is $got"
  rm -r "$scratch"
}

# A copy of the tree, in which a folder or module that a rule names has another name.
layers_need() {
  local scratch path
  scratch=$(mktemp -d)
  cp -r "$repo/controller" "$repo/node" "$scratch"
  layers_of() { LINT_WHOLE=1 LINT_TREE=$scratch "$repo/test/lint/lint.sh" layers; }
  layers_of || fail 'layers: a tree that is right is refused'
  for path in controller/compute_domain/{model,rules,rules/membership,status,status/conditions,status/explanation,plan,requests,cache,pass} \
    controller/{daemon_set,resource_claim_template} node/imex node/daemon/main.cc \
    node/dra node/dra/rules node/gpu node/nvml node/plugin/{rules,host,api,loop,preflight,process}; do
    mv "$scratch/$path" "$scratch/away"
    if layers_of >/dev/null 2>&1; then fail "layers: $path does not exist, not noticed"; fi
    mv "$scratch/away" "$scratch/$path"
  done
  rm -r "$scratch"
}

# What is REALTIME may look at a real clock, and must.
realtime_finds() {
  local scratch test
  scratch=$(mktemp -d)
  mkdir -p "$scratch/pkg"
  printf 'cdom_library(NAME a SRCS a.cc TESTS a_test.cc\n             REALTIME b_test.cc\n             c_test.cc THREADS)\n' >"$scratch/pkg/CMakeLists.txt"
  for test in b c; do echo 'base::SystemClock clock;' >"$scratch/pkg/${test}_test.cc"; done
  echo 'base::ManualClock clock;' >"$scratch/pkg/a_test.cc"
  LINT_TREE=$scratch "$repo/test/lint/lint.sh" banned || fail 'banned: a test that is REALTIME may not look at a clock'
  echo 'base::SystemClock clock;' >"$scratch/pkg/a_test.cc"
  if LINT_TREE=$scratch "$repo/test/lint/lint.sh" banned >/dev/null 2>&1; then fail 'banned: a clock in a test beside one that is REALTIME, not noticed'; fi
  echo 'base::ManualClock clock;' | tee "$scratch/pkg/a_test.cc" >"$scratch/pkg/c_test.cc"
  if LINT_TREE=$scratch "$repo/test/lint/lint.sh" banned >/dev/null 2>&1; then fail 'banned: a test that is REALTIME without a clock, not noticed'; fi
  rm -r "$scratch"
}

includes_finds() {
  local core=controller/compute_domain plugin=node/plugin from
  local -a drivers=($core/{controller,error_log,pass/a}.h)
  local -a impure
  # Every folder that there is, and one that there is not yet.
  mapfile -t impure < <(cd "$repo" && { find pkg/* pkg/kube/* -maxdepth 0 -type d; echo pkg/new; } |
    grep -vxE 'pkg/(base|json|kube|kube/api)' | sed 's|$|/a.h|')
  expect_arrows_red includes pkg/base/a.h pkg/{command_line,json,http,kube,logging,systemd,tls,yaml}/a.h {controller,node,test}/a.h
  expect_arrows_red includes pkg/kube/a.cc controller/api/names.h node/imex/a.h test/fixtures/a.h
  expect_red includes pkg/kube/a.cc '// ComputeDomain\n'
  expect_arrows_red includes controller/a.cc node/imex/a.h
  expect_arrows_red includes node/daemon/a.cc controller/{compute_domain,daemon_set,process,resource_claim_template,settings,uninstall}/a.h
  expect_red includes pkg/kube/a.cc '#include <rapidjson/document.h>\n'
  expect_red includes node/plugin/a.cc '#include <grpcpp/grpcpp.h>\n'
  expect_red includes pkg/kube/a.h 'int a;\n'
  for from in $core/{model,rules,rules/membership,status,status/conditions,status/explanation,plan}/a.cc \
    controller/{daemon_set,resource_claim_template}/a.cc; do
    expect_arrows_red layers "$from" "${impure[@]}" controller/{settings,process,uninstall}/a.h
  done
  for from in $plugin/rules/a.cc node/imex/a.cc node/daemon/{a,clique,identity,step}.cc; do expect_arrows_red layers "$from" "${impure[@]}"; done
  expect_arrows_red layers $core/plan/a.cc $core/{cache,requests}/a.h "${drivers[@]}"
  expect_arrows_red layers $core/pass/a.cc $core/{controller,error_log}.h
  for from in $core/{model,rules,rules/membership,status,status/conditions,status/explanation,requests,cache}/a.cc; do
    expect_arrows_red layers "$from" "${drivers[@]}" $core/plan/a.h
    [[ $from == */cache/* ]] || expect_arrows_red layers "$from" $core/cache/a.h
    [[ $from == */requests/* ]] || expect_arrows_red layers "$from" $core/requests/a.h
    [[ $from == */status/* ]] || expect_arrows_red layers "$from" $core/status/{a,reasons,conditions/a,explanation/a}.h
  done
  for from in $core/{model,requests,cache}/a.cc; do expect_arrows_red layers "$from" $core/rules/{a,membership/a}.h; done
  expect_arrows_red layers $core/rules/membership/a.cc $core/rules/a.h
  expect_arrows_red layers $core/status/explanation/a.cc $core/status/{a,conditions/a}.h
  expect_arrows_red layers $core/status/conditions/a.cc $core/status/a.h
  expect_arrows_red layers node/dra/api/a.cc controller/api/names.h node/{imex,nvml,plugin/rules}/a.h
  expect_red layers node/dra/api/a.cc '// A GPU.\n'
  expect_red layers node/dra/rules/a.cc 'constexpr int kChannels = 2;\n'
  expect_arrows_red layers node/dra/rules/a.cc node/dra/api/a.h "${impure[@]}"
  expect_arrows_red layers node/nvml/a.cc controller/api/names.h node/{cdi,daemon,dra/rules,gpu,imex,kubelet,plugin/rules}/a.h
  expect_arrows_red layers node/gpu/a.cc controller/api/names.h node/{daemon,imex,plugin/rules}/a.h
  expect_arrows_red layers node/gpu/rules/a.cc "${impure[@]}"
  expect_arrows_red layers node/gpu/loop/a.cc node/dra/process/privileges.h node/dra/host/file_claim_disk.h pkg/base/subprocess.h
  expect_red layers node/gpu/loop/a.cc '#include <thread>\n'
  expect_arrows_red layers node/driver/a.cc node/{dra/rules,gpu,kubelet,plugin/rules}/a.h
  expect_arrows_red layers node/gpu/inventory/inventory.cc node/{cdi,gpu}/a.h node/nvml/library.h "${impure[@]}"
  expect_arrows_red layers $plugin/rules/a.cc $plugin/{api,host,loop,preflight,process}/a.h $plugin/settings.h
  expect_arrows_red layers $plugin/host/a.cc $plugin/{api,loop,preflight,process}/a.h $plugin/settings.h
  expect_arrows_red layers $plugin/api/a.cc $plugin/{host,loop,preflight,process}/a.h $plugin/settings.h
  expect_arrows_red layers $plugin/loop/a.cc $plugin/{preflight,process}/a.h $plugin/host/file_disk.h pkg/base/subprocess.h
  expect_red layers $plugin/loop/a.cc '#include <thread>\n'
  expect_arrows_red layers $plugin/process/a.cc $plugin/preflight/a.h
  expect_arrows_red layers $plugin/preflight/a.cc $plugin/{api,loop,process}/a.h
  expect_chain green . pass plan status status/conditions status/explanation rules rules/membership model
  expect_chain red . pass plan status status/conditions status/explanation rules rules/membership model model/below
  expect_chain red model model/below model
  layers_need
}

prose() {
  local -a texts
  mapfile -t texts < <({ git ls-files --error-unmatch . 2>/dev/null || find . -type f; } | grep -vE '^(LICENSE|test/lint/|manifests/chart/files/)|\.svg$|go\.sum$')
  forbid 'plain words: again, must, fix, cleans up, whose, anyone who, passes or follows, as in, is ignored' \
    '\b([Aa]new|[Ss]hall|[Mm]end(ed|s)?|[Ll]ies about|[Oo]f whom|[Ww]hoever|[Gg]oes by|[Ii]n the manner of|[Gg]oes unheeded)\b' "${texts[@]}"
}

# of_e2e RULE: of e2e_asserts.py, which says what each is.
of_e2e() { "$repo/test/lint/e2e_asserts.py" "$1" test/e2e/test_*.py || fail "$1: of asserts of end-to-end cases"; }

e2e_finds() {
  local text
  while IFS= read -r text; do expect_red one-look test/e2e/test_a.py "def test_a(one):\n$text"; done <<'CASES'
    assert one.status("a")["status"] == "Ready"
    assert one.condition("a") == {}, "why"
    assert node in one.members("a") and eventually("b", lambda: one.members("a"))
    assert (told, len(one.workers_on("a"))) == (1, 2)
    status = one.status("a")\n    assert status["members"] == "4/4"
    ready = one.condition("a")["reason"]\n    if 1:\n        assert ready == "Idle"
    def inner():\n        assert one.field("a", "b", "c")
CASES
  while IFS= read -r text; do expect_red cause-not-time test/e2e/test_a.py "def test_a(one):\n    began = time.monotonic()\n$text"; done <<'CASES'
    assert time.monotonic() - began <= 12
    assert 15 <= (one.end - one.begin).total_seconds() <= 23
    assert 5 > time.time() - 3
    took = time.monotonic() - began\n    assert took < 3
    slowest = max(0, time.monotonic() - began)\n    held_up = slowest > 3 or 5 >= slowest
    waits = []\n    waits.append(time.monotonic() - began)\n    assert 1 < max(waits) < 4
    def took():\n        return time.monotonic() - began\n    assert took() < 7
    assert [x for x in one if (x - began).total_seconds() > 4] == []
    times = {n: round(time.time() - began) for n in one}\n    assert [n for n in times.values() if n < 50] == [1, 2]
CASES
  expect_green one-look test/e2e/test_a.py 'def test_a(one):
    assert eventually("a", lambda: one.status("a"))["members"] == "4/4"
    assert one.process.status() == 0
    status = one.status("a")
    status = one.is_in_step("a", 4)
    assert status["members"] == "4/4"
'
  expect_green cause-not-time test/e2e/test_a.py 'def test_a(one):
    began = time.monotonic()
    assert (one.end - one.begin).total_seconds() >= 30
    assert len(one.requests) <= 1 + (time.monotonic() - began) / 10
    assert [x for x in one if (x - began).total_seconds() < 60] == []
@pytest.mark.timing
def test_b():
    began = time.monotonic()
    assert time.monotonic() - began < 5
'
}

# A tree whose pages say what is recorded; then each with another figure.
figures_finds() {
  local scratch
  scratch=$(mktemp -d)
  mkdir -p "$scratch"/{docs,test/bench}
  notices() {  # notices WHAT FILE SED
    cp "$repo/test/bench/figures.tsv" "$scratch/test/bench"
    cp "$repo/README.md" "$scratch"
    cp "$repo"/docs/{why,cost}.md "$scratch/docs"
    sed -i -E "$3" "$scratch/$2"
    if LINT_TREE=$scratch "$repo/test/lint/lint.sh" figures >/dev/null 2>&1; then [[ -z $1 ]]; else [[ -n $1 ]]; fi ||
      fail "figures: ${1:-a tree that is right is refused}"
  }
  notices '' README.md ''
  notices 'another figure in the README, not noticed' README.md 's/^(\| memory .*) [0-9]+ MiB/\1 31 MiB/'
  notices 'a row that the README lacks, not noticed' README.md '/^\| requests in a minute/d'
  notices 'another figure that is recorded, not noticed' test/bench/figures.tsv 's/\t[0-9]+ ms/\t42 ms/'
  notices 'another factor in docs/why.md, not noticed' docs/why.md 's/[0-9]+ times as fast/1000 times as fast/'
  notices 'another figure in docs/cost.md, not noticed' docs/cost.md 's/^(\| memory .*) [0-9]+ MiB/\1 31 MiB/'
  rm -r "$scratch"
}

finds() {
  local compiler=$1 scratch call
  includes_finds
  e2e_finds
  expect_red banned pkg/kube/a.cc 'auto a = std::chrono::steady_clock::now();\n'
  expect_red banned pkg/kube/a.cc 'std::random_device d;\n'
  expect_red banned pkg/kube/a.cc 'std::cout << 1;\n'
  expect_red banned pkg/kube/a.cc 'auto a = std::getenv("A");\n'
  expect_red banned node/daemon/a.cc '#include "pkg/base/environment.h"\n'
  expect_red banned node/daemon/a.cc 'Program{.environment = environ};\n'
  expect_red banned controller/main.cc 'return 7;\n'
  expect_red banned node/daemon/main.cc 'return 7;\n'
  expect_red banned pkg/kube/a_test.cc 'std::this_thread::sleep_for(a);\n'
  expect_red banned pkg/kube/testing/a.h 'auto a = std::chrono::steady_clock::now();\n'
  for call in 'base::SystemClock clock;' 'auto a = std::chrono::steady_clock::now();' 'auto a = std::chrono::system_clock::now();' \
    'clock_gettime(CLOCK_MONOTONIC, &a);' 'cv.wait_for(lock, std::chrono::seconds(5), a);' 'if (a.wait_for(std::chrono::seconds(5)) == b) {'; do
    expect_red banned pkg/kube/a_test.cc "$call\\n"
  done
  realtime_finds
  expect_red banned scripts/a.sh 'ls | grep -qx a\n'
  expect_red size pkg/kube/a.cc "$(printf 'int A() {\\n'; printf '//\\n%.0s' {1..80}; printf '}\\n')"
  expect_red prose docs/a.md 'It is made anew.\n'
  expect_red prose pkg/kube/a.h '// Whoever asks waits.\n'
  expect_metrics_red 'workqueue_depth' ''
  expect_metrics_red 'workqueue_depth' '| `workqueue_depth` |\n| `workqueue_adds_total` |\n'
  expect_metrics_red 'workqueue_depth' '| `workqueue_depth` |\n| `workqueue_depth` |\n'
  scratch=$(mktemp -d)
  mkdir -p "$scratch/controller/api" "$scratch/docs" "$scratch/test"
  printf 'inline constexpr std::string_view kReasonA = "A";\ninline constexpr std::string_view kEventB = "B";\n' >"$scratch/controller/api/names.h"
  printf '### A\n### B\n' >"$scratch/docs/reasons.md"
  printf '"A" "B"\n' >"$scratch/test/a_test.cc"
  LINT_TREE=$scratch "$repo/test/lint/lint.sh" reasons || fail 'reasons: a tree that is right is refused'
  printf '"B"\n' >"$scratch/test/a_test.cc"
  if LINT_TREE=$scratch "$repo/test/lint/lint.sh" reasons 2>/dev/null; then fail 'reasons: no test, not noticed'; fi
  printf '"A" "B"\n' >"$scratch/test/a_test.cc"
  printf '### A\n' >"$scratch/docs/reasons.md"
  if LINT_TREE=$scratch "$repo/test/lint/lint.sh" reasons 2>/dev/null >&2; then fail 'reasons: an Event without a paragraph, not noticed'; fi
  printf '### A\n### B\n### C\n' >"$scratch/docs/reasons.md"
  if LINT_TREE=$scratch "$repo/test/lint/lint.sh" reasons 2>/dev/null >&2; then fail 'reasons: a stray paragraph, not noticed'; fi
  printf '### A\n### B\n' >"$scratch/docs/reasons.md"
  printf 'Of(EventType::kWarning, "B");\n' >"$scratch/controller/a.cc"
  if LINT_TREE=$scratch "$repo/test/lint/lint.sh" reasons 2>/dev/null >&2; then fail 'reasons: one that is written out, not noticed'; fi
  rm -r "$scratch"
  shown_finds
  conditions_finds
  figures_finds
  scenarios_finds
  scratch=$(mktemp -d)
  for call in 'getenv("A");' 'std::thread t([]{}); t.join();' 'auto n = std::chrono::steady_clock::now(); (void)n;' \
    'socket(1, 1, 0);' 'auto n = std::chrono::system_clock::now(); (void)n;' 'sleep(1);'; do
    printf '#include <chrono>\n#include <cstdlib>\n#include <thread>\n#include <sys/socket.h>\n#include <unistd.h>\nvoid F() { %s }\n' \
      "$call" >"$scratch/a.cc"
    "$compiler" -std=c++20 -c "$scratch/a.cc" -o "$scratch/a.o"
    rm -f "$scratch/a.a"
    ar rc "$scratch/a.a" "$scratch/a.o"
    if "$repo/test/lint/lint.sh" pure "$scratch/a.a" >/dev/null 2>&1; then fail "pure does not notice $call"; fi
  done
  rm -r "$scratch"
}

rule=${1:-}
shift || true
case $rule in
  one-look | cause-not-time) of_e2e "$rule" ;;
  includes | layers | banned | size | reasons | shown | conditions | scenarios | metrics | prose | figures | pure | finds) "$rule" "$@" ;;
  *) fail "lint: no rule '$rule'" ;;
esac
