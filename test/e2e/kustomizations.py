"""Kustomizations on top of what is in manifests, and what pages say about them."""

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
