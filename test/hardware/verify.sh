#!/usr/bin/env bash
# Writes one report of what this machine's NVIDIA driver, NVML and IMEX say, beside what cdom expects of them. It needs no
# Kubernetes, changes nothing but the report, and never shows keys or certificates of IMEX.
#
#   verify.sh [--out FOLDER] [--plugin PROGRAM] [--root FOLDER] [--driver-root FOLDER] [--imex-config FILE] [--template FILE]
#             [--timeout SECONDS]
#
#   --out FOLDER           where the report is written (the current folder)
#   --plugin PROGRAM       compute-domain-kubelet-plugin (beside this script, in build/release/bin, or in PATH)
#   --root FOLDER          where the machine's / is mounted (/)
#   --driver-root FOLDER   root of NVIDIA's driver on the machine; a driver container has /run/nvidia/driver (/)
#   --imex-config FILE     IMEX's configuration below the driver's root (/etc/nvidia-imex/config.cfg)
#   --template FILE        cdom's template of it (imexd.cfg.tmpl beside this script, or node/imex/imexd.cfg.tmpl)
#   --timeout SECONDS      how long each program of NVIDIA's may take (30)
#
# Exit status: 0 if all is as expected; 1 if something differs, is missing or cannot be asked; 2 if it was called wrongly.
set -uo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd -- "$here/../.." && pwd)
readonly kRawMost=262144   # Bytes of each output in the report.
readonly kChannels=2048    # Channels that cdom counts on, for allocationMode: All.
readonly kImexStates='INITIALIZING STARTING_AUTH_SERVER WAITING_FOR_PEERS WAITING_FOR_RECOVERY INIT_GPU READY SHUTTING_DOWN UNAVAILABLE'
readonly kProgramFolders='/opt/bin /usr/bin /usr/sbin /bin /sbin /usr/local/bin /usr/local/sbin'

out=$PWD plugin='' root=/ driver_root=/ imex_config=/etc/nvidia-imex/config.cfg template='' seconds=30

misused() {
  echo "verify: $1" >&2
  echo "verify: --help says how it is used" >&2
  exit 2
}
usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

read_arguments() {
  local flag
  while (($# > 0)); do
    flag=$1
    [[ $flag == -h || $flag == --help ]] && { usage; exit 0; }
    case $flag in
      --out | --plugin | --root | --driver-root | --imex-config | --template | --timeout) ;;
      *) misused "unknown argument '$flag'" ;;
    esac
    [[ $# -ge 2 && -n $2 && $2 != --* ]] || misused "$flag needs a value"
    case $flag in
      --out) out=$2 ;;
      --plugin) plugin=$2 ;;
      --root) root=$2 ;;
      --driver-root) driver_root=$2 ;;
      --imex-config) imex_config=$2 ;;
      --template) template=$2 ;;
      --timeout) seconds=$2 ;;
    esac
    shift 2
  done
}

first_of() {  # first_of FILE...: the first that exists
  local file
  for file in "$@"; do
    [[ -n $file && -f $file ]] && { printf '%s\n' "$file"; return; }
  done
}

