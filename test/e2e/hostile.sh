# Cases of what a tenant may put into the API server to harm others. Sourced by e2e.sh.
# shellcheck shell=bash disable=SC2154

# What the API server stores and many a JSON reader refuses: half of a surrogate pair, too deep a nest, bytes
# that are no UTF-8.
unreadable_parameters() {  # unreadable_parameters KIND
  case $1 in
    surrogate) printf '{"x": "\\ud800"}' ;;
    depth) printf '{"x": %s%s}' "$(printf '[%.0s' {1..600})" "$(printf ']%.0s' {1..600})" ;;
    bytes) printf '{"x": "\xff\xfe"}' ;;
  esac
}
unreadable_requests() {  # unreadable_requests KIND DOMAIN_UID
  printf '{"requests": [{"name": "d", "exactly": {"deviceClassName": "compute-domain-default-channel.nvidia.com"}}],'
  printf '"config": [{"opaque": {"driver": "compute-domain.nvidia.com", "parameters": %s}}]}' "$(unreadable_parameters "$1")"
}
# As bytes: kubectl apply would send what it understood of them.
post_as() {  # post_as USER PATH < OBJECT
  kubectl create --as "$1" --raw "$2" -f - >/dev/null
}
dra=/apis/resource.k8s.io/v1/namespaces
post_unreadable() {  # post_unreadable KIND DOMAIN_UID: as who may edit, a template in `team`, a claim in `default`
  local meta
  meta=$(printf '"metadata": {"name": "unreadable-%s", "labels": {"resource.nvidia.com/computeDomain": "%s"}}' "$1" "$2")
  printf '{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", %s, "spec": {"spec": {"devices": %s}}}' \
    "$meta" "$(unreadable_requests "$1")" | post_as tenant "$dra/team/resourceclaimtemplates" || return 1
  printf '{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", %s, "spec": {"devices": %s}}' \
    "$meta" "$(unreadable_requests "$1")" | post_as tenant "$dra/default/resourceclaims"
}
post_all_unreadable() {  # post_all_unreadable DOMAIN_UID
  local kind
  for kind in surrogate depth bytes; do
    post_unreadable "$kind" "$1" || { echo "the API server took no $kind"; return 1; }
  done
}
is_labelled() { kubectl get nodes -l "resource.nvidia.com/computeDomain=$1" -o name | grep .; }

what_a_tenant_makes_unreadable_does_not_keep_another_tenants_domain_from_going() {
  local uid
  start_controller
  wait_for 60 "the controller leads" leads || return 1
  kubectl create namespace team && kubectl create rolebinding tenant -n team --clusterrole edit --user tenant &&
    kubectl create rolebinding tenant --clusterrole edit --user tenant || return 1
  used_domain victim node-001 || return 1
  uid=$(uid_of victim)
  # A policy keeps such claims out, but not those from before it, nor where it only warns.
  without_the_policy cdom-channel-claims post_all_unreadable "$uid" || return 1
  kubectl delete pod victim --timeout=60s || return 1
  # As a plugin leaves it behind that could not take it off.
  kubectl label node node-009 "resource.nvidia.com/computeDomain=$uid" || return 1
  kubectl delete cdom victim --timeout=40s || { kubectl describe cdom victim; return 1; }
  if is_labelled "$uid"; then echo "a label stays"; return 1; fi
  # Theirs is left alone: it only says that it belongs to the domain.
  kubectl get resourceclaimtemplates -n team unreadable-{surrogate,depth,bytes} -o name || return 1
  kubectl delete namespace team --timeout=60s && kubectl delete rolebinding tenant &&
    kubectl delete resourceclaims -n default unreadable-{surrogate,depth,bytes} --timeout=20s
}
