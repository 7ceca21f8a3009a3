"""What the simulated API server (test/simulation/apiserver) has been told of the real one is so."""

import collections
import json
import os
import re

import pytest
from cluster import REPO

FIXTURE = REPO / "test/fixtures/known_fields.txt"
HEAD = """# The fields of built-in kinds, by their types, as kube-apiserver {version} publishes them: what is not here it drops.
# `field=Type`: an object of that type, or a list of them; `field={{Type}}`: a map of them. Written by test/e2e/test_known_fields.py --write-fixtures.
"""
KINDS = {"Pod": ("api/v1", "io.k8s.api.core.v1.Pod"), "Node": ("api/v1", "io.k8s.api.core.v1.Node"),
         "Namespace": ("api/v1", "io.k8s.api.core.v1.Namespace"),
         "DaemonSet": ("apis/apps/v1", "io.k8s.api.apps.v1.DaemonSet"),
         "Event": ("apis/events.k8s.io/v1", "io.k8s.api.events.v1.Event"),
         "Lease": ("apis/coordination.k8s.io/v1", "io.k8s.api.coordination.v1.Lease"),
         "ResourceClaim": ("apis/resource.k8s.io/v1", "io.k8s.api.resource.v1.ResourceClaim"),
         "ResourceClaimTemplate": ("apis/resource.k8s.io/v1", "io.k8s.api.resource.v1.ResourceClaimTemplate"),
         "ResourceSlice": ("apis/resource.k8s.io/v1", "io.k8s.api.resource.v1.ResourceSlice")}
ROOTS = {root for _, root in KINDS.values()}


def type_of(field):
    """The type that a field's schema refers to, directly or of its items or values, and whether it is a map of these."""
    for part, is_map in ((field, False), (field.get("items", {}), False), (field.get("additionalProperties", {}), True)):
        references = [part] + part.get("allOf", []) if isinstance(part, dict) else []
        for one in references:
            if found := re.fullmatch(r"#/components/schemas/(.+)", one.get("$ref", "")):
                return found[1], is_map
    return "", False


def published(cluster):
    """{type: {field: (type of the field, whether it is a map)}} of all that KINDS reach."""
    documents, types = {}, {}
    for where, root in KINDS.values():
        if where not in documents:
            documents[where] = json.loads(cluster.kubectl("get", "--raw", f"/openapi/v3/{where}"))["components"]["schemas"]
        todo = [root]
        while todo:
            name = todo.pop()
            fields = documents[where][name].get("properties")
            if name in types or not fields:
                continue
            types[name] = {field: type_of(schema) for field, schema in fields.items()}
            todo += [one for one, _ in types[name].values() if one]
    return types


def as_text(types, version):
    plain = collections.Counter(name.rpartition(".")[2] for name in types)
    # io.k8s.api.core.v1.ResourceClaim is part of a Pod: core.ResourceClaim.
    short = {name: name.rpartition(".")[2] if plain[name.rpartition(".")[2]] == 1 or name in ROOTS
             else ".".join([name.split(".")[-3], name.split(".")[-1]]) for name in types}
    assert len(set(short.values())) == len(short), "two types have one short name"
    lines = []
    for name in sorted(types, key=short.get):
        fields = (f"{field}={{{short[kind]}}}" if kind in types and is_map else f"{field}={short[kind]}" if kind in types else field
                  for field, (kind, is_map) in sorted(types[name].items()))
        lines.append(f"{short[name]}: {' '.join(fields)}\n")
    return HEAD.format(version=version) + "".join(lines)


@pytest.mark.skipif("CDOM_KUBERNETES" in os.environ, reason="the simulation knows the fields of one version")
def test_the_fields_that_simulation_knows_are_those_of_the_server(cluster, request):
    version = json.loads(cluster.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    text = as_text(published(cluster), version)
    if request.config.getoption("--write-fixtures"):
        FIXTURE.write_text(text)
    assert FIXTURE.read_text().splitlines() == text.splitlines()


def made(kind, version, spec, **metadata):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "tried", "namespace": "default", **metadata}, **spec}


def test_an_unknown_field_of_a_built_in_kind_is_dropped(cluster):
    lease = made("Lease", "coordination.k8s.io/v1", {"spec": {"holderIdentity": "me", "holdrIdentity": "x"}, "status": {"a": 1}})
    created = json.loads(cluster.kubectl("create", "--validate=false", "--dry-run=server", "-f", "-", "-o", "json", stdin=json.dumps(lease)))
    assert created["spec"] == {"holderIdentity": "me"}
    assert "status" not in created


since_1_35 = pytest.mark.since_kubernetes("1.35", "these words")


# As object_store_test.cc expects it of the simulated one.
@pytest.mark.parametrize(("annotations", "refusal"), [
    ({"held indices": "x"}, 'metadata.annotations: Invalid value: "held indices": name part must consist of alphanumeric characters'),
    pytest.param({"a/b/c": "x"}, 'metadata.annotations: Invalid value: "a/b/c": a valid label key must consist of', marks=since_1_35),
    ({"Cdom.dev/x": "x"}, None),
    ({"cdom_dev/x": "x"}, 'metadata.annotations: Invalid value: "cdom_dev/x": prefix part a lowercase RFC 1123 subdomain'),
    ({"/x": "x"}, 'metadata.annotations: Invalid value: "/x": prefix part must be non-empty'),
    pytest.param({"x" * 64: "x"}, f'metadata.annotations: Invalid value: "{"x" * 64}": name part must be no more than 63 bytes',
                 marks=since_1_35),
    ({"example/x": "x" * (262144 - 9)}, None),
    ({"example/x": "x" * (262144 - 8)}, "metadata.annotations: Too long: may not be more than 262144 bytes")],
    ids=["space", "two-slashes", "upper-case", "prefix", "no-prefix", "long-key", "as-large-as-may-be", "too-large"])
@pytest.mark.parametrize("kind", ["Lease", "ComputeDomain"])
def test_annotations_are_refused_by_their_keys_and_size(cluster, kind, annotations, refusal):
    spec, version = {"Lease": ({}, "coordination.k8s.io/v1"),
                     "ComputeDomain": ({"spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "a"}}}},
                                       "resource.nvidia.com/v1beta1")}[kind]
    answer = cluster.try_to_create(made(kind, version, spec, annotations=annotations))
    if refusal:
        assert refusal in answer
    else:
        assert json.loads(answer)["metadata"]["annotations"] == annotations
