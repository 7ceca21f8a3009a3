"""On which version of Kubernetes the cases run, and what an older one lacks."""

import os

import pytest

# Without it, that of test/cluster/controlplane/go.mod, which has all that cases need.
_VERSION = os.environ.get("CDOM_KUBERNETES")


def _minor(version):
    """36 of 1.36 and of 1.36.3."""
    return int(version.split(".")[1])


def is_before(version):
    return _VERSION is not None and _minor(_VERSION) < _minor(version)


# MutatingAdmissionPolicies are in v1 since 1.36. 1.34 and 1.35 have them in v1beta1 if an administrator switches that on.
IS_PLACEMENT_ON = not is_before("1.36")
HAS_PLACEMENT = not is_before("1.34")
PLACEMENT_VERSION = "v1" if IS_PLACEMENT_ON else "v1beta1"
PLACEMENT_FOLDER = "placement" if IS_PLACEMENT_ON else "placement-v1beta1"  # Of manifests.
# Options of `controlplane up` that switch them on.
PLACEMENT_ON = () if IS_PLACEMENT_ON or not HAS_PLACEMENT else (
    "--runtime-config", "admissionregistration.k8s.io/v1beta1=true", "--apiserver-arg", "--feature-gates=MutatingAdmissionPolicy=true")
needs_dra_v1 = pytest.mark.since_kubernetes("1.34", "resource.k8s.io/v1: what a case applies as it is names no other version")
# For a module whose plane has PLACEMENT_ON, and for one that looks at a plane as it is by default.
needs_placement = pytest.mark.since_kubernetes("1.34", "MutatingAdmissionPolicy v1beta1, for manifests/placement-v1beta1")
needs_placement_by_default = pytest.mark.since_kubernetes("1.36", "MutatingAdmissionPolicy v1, for manifests/placement")
