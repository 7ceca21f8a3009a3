#!/usr/bin/env bash
# The image as scripts/image.sh makes it: what is in it, that it runs with nothing else, and that a registry takes it and gives
# it back. nightly_test.sh builds it again elsewhere. Prints PASS or FAIL and a name for each case.
#
#   image_test.sh [PATTERN...]   all cases, or those whose name matches a regular expression
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=image.sh
source "$repo/test/packaging/image/image.sh"
program=usr/bin/compute-domain-controller

# --- What is checked -------------------------------------------------------------------------------------------

layout_is_one_that_skopeo_reads() {
  skopeo --insecure-policy inspect --raw "oci:$layout:$version" | jq -e '.schemaVersion == 2 and (.layers | length) == 2'
  skopeo --insecure-policy inspect "oci:$layout:$version" >"$work/inspected.json"
  [[ $(jq -r .Digest "$work/inspected.json") == "$digest" ]]
  [[ $(jq -r .Architecture "$work/inspected.json") == "$architecture" ]]
  # Every blob is what its name says, and there is none that nobody needs.
  (cd "$layout/blobs/sha256" && for blob in *; do echo "$blob  $blob"; done | sha256sum --check --quiet)
  [[ $(find "$layout/blobs" -type f | wc -l) == 4 ]]
}

compressed_it_has_15_mb_at_most() { has_compressed_at_most 15000000; }

there_is_no_shell() {
  [[ $(find "$rootfs" -type f -perm /111 -printf '%P\n' | grep -vE '\.so(\.|$)') == "$program" ]]
}

nothing_is_setuid_or_may_be_written_by_others_and_root_owns_it_all() { root_owns_it_all_and_nobody_else_may_write 100; }

libraries_are_all_inside() { closed "$rootfs"; }

a_library_that_is_missing_is_noticed() {
  cp -al "$rootfs" "$work/broken"
  rm "$work/broken/usr/lib/$triplet/libnghttp2.so.14"
  refused 'needs libnghttp2.so.14' closed "$work/broken"
}

a_package_that_is_missing_is_named_when_the_image_is_made() {
  # The packages, without one that a library of a library is in.
  local packages
  packages=$(/usr/bin/python3 "$repo/scripts/image/debian.py" "$architecture" "$cache" --packages "$layout.$architecture.packages.txt")
  mkdir -p "$work/lacking/packages" "$work/lacking/program/usr/bin"
  cp "$rootfs/$program" "$work/lacking/program/usr/bin/"
  ln -s "$packages/root" "$work/lacking/packages/root"
  cp "$layout.$architecture.packages.txt" "$work/lacking/packages.txt"
  jq 'del(."libnghttp2-14")' "$packages/packages.json" >"$work/lacking/packages/packages.json"
  refused 'libnghttp2.so.14, which no package has' /usr/bin/python3 "$repo/scripts/image/image.py" --image controller \
    --output "$work/none" --version 0 --revision 0 --epoch 0 --license "$repo/LICENSE" "$architecture=$work/lacking"
}

program_runs_as_its_user_with_nothing_but_the_image() {
  # All symbols are looked up at once, those of libraries' libraries too.
  in_image "/$program" --version >"$work/version.txt"
  grep -qx "cdom compute-domain-controller $version (revision $revision)" "$work/version.txt"
  grep -q -- --image-name < <(in_image "/$program" --help)
  # And it ends with words, not for want of a file, where there is no cluster.
  refused 'no API server is known' in_image "/$program" release-finalizers
}

labels_say_what_it_is_and_its_user_is_65532() {
  local config
  config=$(config_of "$layout")
  jq -e --arg version "$version" --arg revision "$revision" '.config.Labels |
    .["org.opencontainers.image.version"] == $version and .["org.opencontainers.image.revision"] == $revision and
    .["org.opencontainers.image.title"] == "cdom-controller" and .["org.opencontainers.image.licenses"] == "Apache-2.0" and
    .["org.opencontainers.image.source"] == "https://git.example.com/cdom"' <<<"$config"
  # Within the days that a list of Debian's security updates is valid.
  jq -e '.config.Labels["dev.cdom.package-lists"] | fromdate as $lists | $lists > now - 10 * 86400 and $lists <= now' <<<"$config"
  jq -e '.config.User == "65532:65532" and .config.Entrypoint == ["/usr/bin/compute-domain-controller"]' <<<"$config"
}

