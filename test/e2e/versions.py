"""On which version of Kubernetes the cases run, and what an older one lacks."""

import os

import pytest

# Without it, that of test/cluster/controlplane/go.mod, which has all that cases need.
_VERSION = os.environ.get("CDOM_KUBERNETES")

needs_placement = pytest.mark.since_kubernetes("1.36", "MutatingAdmissionPolicy v1, for manifests/placement")


def _minor(version):
    """36 of 1.36 and of 1.36.3."""
    return int(version.split(".")[1])


def is_before(version):
    return _VERSION is not None and _minor(_VERSION) < _minor(version)
