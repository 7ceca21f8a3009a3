#!/usr/bin/env bash
# archive.sh OUT NAME COMMAND FILE=PATH...: an image of one layer as an OCI archive, as `ctr images import` takes it. COMMAND is
# what its containers run; each FILE is in it at PATH. The same input gives the same bytes.
set -euo pipefail

out=$1 name=$2 command=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir -p -- "$work/root" "$work/image/blobs/sha256"
for file; do
  install -D -m 755 -- "${file%%=*}" "$work/root/${file#*=}"
done

pack() { tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a+rX -C "$1" -cf "$2" .; }
descriptor() {  # descriptor MEDIA_TYPE FILE: moves the file among the blobs, and prints what refers to it
  local digest
  digest=$(sha256sum <"$2")
  digest=${digest%% *}
  printf '{"mediaType": "application/vnd.oci.image.%s", "digest": "sha256:%s", "size": %d' "$1" "$digest" "$(stat -c %s "$2")"
  mv -- "$2" "$work/image/blobs/sha256/$digest"
}

pack "$work/root" "$work/layer"
diff_id=$(sha256sum <"$work/layer")
layer="$(descriptor layer.v1.tar "$work/layer")}"
cat >"$work/config" <<JSON
{"architecture": "$(dpkg --print-architecture)", "os": "linux", "config": {"Entrypoint": ["$command"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:${diff_id%% *}"]}}
JSON
config="$(descriptor config.v1+json "$work/config")}"
cat >"$work/manifest" <<JSON
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": $config, "layers": [$layer]}
JSON
manifest=$(descriptor manifest.v1+json "$work/manifest")
printf '{"imageLayoutVersion": "1.0.0"}' >"$work/image/oci-layout"
printf '{"schemaVersion": 2, "manifests": [%s, "annotations": {"io.containerd.image.name": "%s"}}]}' "$manifest" "$name" \
  >"$work/image/index.json"
pack "$work/image" "$out"