# P7 of the benchmarks shows what that saves.
the_image_and_the_service_set_the_same_for_the_heap() {
  local heap
  heap=$(config_of "$layout" | jq -r '.config.Env[] | select(startswith("GLIBC_TUNABLES="))')
  grep -Fqx "Environment=$heap" "$repo/manifests/systemd/cdom-controller.service"
  grep -Fq "{\"${heap%%=*}\", \"${heap#*=}\"}" "$repo/test/bench/stage.cc"
}

dpkg_reads_the_packages_and_each_file_is_of_one_of_them() {
  # A scanner reads the files side by side; dpkg wants them in one.
  mkdir -p "$work/admin/updates"
  local one
  for one in "$rootfs"/var/lib/dpkg/status.d/*; do cat "$one" && echo; done >"$work/admin/status"
  dpkg-query --admindir="$work/admin" -W -f '${Package} ${Version} ${db:Status-Status}\n' | sort >"$work/packages.txt"
  [[ $(wc -l <"$work/packages.txt") == $(find "$rootfs/var/lib/dpkg/status.d" -type f | wc -l) ]]
  refused '' grep -v ' installed$' "$work/packages.txt"
  # What the archives hold, in a merged /usr.
  local archives=$cache/apt/$architecture/archives name rest
  dpkg-query --admindir="$work/admin" -W -f '${Package}_${Version}_${Architecture}.deb\n' | sed 's/:/%3a/' >"$work/archives.txt"
  while read -r name; do dpkg-deb --fsys-tarfile "$archives/$name" | tar -t; done <"$work/archives.txt" |
    sed -E 's#^\./##; s#^(lib|lib64)/#usr/\1/#; /\/$/d' | sort -u >"$work/held.txt"
  rest=$(find "$rootfs" \( -type f -o -type l \) -printf '%P\n' | sort | comm -23 - "$work/held.txt" |
    grep -vE '^(lib|lib64|etc/ssl/certs/ca-certificates\.crt|var/lib/dpkg/status\.d/.*|usr/share/doc/[^/]*/copyright)$' |
    grep -vE "^($program|etc/(passwd|group|nsswitch\.conf)|usr/share/doc/cdom/.*)\$" || true)
  [[ -z $rest ]] || { echo "of no package: $rest"; return 1; }
  # And whose copyright is not there?
  while read -r name rest; do [[ -s $rootfs/usr/share/doc/$name/copyright ]] || { echo "no copyright of $name"; return 1; }; done <"$work/packages.txt"
}

sbom_lists_the_same_packages() {
  local sbom=$layout.$architecture.spdx.json
  cmp "$sbom" "$rootfs/usr/share/doc/cdom/cdom-controller.spdx.json"
  jq -e '.spdxVersion == "SPDX-2.3" and .dataLicense == "CC0-1.0" and .SPDXID == "SPDXRef-DOCUMENT" and
    (.documentNamespace | startswith("https://")) and (.creationInfo.created | fromdate > 0) and
    ([.packages[].SPDXID] | length == (unique | length))' "$sbom"
  # Nothing is related to what is not there.
  jq -e '[.packages[].SPDXID, "SPDXRef-DOCUMENT"] as $all |
    all(.relationships[]; (.spdxElementId, .relatedSpdxElement) as $id | $all | index($id) != null)' "$sbom"
  diff <(jq -r '.packages[] | select(.SPDXID | startswith("SPDXRef-deb-")) | "\(.name) \(.versionInfo) installed"' "$sbom" | sort) \
    "$work/packages.txt"
}

scanners_see_debian_12() {
  grep -qx 'VERSION_ID="12"' "$rootfs/etc/os-release"
  grep -qx 'ID=debian' "$rootfs/etc/os-release"
  [[ $(grep -c 'BEGIN CERTIFICATE' "$rootfs/etc/ssl/certs/ca-certificates.crt") -gt 100 ]]
}

