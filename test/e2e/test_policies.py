"""What manifests/policies let pass and what not, row by row of policies.tsv, and that each rule is needed for its rows."""

import re

import pytest
from cluster import REPO
from policy_rows import CLUSTER, policies  # noqa: F401
from waiting import eventually


def holds(policies, *names):
    assert policies.wrong([row for row in policies.rows if row.policy in names]) == []


def test_policies_are_taken_without_a_type_warning(policies):
    def checked():
        return {one["metadata"]["name"]: one["status"]["typeChecking"] if
                one["status"]["observedGeneration"] == one["metadata"]["generation"] else "not yet" for one in policies.objects()}
    eventually("the API server has checked all types, with no word", checked, dict.fromkeys(policies.policies, {}))


def test_each_policy_has_rows_and_each_rule_has_one(policies):
    ours = policies.cluster.kubectl_json("get", "validatingadmissionpolicies", "-l", "app.kubernetes.io/part-of=cdom")["items"]
    rules = {(one["metadata"]["name"], str(number + 1)) for one in ours for number in range(len(one["spec"]["validations"]))}
    rows = policies.rows
    assert {row.policy for row in rows} == {policy for policy, _ in rules}
    assert {(row.policy, row.rule) for row in rows if row.rule != "-"} == rules


def test_kubernetes_publishes_its_authority_in_the_drivers_namespace_again(policies):
    """Without it no pod starts there. Under cdom-driver-settings it is created by an account of Kubernetes."""
    cluster = policies.cluster

    def published():
        return {one["metadata"]["uid"] for one in cluster.list("configmaps", "cdom-system") if one["metadata"]["name"] == "kube-root-ca.crt"}
    before = eventually("it is published", published)
    cluster.kubectl("delete", "configmap", "kube-root-ca.crt", "-n", "cdom-system")
    eventually("it is published again", published, lambda now: now and now != before)


def test_each_refusal_has_at_most_200_characters(policies):
    """A longer one scrolls out of kubectl's line. Those that an expression makes name objects and commands beside it."""
    long = {(one["metadata"]["name"], len(rule["message"])) for one in policies.objects()
            for rule in one["spec"]["validations"] if len(rule.get("message", "")) > 200}
    assert long == set()


def test_claims_of_the_daemon_device_are_for_driver_namespaces_alone(policies):
    holds(policies, "cdom-daemon-claims")


def test_daemon_token_writes_its_pod_and_its_entry_and_nothing_else(policies):
    holds(policies, "cdom-daemon-account")


def test_child_is_deleted_by_controllers_or_once_it_is_annotated(policies):
    holds(policies, "cdom-child-deletion")


def test_channel_claims_have_a_form_that_the_plugin_takes(policies):
    holds(policies, "cdom-channel-claims")


@pytest.mark.parametrize("policy", ["cdom-template-name", "cdom-template-exists", "cdom-advice", "cdom-domain-values", "cdom-gpu-fraction",
                                    "cdom-unlisted-claim"])
def test_users_are_warned_of_what_will_not_work(policies, policy):
    holds(policies, policy)


def test_keys_of_domains_are_those_that_the_controller_knows(policies):
    names = (REPO / "controller/api/names.h").read_text()
    values = dict(re.findall(r'std::string_view (k\w+) =\s*"([^"]+)"', names))

    def known(array):
        (found,) = re.findall(rf"std::array {array} = \{{([^}}]*)\}}", names)
        return sorted(values[name] for name in re.findall(r"k\w+", found))
    (policy,) = [one for one in policies.objects() if one["metadata"]["name"] == "cdom-domain-values"]
    variables = {one["name"]: sorted(re.findall(r"'([^']+)'", one["expression"])) for one in policy["spec"]["variables"]}
    assert (variables["knownLabels"], variables["knownAnnotations"]) == (known("kDomainLabels"), known("kDomainAnnotations"))


@pytest.mark.parametrize("policy", ["cdom-tenant-limits", "cdom-tenant-limits-claims"])
def test_administrator_limits_what_domains_of_a_namespace_ask_for(policies, policy):
    holds(policies, policy)


def test_REV3_X10_namespace_annotations_need_permission_on_policies(policies):
    holds(policies, "cdom-driver-namespaces")


def test_REV3_X14_driver_pods_are_baseline_and_plugin_pods_of_its_daemon_set(policies):
    holds(policies, "cdom-driver-pods")


def test_REV4_Y4_settings_of_cdoms_pods_need_permission_on_policies(policies):
    holds(policies, "cdom-driver-settings")


def test_REV4_Y6_slices_are_written_by_their_node_in_its_pool(policies):
    holds(policies, "cdom-resource-slices")


def test_REV3_X1_tenant_objects_have_few_finalizers_owners_and_annotations(policies):
    holds(policies, "cdom-object-sizes")


def test_REV3_X16_pod_with_a_channel_as_extended_resource_is_refused(policies):
    holds(policies, "cdom-extended-resources")


def test_REV3_X7_account_that_releases_finalizers_changes_nothing_else(policies):
    holds(policies, "cdom-release-finalizers")


def test_controller_token_does_the_controllers_work_and_nothing_else(policies):
    holds(policies, "cdom-controller-account")


def test_plugin_token_writes_labels_and_slices_of_its_own_node_alone(policies):
    holds(policies, "cdom-plugin-account")


def rows_without(number, all_rows):
    """How rows must come out without the rules of that number: theirs pass, and the first of each other rule is refused as before."""
    rows, seen = [], set()
    for row in all_rows:
        if row.rule == str(number):
            rows.append(row._replace(expected="allow"))
        elif row.rule != "-" and (row.policy, row.rule) not in seen:
            rows.append(row)
        seen.add((row.policy, row.rule))
    return rows


def without_rule(one, number):
    """The policy with that rule true, if it has so many."""
    rules = one["spec"]["validations"]
    changed = [{**rule, "expression": "true"} if i + 1 == number else rule for i, rule in enumerate(rules)]
    return {**one, "spec": {**one["spec"], "validations": changed}}


def test_each_rule_is_missed_by_its_rows_when_it_is_taken_out(policies):
    whole = policies.objects()
    for one in whole:
        del one["metadata"]["resourceVersion"], one["status"]
    try:
        for number in range(1, max(int(row.rule) for row in policies.rows if row.rule != "-") + 1):
            policies.replace(without_rule(one, number) for one in whole)
            rows = rows_without(number, policies.rows)
            eventually(f"rows that are wrong without rule {number}", lambda rows=rows: policies.wrong(rows), [])
    finally:
        policies.replace(whole)
    eventually("rows that are wrong with all rules", lambda: policies.wrong(rows_without(0, policies.rows)), [])