check_arguments() {
  [[ -d $out && -w $out ]] || misused "--out '$out' is no folder that can be written"
  [[ $root == /* && -d $root ]] || misused "--root '$root' is no folder, as a path that begins with a /"
  [[ $driver_root == /* ]] || misused "--driver-root '$driver_root' has to begin with a /"
  [[ $imex_config == /* ]] || misused "--imex-config '$imex_config' has to begin with a /"
  root=$(cd -- "$root" && pwd) && root=${root%/}
  driver=$root${driver_root%/}
  [[ -d $driver/ ]] || misused "--driver-root '$driver_root': there is no folder $driver"
  [[ -z $driver || $EUID == 0 ]] || misused "another root than / needs chroot: run it as root"
  [[ -z $plugin || (-f $plugin && -x $plugin) ]] || misused "--plugin '$plugin' is no program"
  [[ -z $template || -r $template ]] || misused "--template '$template' cannot be read"
  [[ $seconds =~ ^[1-9][0-9]{0,3}$ ]] || misused "--timeout '$seconds' is no number of seconds from 1 to 9999"
  [[ -n $plugin ]] || plugin=$(first_of "$here/compute-domain-kubelet-plugin" "$repo/build/release/bin/compute-domain-kubelet-plugin" \
    "$(type -P compute-domain-kubelet-plugin)")
  [[ -n $template ]] || template=$(first_of "$here/imexd.cfg.tmpl" "$repo/node/imex/imexd.cfg.tmpl")
}

# ---- The report

# found STATUS AREA TEXT: one finding. OK: as cdom expects it. DIFFERS: it is otherwise. LACKS: it does not exist. UNKNOWN: it
# could not be asked. NOTE: worth knowing.
found() {
  counted[$1]=$((${counted[$1]:-0} + 1))
  printf '%-7s %s: %s\n' "$1" "$2" "$(printable <<<"$3")" | tee -a "$work/findings"
}
printable() { LC_ALL=C tr -d '\000-\010\013-\037\177' | tr '\n\t' '  ' | sed 's/ *$//' | head -c 1000; }

# raw NAME: keeps stdin for the report, without what is a key.
raw() {
  { printf '\n==== %s\n' "$1"; head -c "$kRawMost" | without_keys; } >>"$work/raw"
}
without_keys() {
  LC_ALL=C tr -d '\000-\010\013-\037\177' |
    sed -E -e 's/^([[:space:]]*#?[[:space:]]*IMEX_(SERVER|CLIENT)_(KEY|CERT|CERT_AUTH)[[:space:]]*=[[:space:]]*)[^[:space:]].*/\1(set, not shown)/' |
    awk '/-----BEGIN / { print "(a key or certificate, not shown)"; hidden = 1 } !hidden { print } /-----END / { hidden = 0 }'
}
raw_file() {  # raw_file PATH: a file of the machine, or why there is nothing
  { cat -- "$root$1" 2>&1 || true; } | raw "$1"
}
write_report() {
  local report=$1 status
  {
    echo 'cdom: report of a machine'
    printf 'made: %s on %s by test/hardware/verify.sh\n' "$(date -u +%FT%TZ)" "$(uname -n)"
    printf 'looked at: / in %s, driver in %s, with %s\n' "${root:-/}" "${driver:-/}" "${plugin:-no plugin}"
    for status in OK DIFFERS LACKS UNKNOWN NOTE; do printf '%s: %s\n' "$status" "${counted[$status]:-0}"; done
    printf '\n==== findings\n'
    cat "$work/findings" "$work/raw"
  } >"$report"
}

# ---- What is asked

program() {  # program NAME: its path below the driver's root; empty: there is none
  local folder
  for folder in '' $kProgramFolders; do
    [[ -f $driver$folder/$1 ]] && { printf '%s\n' "$folder/$1"; return; }
  done
}
# in_driver PROGRAM ARGUMENT...: runs it on the libraries of its own root, for a bounded time.
in_driver() {
  local within=()
  [[ -z $driver ]] || within=(chroot "$driver")
  timeout -k 2 "$seconds" "${within[@]}" "$@" </dev/null
}
why() {  # why STATUS OUTPUT: how a program ended
  case $1 in
    124 | 137) printf 'it did not answer within %s s' "$seconds" ;;
    *) printf 'it ended with status %s and printed: %s' "$1" "$2" ;;
  esac
}
value_of() { sed -nE "s/^[[:space:]]*$1[[:space:]]*[:=][[:space:]]*(.*[^[:space:]])[[:space:]]*\$/\\1/p" | head -n 1; }  # value_of KEY
fact() { sed -n "s/^FACT $1: //p" "$work/preflight" | head -n 1; }                                                        # fact NAME

machine() {
  { uname -srm; cat "$root/etc/os-release"; id; } 2>&1 | raw 'machine'
  ((EUID == 0)) || found NOTE machine 'not run as root: some of this can be read by root alone'
}

