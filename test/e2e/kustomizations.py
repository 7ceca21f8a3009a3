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


def patches_of_readme(text):
    """The block of patches with that text in manifests/README.md."""
    blocks = re.findall(r"^patches:\n.*?(?=^```$)", (REPO / "manifests/README.md").read_text(), re.MULTILINE | re.DOTALL)
    (found,) = [block for block in blocks if text in block]
    return found


def built(cluster, folder):
    """The objects that the kustomization makes."""
    text = cluster.kubectl("kustomize", folder)
    return objects_in(cluster.kubectl("create", "--dry-run=client", "--validate=false", "-f", "-", "-o", "json", stdin=text))


def objects_in(text):
    """The objects in what kubectl prints with -o json: some, or a List of them."""
    found, at = [], 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        one, at = json.JSONDecoder().raw_decode(text, at)
        found += one["items"] if one["kind"] == "List" else [one]
    return found
