#!/usr/bin/env bash
# Pushes the images of cdom @version@ to @registry@, and checks that the registry has them under the digests that cdom.yaml, the
# chart and the Debian package name. Needs skopeo, and `skopeo login` if the registry wants a password.
#
#   ./push.sh [--plain-http]    --plain-http: the registry serves no TLS
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

registry=@registry@
version=@version@
verify=true
fail() {
  echo "push: $*" >&2
  exit 1
}
case ${1:-} in
  '') ;;
  --plain-http) verify=false ;;
  -h | --help)
    sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *) fail "unknown word $1; --help shows what there is" ;;
esac
command -v skopeo >/dev/null || fail "skopeo is missing: apt-get install skopeo"
sha256sum --check --quiet SHA256SUMS || fail "files are missing or damaged: copy the whole release again"

# The archives were checked above, so no signature of theirs is asked for.
push() {  # push NAME DIGEST
  local there=docker://$registry/$1
  skopeo --insecure-policy copy --quiet --all --preserve-digests --dest-tls-verify="$verify" \
    "oci-archive:$1-$version.tar:$version" "$there:$version" ||
    fail "$registry did not take $1; see above. If it asks for a password, run: skopeo login ${registry%%/*}"
  [[ sha256:$(skopeo inspect --raw --tls-verify="$verify" "$there:$version" | sha256sum) == "$2  -" ]] ||
    fail "$registry has another image under $1:$version than $2"
  echo "$registry/$1@$2"
}
# @images@

cat <<NEXT

Install with one of:
  kubectl apply -f $PWD/cdom.yaml    # on Kubernetes 1.36 or later also cdom-placement.yaml
  helm install cdom $PWD/cdom-$version.tgz -n default --wait --set rack=true
NEXT