program_is_stripped_hardened_and_does_not_say_where_it_was_built() {
  local elf=$rootfs/$program
  readelf --wide --sections "$elf" >"$work/sections.txt"
  refused '' grep -E '\.(symtab|debug_info)' "$work/sections.txt"
  grep -q 'DYN (Position-Independent Executable file)' < <(readelf --wide --file-header "$elf")
  readelf --wide --program-headers "$elf" >"$work/segments.txt"
  grep -q GNU_RELRO "$work/segments.txt"
  grep -qE 'GNU_STACK .* RW ' "$work/segments.txt"
  readelf --wide --dynamic "$elf" >"$work/dynamic.txt"
  grep -q 'FLAGS_1.* NOW PIE' "$work/dynamic.txt"
  refused '' grep -E 'RPATH|RUNPATH' "$work/dynamic.txt"
  # -fcf-protection: functions begin with endbr64. The note that says so of the whole program is missing, because Debian's
  # crt1.o is without.
  (($(objdump -d "$elf" | grep -c endbr64) > 1000))
  strings "$elf" >"$work/strings.txt"
  (($(grep -cxE '(pkg|controller)/[a-z_/]+\.(cc|h)' "$work/strings.txt") > 10))  # As checks name them: by the path in the tree.
  refused '' grep -F -e "$repo" -e "${HOME:-/nowhere}/" -e ../../ "$work/strings.txt"
}

a_registry_of_an_air_gapped_site_takes_it_and_gives_it_back() {
  # As a file, which is how it gets there; then through a registry on loopback.
  tar -C "$layout" -cf "$work/image.tar" .
  registry_up
  local there=docker://$registry/site/cdom-controller:$version
  skopeo --insecure-policy copy --quiet --dest-tls-verify=false "oci-archive:$work/image.tar:$version" "$there"
  [[ $(skopeo --insecure-policy inspect --tls-verify=false --format '{{.Digest}}' "$there") == "$digest" ]]
  skopeo --insecure-policy copy --quiet --src-tls-verify=false "docker://$registry/site/cdom-controller@$digest" \
    "oci:$work/back:$version"
  [[ $(skopeo --insecure-policy inspect --format '{{.Digest}}' "oci:$work/back:$version") == "$digest" ]]
}

misuse_is_explained() {
  refused 'say for which architecture' "$repo/scripts/image.sh"
  refused 'unknown word riscv64' "$repo/scripts/image.sh" riscv64
}

version_is_the_same_wherever_it_is_written() {
  local file
  for file in manifests/controller/deployment.yaml manifests/release-finalizers/job.yaml; do
    [[ $(sed -nE 's|^ *image: registry.example.com/cdom-controller:||p' "$repo/$file") == "$version" ]] || { echo "$file"; return 1; }
  done
  grep -qE "^## $version( |\$)" "$repo/CHANGELOG.md"
}

# --- What is run ------------------------------------------------------------------------------------------------

cases_in "$work/cases" "$@"
export CDOM_SOURCE=https://git.example.com/cdom
digest=$(image_in "$repo" "$architecture" --output "$layout")
unpack "$layout" "$rootfs"
check misuse_is_explained
check layout_is_one_that_skopeo_reads
check compressed_it_has_15_mb_at_most
check there_is_no_shell
check nothing_is_setuid_or_may_be_written_by_others_and_root_owns_it_all
check libraries_are_all_inside
check a_library_that_is_missing_is_noticed
check a_package_that_is_missing_is_named_when_the_image_is_made
check program_runs_as_its_user_with_nothing_but_the_image
check program_is_stripped_hardened_and_does_not_say_where_it_was_built
check labels_say_what_it_is_and_its_user_is_65532
check the_image_and_the_service_set_the_same_for_the_heap
check version_is_the_same_wherever_it_is_written
check dpkg_reads_the_packages_and_each_file_is_of_one_of_them
check sbom_lists_the_same_packages
check scanners_see_debian_12
check a_registry_of_an_air_gapped_site_takes_it_and_gives_it_back
summary