# What cdom's own code reads, and what it concludes.
preflight() {
  local cdi=$root/var/run/cdi status=0 line elsewhere=()
  : >"$work/preflight"
  [[ -n $plugin ]] || { found LACKS plugin 'compute-domain-kubelet-plugin: build it (scripts/build.sh release compute-domain-kubelet-plugin) or say where it is, --plugin'; return; }
  if [[ ! -d $cdi ]]; then
    found NOTE cdi "$cdi does not exist; the plugin creates it"
    mkdir "$work/cdi" && cdi=$work/cdi
  fi
  # The kernel's own files are read where they are, unless another root is looked at.
  [[ -z $root ]] || elsewhere=(--proc-devices "$root/proc/devices")
  env -u KUBECONFIG -u KUBERNETES_SERVICE_HOST -u FEATURE_GATES -u IMEX_MODE -u PREFLIGHT_WAIT timeout -k 2 "$seconds" "$plugin" \
    --node-name verify --container-driver-root "${driver:-/}" --nvidia-driver-root "$driver_root" --cdi-root "$cdi" "${elsewhere[@]}" \
    --kubelet-plugins-directory-path "$root/var/lib/kubelet/plugins" --host-cgroups "$root/sys/fs/cgroup" \
    preflight --preflight-facts=true >"$work/preflight" 2>&1 </dev/null || status=$?
  raw 'compute-domain-kubelet-plugin preflight' <"$work/preflight"
  while IFS= read -r line; do
    case $line in
      'MISSING '*) found LACKS preflight "${line#MISSING }" ;;
      'NOTE '*) found NOTE preflight "${line#NOTE }" ;;
      'This node has everything that is needed'*) found OK preflight "$line" ;;
    esac
  done <"$work/preflight"
  ((status <= 1)) || found UNKNOWN preflight "$(why "$status" "$(<"$work/preflight")")"
}

kernel_driver() {
  local text version nvml
  raw_file /proc/driver/nvidia/version
  text=$(cat "$root/proc/driver/nvidia/version" 2>/dev/null) || { found LACKS driver 'the kernel module nvidia is not loaded: /proc/driver/nvidia/version does not exist'; return; }
  version=$(grep -oE '[0-9]{3,}\.[0-9]+(\.[0-9]+)*' <<<"$text" | head -n 1)
  nvml=$(fact driver)
  if [[ -z $nvml ]]; then
    found UNKNOWN driver "the kernel module is ${version:-of an unknown version}; what NVML says is not known"
  elif [[ $version == "$nvml" ]]; then
    found OK driver "the kernel module and NVML both say $version"
  else
    found DIFFERS driver "the kernel module says '${version:-nothing}' and NVML $nvml; cdom expects the same version of both"
  fi
}

# The device numbers of /proc/devices, as cdom reads them: `channel_major` and `caps_major`.
majors() {
  local name numbers
  raw_file /proc/devices
  for name in nvidia-caps-imex-channels nvidia-caps; do
    numbers=$(awk -v name="$name" '/^Block devices:/ { exit } $2 == name { print $1 }' "$root/proc/devices" 2>/dev/null | tr '\n' ' ')
    case $numbers in
      '') found LACKS devices "/proc/devices has no character device $name; cdom takes its major from there" ;;
      *' '?*) found DIFFERS devices "/proc/devices has $name with several majors, ${numbers% }; cdom takes the first" ;;
      *) found OK devices "/proc/devices: $name has major ${numbers% }" ;;
    esac
    [[ $name == nvidia-caps ]] && caps_major=${numbers%% *} || channel_major=${numbers%% *}
  done
}

channels() {
  local folder=/dev/nvidia-caps-imex-channels file number good=0 count
  ls -lAn "$root$folder" 2>&1 | raw "$folder"
  for file in "$root$folder"/channel*; do
    [[ -e $file ]] || continue
    number=${file##*/channel}
    if [[ $(device "$file") == "$channel_major:$number" ]]; then
      good=$((good + 1))
    else
      found DIFFERS channels "$folder/channel$number is $(device "$file" | sed 's/^$/no device/'); cdom expects $channel_major:$number"
    fi
  done
  found OK channels "$good files in $folder have the expected numbers; cdom needs none of them on the host"
  raw_file /proc/driver/nvidia/params
  count=$({ cat "$root/proc/driver/nvidia/params" | value_of ImexChannelCount; } 2>/dev/null)
  case $count in
    "$kChannels") found OK channels "the driver has $count" ;;
    '') found UNKNOWN channels '/proc/driver/nvidia/params does not say ImexChannelCount' ;;
    *) found DIFFERS channels "the driver has $count; cdom counts on $kChannels: allocationMode: All would name others" ;;
  esac
}
device() {  # device FILE: "MAJOR:MINOR"; nothing: it is no character device
  local numbers
  [[ -c $1 ]] && numbers=$(stat -L -c '0x%t 0x%T' -- "$1") && printf '%d:%d' $numbers
}

