"""Copies of the policies of manifests/placement that lack one part each, all of them at work at once."""

import re
import typing

# Not in one namespace: what one of them writes the other would find.
ELSEWHERE = {("place", "kubernetes.io/metadata.name"): "kube-system", ("place", "cdom.dev/driver"): "driver",
             # These write nothing for domains that the former look for.
             ("preferred", "kubernetes.io/metadata.name"): "kube-system", ("preferred", "cdom.dev/driver"): "driver",
             ("preferred", "cdom.dev/prefer-clique"): "indifferent",
             ("check", "kubernetes.io/metadata.name"): "kube-public", ("check", "cdom.dev/driver"): "driver-too",
             ("required", "kubernetes.io/metadata.name"): "kube-node-lease", ("required", "cdom.dev/driver"): "driver-required"}
# Variables by what they are instead.
TAMED = {"exclusive": "false", "isRequired": "true", "groups": "[]", "ownTerms": "[]", "terms": "[variables.term + '0']",
         "pod": "dyn(object).spec"}


class Mutant(typing.NamedTuple):
    policy: str
    part: str  # "nothing" of a whole copy.
    namespace: str  # Where alone it is at work.
    objects: list


def parts(expression):
    """Name and text of each part: they are behind a line "// NAME: ..." each, joined by + or &&."""
    found = []
    for text in filter(None, expression.removeprefix("// ").split("\n// ")):
        first, _, code = text.partition("\n")
        found.append((first.partition(":")[0], re.sub(r"\s*(\+|&&)\s*$", "", code)))
    return found


def leave_out(expression, part, between):
    return f" {between}\n".join(f"({code})" for name, code in parts(expression) if name != part)


def without(policy, part):
    """The policy's spec without that part; as it is if that is no part of it."""
    spec = {**policy["spec"]}
    (condition,) = spec["matchConditions"]
    spec["matchConditions"] = [{**condition, "expression": leave_out(condition["expression"], part, "&&")}]
    spec["variables"] = [{**one, "expression": TAMED[part]} if one["name"] == part else one for one in spec["variables"]]
    if "validations" in spec:
        spec["validations"] = [{**one, "expression": "true"} if str(i + 1) == part else one
                               for i, one in enumerate(spec["validations"])]
    rules = [{**one, "resources": [name for name in one["resources"] if name != part]}
             for one in spec["matchConstraints"]["resourceRules"]]
    spec["matchConstraints"] = {**spec["matchConstraints"], "resourceRules": [one for one in rules if one["resources"]]}
    if "mutations" in spec:
        first = spec["mutations"][0]
        patch = {**first["jsonPatch"], "expression": leave_out(first["jsonPatch"]["expression"], part, "+")}
        spec["mutations"] = [{**first, "jsonPatch": patch}]
    return spec


def part_names(policy, binding):
    spec = policy["spec"]
    resources = [name for one in spec["matchConstraints"]["resourceRules"] for name in one["resources"]]
    expressions = [spec["matchConditions"][0]["expression"], *(one["jsonPatch"]["expression"] for one in spec.get("mutations", []))]
    return [*(name for text in expressions for name, _ in parts(text)),
            *(one["name"] for one in spec["variables"] if one["name"] in TAMED),
            *(str(i + 1) for i in range(len(spec.get("validations", [])))),
            *(resources if policy["kind"].startswith("Validating") and len(resources) > 1 else []),
            *(one["key"] for one in binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]),
            "selector"]


def mutants(name, policy, binding):
    """One for each part of the policy and its binding, and a whole copy."""
    for part in [*part_names(policy, binding), "nothing"]:
        own = f"m-{name}-" + re.sub(r"[^a-z0-9]", "-", part.lower())
        namespace = ELSEWHERE.get((name, part), own)
        metadata = {"name": own, "labels": {"example.com/mutant": "true"}}
        bound = {**binding["spec"], "policyName": own}
        if part == "selector":
            bound["paramRef"] = {**bound["paramRef"], "selector": {}}
        if "validationActions" in bound:
            bound["validationActions"] = ["Warn"]
        wanted = [one for one in bound["matchResources"]["namespaceSelector"]["matchExpressions"] if one["key"] != part]
        here = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]}
        bound["matchResources"] = {**bound["matchResources"], "namespaceSelector": {"matchExpressions": [*wanted, here]}}
        yield Mutant(name, part, namespace, [{**policy, "metadata": metadata, "spec": without(policy, part)},
                                             {**binding, "metadata": metadata, "spec": bound}])
