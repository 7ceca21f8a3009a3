#!/usr/bin/env bash
# Installs what building and testing needs, on Debian 12. Does nothing, and needs no root, when it is there.
set -euo pipefail

packages=(
  build-essential g++-12 cmake ninja-build ccache pkg-config git ca-certificates jq curl openssl
  libcurl4-openssl-dev rapidjson-dev libssl-dev libspdlog-dev libfmt-dev libsystemd-dev libyaml-cpp-dev
  libexpected-dev prometheus-cpp-dev libmicrohttpd-dev libcli11-dev
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev
  runc containernetworking-plugins iproute2
  clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev llvm-19
)

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

if ! command -v go >/dev/null; then
  echo "deps: Go is missing. The test control plane is built with it (see test/controlplane/go.mod for the" \
    "version): install it from https://go.dev/dl and put it on PATH" >&2
  exit 1
fi