capability() {
  local folder=/proc/driver/nvidia/capabilities path text minor mode node is
  # Where cdom looks for it: with a root of its own below the driver's root.
  path=$([[ -z $root ]] && echo "$folder" || echo "$driver$folder")
  (cd -- "$path" 2>/dev/null && find . -type f | sort | while IFS= read -r file; do echo "-- $file"; cat -- "$file"; done) 2>&1 | raw "$folder"
  text=$(cat "$path/fabric-imex-mgmt" 2>/dev/null) || { found LACKS capability "$path/fabric-imex-mgmt does not exist: a daemon cannot manage channels"; return; }
  minor=$(value_of DeviceFileMinor <<<"$text") mode=$(value_of DeviceFileMode <<<"$text")
  if [[ ! $minor =~ ^[0-9]+$ || ! $mode =~ ^[0-9]+$ ]]; then
    found DIFFERS capability "fabric-imex-mgmt says '$text'; cdom expects decimal DeviceFileMinor and DeviceFileMode"
    return
  fi
  found OK capability "fabric-imex-mgmt has minor $minor and mode $(printf '%o' "$mode")"
  node=$driver/dev/nvidia-caps/nvidia-cap$minor
  [[ -e $node ]] || { found NOTE capability "$node does not exist; the runtime creates it in the container"; return; }
  is=$(device "$node")
  if [[ $is == "$caps_major:$minor" ]]; then
    found OK capability "$node is $is"
  else
    found DIFFERS capability "$node is ${is:-no device}; cdom expects $caps_major:$minor"
  fi
}

other_driver_files() {
  local path
  for path in /proc/driver/nvidia-nvswitch/devices /sys/class/infiniband /proc/driver/nvidia/gpus; do
    ls -lA "$root$path" 2>&1 | raw "$path"
  done
  cat "$root"/proc/driver/nvidia/gpus/*/information 2>&1 | raw '/proc/driver/nvidia/gpus/*/information'
  list_devices | raw 'device files of the driver'
  ls -lA "$root/var/run/cdi" "$root/etc/cdi" 2>&1 | raw 'folders of CDI specs'
}
list_devices() { (cd "$driver/dev" && ls -ln nvidia*) 2>/dev/null || true; }

# The Fabric sections of nvidia-smi -q, as "GPU|state|status|clique|cluster" in the order of NVML's indices.
fabric_sections() {
  awk '
    function line() { if (gpu >= 0 && state != "") print gpu "|" state "|" status "|" clique "|" cluster }
    BEGIN { gpu = -1 }
    /^GPU [0-9A-Fa-f:.]+[ \t]*$/ { line(); gpu++; state = status = clique = cluster = ""; inside = 0; next }
    /^[ \t]+Fabric[ \t]*$/ { match($0, /[^ \t]/); indent = RSTART; inside = 1; next }
    inside {
      match($0, /[^ \t]/)
      if (RSTART <= indent) { inside = 0; next }
      at = index($0, ": "); if (at == 0) next
      key = substr($0, RSTART, at - RSTART); value = substr($0, at + 2)
      gsub(/[ \t]+$/, "", key); gsub(/[ \t\r]+$/, "", value)
      if (key == "State") state = value; else if (key == "Status") status = value
      else if (key == "CliqueId") clique = value; else if (key == "ClusterUUID") cluster = tolower(value)
    }
    END { line() }'
}
readonly -A kStateWords=([0]='N/A|Not Supported' [1]='Not Started' [2]='In Progress' [3]=Completed)

