#!/usr/bin/env bash
# controller_image.sh PROGRAM OUT: an image of the controller as an OCI archive: the program and the libraries that it needs.
set -euo pipefail

program=$1 out=$2
files=("$program=/usr/bin/compute-domain-controller")
while read -r file; do files+=("$file=$file"); done < <(ldd "$program" | grep -oE '/[^ ]+')
"$(dirname -- "${BASH_SOURCE[0]}")/archive.sh" "$out" docker.io/library/cdom:0.1.0 /usr/bin/compute-domain-controller "${files[@]}"
