#!/usr/bin/env bash
# Installs what is needed on Debian 12. Does nothing, and needs no root, when it is there.
#
#   scripts/deps.sh                  what building and testing needs
#   scripts/deps.sh image [arm64]    what scripts/image.sh needs; arm64: to build for it on another machine
#   scripts/deps.sh release          what scripts/release.sh needs beside that
#   scripts/deps.sh site             what scripts/site.sh needs
#   scripts/deps.sh nightly          what the nightly tests need
set -euo pipefail

build=(
  build-essential g++-12 cmake ninja-build ccache pkg-config git ca-certificates jq curl openssl
  libcurl4-openssl-dev rapidjson-dev libssl-dev libspdlog-dev libfmt-dev libsystemd-dev libyaml-cpp-dev
  libexpected-dev prometheus-cpp-dev libmicrohttpd-dev libcli11-dev
  libgtest-dev
  protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libgrpc++-dev
)
image=(python3 binutils)
arm64=(g++-12-aarch64-linux-gnu)
release=("${image[@]}" python3-yaml debhelper help2man)
tests=(
  libgmock-dev librapidcheck-dev libbenchmark-dev nlohmann-json3-dev python3-pytest python3-pytest-xdist python3-yaml valgrind
  clang-19 lld-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev llvm-19
  lua5.1 skopeo runc containernetworking-plugins iproute2 iptables ipset
)
site=(mkdocs mkdocs-material python3-lunr)
nightly=(qemu-user-static lintian debootstrap bats bats-assert bats-support bats-file bc gettext-base make yq)

words=${*:-everything}
case $words in
  everything) packages=("${build[@]}" "${release[@]}" "${tests[@]}" "${site[@]}") ;;
  nightly) packages=("${build[@]}" "${release[@]}" "${arm64[@]}" "${tests[@]}" "${site[@]}" "${nightly[@]}") ;;
  site) packages=("${site[@]}") ;;
  release) packages=("${build[@]}" "${release[@]}") ;;
  image*arm64*)
    packages=("${build[@]}" "${image[@]}")
    [[ $(dpkg --print-architecture) == arm64 ]] || packages+=("${arm64[@]}")
    ;;
  image*) packages=("${build[@]}" "${image[@]}") ;;
  *)
    echo "deps: unknown words '$words'; the head of this file has what there is" >&2
    exit 2
    ;;
esac

missing=()
for package in "${packages[@]}"; do
  [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == "install ok installed" ]] || missing+=("$package")
done

if ((${#missing[@]} > 0)); then
  echo "deps: installing ${missing[*]}" >&2
  as_root=()
  ((EUID == 0)) || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# Unpacked and not installed, for it would start a service.
if [[ $words == site ]]; then exit; fi
if [[ $words != image* && $words != release ]]; then "$(dirname -- "${BASH_SOURCE[0]}")/../test/packaging/monitoring/prometheus.sh" >/dev/null; fi

if [[ $words != image* ]] && ! command -v go >/dev/null; then
  echo "deps: Go is missing. kubectl and the test control plane are built with it: install 1.21 or later from" \
    "https://go.dev/dl and put it on PATH. It fetches the version that test/cluster/controlplane/go.mod names" >&2
  exit 1
fi