nvidia_smi() {
  local path output status=0 line
  path=$(program nvidia-smi)
  [[ -n $path ]] || { found LACKS nvidia-smi "it is in none of the driver's folders ($kProgramFolders)"; return; }
  output=$(in_driver "$path" -q 2>&1) || status=$?
  awk '/^(Timestamp|Driver Version|CUDA Version|Attached GPUs|GPU )/ { print } /^[ \t]+Product Name/ { print }
    /^[ \t]+Fabric[ \t]*$/ { match($0, /[^ \t]/); indent = RSTART; inside = 1; print; next }
    inside { match($0, /[^ \t]/); if (RSTART > indent) print; else inside = 0 }' <<<"$output" | raw 'nvidia-smi -q, in part'
  ((status == 0)) || { found UNKNOWN nvidia-smi "$path -q: $(why "$status" "$output")"; return; }
  fabric_sections <<<"$output" >"$work/smi"
  [[ -s $work/preflight ]] || { found UNKNOWN fabric 'nothing to compare nvidia-smi with'; return; }
  while IFS= read -r line; do compare_fabric "$line"; done < <(grep -E '^FACT gpu [0-9]+: ' "$work/preflight")
  grep -qE '^FACT gpu ' "$work/preflight" || found NOTE fabric 'NVML lists no GPU to cdom'
}
compare_fabric() {  # compare_fabric FACT: what cdom reads from NVML of a GPU, beside nvidia-smi
  local gpu state status clique words smi_state smi_status smi_clique smi_cluster wrong=''
  [[ $1 =~ ^FACT\ gpu\ ([0-9]+):\ state\ ([0-9]+),\ status\ (-?[0-9]+),\ clique\ ([0-9a-f.-]+), ]] || { found UNKNOWN fabric "cannot read '$1'"; return; }
  gpu=${BASH_REMATCH[1]} state=${BASH_REMATCH[2]} status=${BASH_REMATCH[3]} clique=${BASH_REMATCH[4]}
  IFS='|' read -r _ smi_state smi_status smi_clique smi_cluster < <(grep "^$gpu|" "$work/smi") || { found UNKNOWN fabric "nvidia-smi has no Fabric section of GPU $gpu"; return; }
  words=${kStateWords[$state]:-}
  [[ -n $words && "|$words|" == *"|$smi_state|"* ]] || wrong+="; state is $state, which is ${words:-unknown}, and nvidia-smi says $smi_state"
  if [[ $state == 3 ]]; then
    [[ ($status == 0 && $smi_status == Success) || ($status != 0 && $smi_status != Success) ]] || wrong+="; status is $status, and nvidia-smi says $smi_status"
    [[ $clique == "$smi_cluster.$smi_clique" ]] || wrong+="; clique is $clique, and nvidia-smi says $smi_cluster.$smi_clique"
  fi
  if [[ -z $wrong ]]; then
    found OK fabric "GPU $gpu: NVML and nvidia-smi say the same, $smi_state, clique $clique"
  else
    found DIFFERS fabric "GPU $gpu, as cdom reads NVML$wrong"
  fi
}

imex_version() {
  local path output status=0 version driver_version
  for path in nvidia-imex nvidia-imex-ctl; do
    if [[ -n $(program "$path") ]]; then
      found OK imex "$path is $(program "$path")"
    else
      found LACKS imex "$path is in none of the driver's folders ($kProgramFolders); only a node with an NVLink fabric needs it"
    fi
  done
  path=$(program nvidia-imex)
  [[ -n $path ]] || return
  output=$(in_driver "$path" --version 2>&1) || status=$?
  raw 'nvidia-imex --version' <<<"$output"
  ((status == 0)) || { found UNKNOWN imex "$path --version: $(why "$status" "$output")"; return; }
  version=$(grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)*' <<<"$output" | head -n 1) driver_version=$(fact driver)
  if [[ -z $version ]]; then
    found DIFFERS imex "--version prints '$output', where cdom expects a version such as 580.95.05"
  elif [[ -z $driver_version ]]; then
    found UNKNOWN imex "its version is $version; what NVML says is not known"
  elif [[ $version != "$driver_version" ]]; then
    found DIFFERS imex "its version is $version; cdom expects the driver's, $driver_version"
  else
    found OK imex "its version is the driver's, $version"
  fi
}

keys_in() { sed -nE 's/^[[:space:]]*#?[[:space:]]*([A-Z][A-Z0-9_]*[A-Z0-9])[[:space:]]*=.*/\1/p' "$@" | sort -u; }

