"""resource.k8s.io for cases on a Kubernetes without v1: they write and read v1, and the API server serves v1beta1 alone.

Between both is what kubectl is given and prints, and each request that a case sends itself. Where v1 is served, nothing is
changed. What cdom's programs send goes to the API server as it is.
"""

import json
import os
import re

import yaml
from versions import is_before

V1, V1BETA1 = "resource.k8s.io/v1", "resource.k8s.io/v1beta1"
IS_V1_SERVED = not is_before("1.34")
SERVED = V1 if IS_V1_SERVED else V1BETA1
# Options of `controlplane up` for requests with alternatives (firstAvailable), which 1.33 drops by default.
ALTERNATIVES_ON = () if IS_V1_SERVED else ("--apiserver-arg", "--feature-gates=DRAPrioritizedList=true")
_SAYS_V1 = re.compile(r"resource\.k8s\.io/v1\b")
_KINDS = {"resourceclaims": "ResourceClaim", "resourceclaimtemplates": "ResourceClaimTemplate", "resourceslices": "ResourceSlice"}


def as_served(made):
    """The object, or List of them, in the version that is served."""
    return _in_version(made, V1, V1BETA1, _flat)


def as_v1(found):
    """The object, or List of them, as v1 has it."""
    return _in_version(found, V1BETA1, V1, _nested)


def request_as_served(path, body=None):
    """(path, body) of a request to the API server. The body is an object or a patch of one, or None."""
    if IS_V1_SERVED or f"/apis/{V1}/" not in path:
        return path, body
    plural = re.search(rf"/({'|'.join(_KINDS)})(?=[/?]|$)", path)
    if body and plural:
        body = _changed(body, _KINDS[plural[1]], V1BETA1 if "apiVersion" in body else None, _flat)
    return path.replace(f"/apis/{V1}/", f"/apis/{V1BETA1}/"), body


def text_as_served(text):
    """The objects in this text, which is JSON or YAML, as text."""
    if IS_V1_SERVED or not text or not _SAYS_V1.search(text):
        return text
    return "\n---\n".join(json.dumps(as_served(one), default=_time) for one in yaml.load_all(text, yaml.CSafeLoader) if one)


def manifests_as_served(folder, into):
    """The kustomization `folder` as pages tell an administrator to change it: written into the new folder `into`."""
    if IS_V1_SERVED:
        return folder
    component = os.path.join(os.path.dirname(__file__), "../../manifests/overlays/dra-v1beta1")
    into.mkdir()
    (into / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        f"resources: [{os.path.relpath(folder, into)}]\ncomponents: [{os.path.relpath(component, into)}]\n")
    return into


def _time(value):
    """A time that YAML has read, as Kubernetes writes it."""
    return value.strftime("%Y-%m-%dT%H:%M:%SZ")


def _in_version(one, before, after, change):
    if IS_V1_SERVED or not isinstance(one, dict):
        return one
    if "items" in one:
        return {**one, "items": [_in_version(item, before, after, change) for item in one["items"]]}
    return _changed(one, one.get("kind"), after, change) if one.get("apiVersion") == before else one


def _changed(made, kind, version, change):
    made = {**made, **({"apiVersion": version} if version else {})}
    if kind == "ResourceClaimTemplate" and "spec" in (made.get("spec") or {}):
        made["spec"] = {**made["spec"], "spec": _with_requests(made["spec"]["spec"], change)}
    elif kind == "ResourceClaim" and made.get("spec"):
        made["spec"] = _with_requests(made["spec"], change)
    elif kind == "ResourceSlice" and "devices" in (made.get("spec") or {}):
        made["spec"] = {**made["spec"], "devices": [change(one, "basic") for one in made["spec"]["devices"]]}
    return made


def _with_requests(spec, change):
    if not (spec.get("devices") or {}).get("requests"):
        return spec
    return {**spec, "devices": {**spec["devices"], "requests": [change(one, "exactly") for one in spec["devices"]["requests"]]}}


def _flat(one, field):
    """A request or a device of v1 as v1beta1 has it."""
    if field == "exactly":
        return {"name": one.get("name"), **one["exactly"]} if "exactly" in one else one
    return {"name": one.get("name"), "basic": {key: value for key, value in one.items() if key != "name"}}


def _nested(one, field):
    """A request or a device of v1beta1 as v1 has it."""
    if field == "basic":
        return {"name": one["name"], **one.get("basic", {})}
    if "firstAvailable" in one:
        return one
    return {"name": one["name"], "exactly": {key: value for key, value in one.items() if key != "name"}}
