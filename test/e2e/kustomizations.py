"""Kustomizations on top of what is in manifests, and what pages say about them."""

import json
import os
import re

from cluster import REPO


def overlay(folder, *resources, components=(), more=""):
    """`folder` with a kustomization of these folders of `manifests`. `more` is further text of it."""
    def relative(names):  # kustomize takes no others.
        return ", ".join(os.path.relpath(REPO / "manifests" / name, folder) for name in names)
    folder.mkdir(exist_ok=True)
    (folder / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        f"resources: [{relative(resources)}]\ncomponents: [{relative(components)}]\n{more}\n")
    return folder


def beside_a_checkout(folder, text):
    """`folder` with that kustomization, which looks for a checkout of ours beside itself, as pages tell an administrator."""
    checkout = folder.parent / "cdom"
    if not checkout.is_symlink():
        checkout.symlink_to(REPO)
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(text)
    return folder


def on_top(below, name, text):
    """A folder of that name beside `below`, whose kustomization changes what that makes."""
    return beside_a_checkout(below.parent / name, f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
                                                  f"resources: [../{below.name}]\n{text}")


def settings(name, *literals):
    """The part of a kustomization that adds these variables to the ConfigMap."""
    lines = "".join(f"  - {one}\n" for one in literals)
    return f"configMapGenerator:\n- name: {name}\n  namespace: cdom-system\n  behavior: merge\n  literals:\n{lines}"


def patches_of_page(text):
    """The block of patches with that text in docs/policies.md."""
    blocks = re.findall(r"^patches:\n.*?(?=^```$)", (REPO / "docs/policies.md").read_text(), re.MULTILINE | re.DOTALL)
    (found,) = [block for block in blocks if text in block]
    return found


def built(cluster, folder):
    """The objects that the kustomization makes, without a warning."""
    return objects_of(cluster, cluster.quietly("kustomize", folder))


def objects_of(cluster, text):
    """The objects of that YAML, of kinds that the cluster serves."""
    return objects_in(cluster.kubectl("create", "--dry-run=client", "--validate=false", "-f", "-", "-o", "json", stdin=text))


def objects_in(text):
    """The objects in what kubectl prints with -o json: some, or a List of them."""
    found, at = [], 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        one, at = json.JSONDecoder().raw_decode(text, at)
        found += one["items"] if one["kind"] == "List" else [one]
    return found