# The configuration that the package of IMEX brings names the keys that this version documents.
imex_keys() {
  local config=$driver$imex_config unknown missing nodes
  raw_file "${config#"$root"}"
  [[ -r $config ]] || { found UNKNOWN imex-config "$config does not exist: the keys that this version of IMEX documents are not known"; return; }
  nodes=$(value_of IMEX_NODE_CONFIG_FILE <"$config")
  [[ -z $nodes ]] || raw_file "${driver#"$root"}$nodes"
  [[ -n $template ]] || { found UNKNOWN imex-config "cdom's template imexd.cfg.tmpl is not here: say where it is, --template"; return; }
  unknown=$(comm -13 <(keys_in "$config") <(keys_in "$template") | tr '\n' ' ')
  missing=$(comm -23 <(keys_in "$config") <(keys_in "$template") | tr '\n' ' ')
  if [[ -n $unknown ]]; then
    found DIFFERS imex-config "cdom writes keys that $imex_config does not name: $unknown"
  else
    found OK imex-config "$imex_config names all keys that cdom writes"
  fi
  [[ -z $missing ]] || found NOTE imex-config "$imex_config names keys that cdom leaves at their default: $missing"
}

imex_answers() {
  local path output status=0
  path=$(program nvidia-imex-ctl)
  [[ -n $path ]] || return
  output=$(in_driver "$path" -c "$imex_config" -q 2>&1 && echo .) || status=$?
  output=${output%.}
  raw 'nvidia-imex-ctl -q' <<<"$output"
  if ((status != 0)); then
    found UNKNOWN imex-state "no IMEX says its state: $(why "$status" "$output"). Start nvidia-imex on this machine to see its answers"
    return
  fi
  if [[ $output == *$'\n' && " $kImexStates " == *" ${output%$'\n'} "* && ${output%$'\n'} != *' '* ]]; then
    found OK imex-state "-q prints a state that cdom knows and nothing else: ${output%$'\n'}"
  else
    found DIFFERS imex-state "-q prints '$output'; cdom expects one line with one of $kImexStates"
  fi
  imex_domain "$path"
}
imex_domain() {
  local output status=0 wrong
  output=$(in_driver "$1" -c "$imex_config" -N -j 2>"$work/stderr") || status=$?
  { printf '%s\n' "$output"; cat "$work/stderr"; } | raw 'nvidia-imex-ctl -N -j'
  ((status == 0)) || { found UNKNOWN imex-domain "$(why "$status" "$output$(<"$work/stderr")")"; return; }
  type -P jq >/dev/null || { found UNKNOWN imex-domain 'jq is not installed: compare the answer below by eye'; return; }
  wrong=$(jq -r --arg states "$kImexStates" '
    ($states | split(" ")) as $known
    | if (.nodes | type) != "object" then "nodes is no object"
      else .nodes | to_entries[] | .key as $node | .value
        | (if ($node | test("^[0-9]+$")) then empty else "node \($node) is no index" end),
          (if .status as $status | $known | index([$status]) then empty else "node \($node) has the state \(.status)" end),
          (if .status == "READY" and (.version | type) != "string" then "node \($node) has no version" else empty end),
          (if (.connections | type) != "object" then "node \($node) has no connections"
           else .connections | to_entries[]
             | if (.key | test("^[0-9]+$")) and (.value | type) == "object" and (.value.status | type) == "string" then empty
               else "connection \(.key) of node \($node) has no status" end end)
      end' <<<"$output" 2>&1) || wrong="it is no JSON: $wrong"
  if [[ -z $wrong ]]; then
    found OK imex-domain "-N -j has the form that cdom reads: $(jq -r '.nodes | length' <<<"$output") nodes"
  else
    found DIFFERS imex-domain "-N -j is not as cdom reads it: $wrong"
  fi
}

main() {
  local report before
  read_arguments "$@"
  check_arguments
  report=$out/cdom-report-$(uname -n)-$(date -u +%Y%m%dT%H%M%SZ)-$$.txt
  work=$(mktemp -d "${TMPDIR:-/tmp}/cdom-verify.XXXXXX") || exit 2
  trap 'rm -rf -- "$work"' EXIT
  : >"$work/findings"
  : >"$work/raw"
  before=$(list_devices)
  machine
  preflight
  kernel_driver
  majors
  channels
  capability
  nvidia_smi
  imex_version
  imex_keys
  imex_answers
  other_driver_files
  [[ $(list_devices) == "$before" ]] || found NOTE devices "NVIDIA's own programs changed files in $driver/dev meanwhile, as they do when they first run"
  write_report "$report" || { echo "verify: cannot write $report" >&2; exit 2; }
  echo "The report is $report"
  ((${counted[DIFFERS]:-0} + ${counted[LACKS]:-0} + ${counted[UNKNOWN]:-0} == 0))
}

declare -A counted=()
work='' driver='' channel_major='' caps_major=''
main "$@"
