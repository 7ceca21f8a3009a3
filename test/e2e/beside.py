"""NVIDIA's controller in a cluster: its Deployment, whose pods run nothing on simulated nodes, and a stand-in for its program."""

import contextlib
import subprocess

import yaml
from cluster import REPO
from namespaces import DRIVER
from process import Process
from requests_of import READS, time_of

ACCOUNT = f"system:serviceaccount:{DRIVER}:chart-service-account-controller"
LEASE = "dra-driver-nvidia-gpu-controller"
LASTS = 6  # Seconds, the duration of the Lease.
TERM = {"LEASE_DURATION": f"{LASTS}s", "RENEW_DEADLINE": "5s", "RETRY_PERIOD": "1s"}


TERM_FLAGS = tuple(f"--leader-election-{name.lower().replace('_', '-')}={value}" for name, value in TERM.items())
ELECTS = {"LEADER_ELECTION_ENABLED": "true", "LEADER_ELECTION_LEASE_LOCK_NAME": LEASE, "LEADER_ELECTION_LEASE_LOCK_NAMESPACE": DRIVER,
          **{f"LEADER_ELECTION_{name}": value for name, value in TERM.items()}}
SETTINGS = {"NAMESPACE": DRIVER, "IMAGE_NAME": "cdom:0.2.0"}
PERMISSIONS = REPO / "test/fixtures/nvidia/controller-permissions.yaml"
GUARDED = ("computedomains", "computedomaincliques", "resourceclaimtemplates", "daemonsets", "nodes")

# What cdom's chart grants its controller with mode=beside, besides manifests/base.
CDOMS_PERMISSIONS = (
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "beside-nvidia", "namespace": DRIVER},
     "rules": [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]},
               {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [LEASE], "verbs": ["get", "update"]}]},
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "beside-nvidia", "namespace": DRIVER},
     "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "beside-nvidia"},
     "subjects": [{"kind": "ServiceAccount", "name": "cdom-controller", "namespace": DRIVER}]})


class Nvidia:
    """NVIDIA's controller in the driver namespace of that cluster."""

    def __init__(self, cluster):
        self._cluster = cluster
        folder = subprocess.run([REPO / "test/cluster/stubs/nvidia_controller/build.sh"], check=True, stdout=subprocess.PIPE, text=True)
        self._program = f"{folder.stdout.strip()}/compute-domain-controller"
        made = yaml.safe_load_all((REPO / "test/cluster/realnodes/nvidia_chart.yaml").read_text())
        (self._deployment,) = [one for one in made if one["kind"] == "Deployment"]
        self._deployment["metadata"]["namespace"] = DRIVER
        self._deployment["spec"]["template"]["spec"]["serviceAccountName"] = "chart-service-account-controller"
        self.name = self._deployment["metadata"]["name"]
        self._config = cluster.folder / "nvidia.kubeconfig"

    def permit(self):
        """Gives both accounts their permissions."""
        self._cluster.kubectl("apply", "-f", PERMISSIONS)
        self._cluster.apply(*CDOMS_PERMISSIONS)
        self._config.write_text(yaml.safe_dump(self._cluster.config_of("chart-service-account-controller")))

    def remove(self):
        """Its Deployment and pods, and the Leases of cases."""
        self._cluster.kubectl("delete", "deployment", self.name, "-n", DRIVER, "--ignore-not-found", "--cascade=foreground")
        self._cluster.kubectl("delete", "leases", LEASE, "another", "-n", DRIVER, "--ignore-not-found")

    def forbid(self):
        self._cluster.kubectl("delete", "role,rolebinding", "beside-nvidia", "-n", DRIVER)
        self._cluster.kubectl("delete", "-f", PERMISSIONS)

    def deploy(self, replicas=1, **env):
        """Its Deployment has so many pods, with these variables in the place of those of the chart."""
        spec = self._deployment["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        kept = [one for one in container["env"] if not one["name"].startswith("LEADER_ELECTION_")]
        changed = {**container, "env": kept + [{"name": name, "value": value} for name, value in env.items()]}
        pod = {**spec["template"]["spec"], "containers": [changed]}
        self._cluster.apply({**self._deployment, "spec": {**spec, "replicas": replicas, "template": {**spec["template"], "spec": pod}}})
        self._cluster.kubectl("rollout", "status", f"deployment/{self.name}", "-n", DRIVER, "--timeout=60s")

    def start(self, **env):
        """Its program, with these variables. Who calls this ends it."""
        (self._cluster.folder / "nvidia.log").write_text("")
        return Process("nvidia", [self._program, "--kubeconfig", self._config], self._cluster.folder,
                       {**SETTINGS, "POD_NAME": self.name, **env})

    @contextlib.contextmanager
    def running(self, **env):
        process = self.start(**env)
        try:
            yield process
        finally:
            process.end()

    def holder(self):
        """Who holds the Lease: the beginning of a name, or "" if it is released."""
        found = self._cluster.get("lease", LEASE, DRIVER) or {"spec": {}}
        return self.named(found["spec"].get("holderIdentity", ""))

    def named(self, identity):
        """ "cdom", the name of NVIDIA's, or the identity as it is."""
        return next((who for who in ("cdom", self.name) if identity.startswith(f"{who}-")), identity)


def writes(entries, *accounts):
    """(account, begin, end, text) of each write of a domain or of what belongs to it, in order. One that failed counts, too."""
    return sorted(((one["user"]["username"], time_of(one["requestReceivedTimestamp"]), time_of(one["stageTimestamp"]),
                    f"{one['verb']} {one['objectRef']['resource']} {one['objectRef'].get('name', '')}")
                   for one in entries if one["user"]["username"] in accounts and one["verb"] not in READS
                   and one["objectRef"]["resource"] in GUARDED), key=lambda one: one[1])


def terms(written):
    """[account, writes, begin, end] of each series of writes between which the other account has none."""
    found = []
    for account, begin, end, _ in written:
        if not found or found[-1][0] != account:
            found.append([account, 0, begin, end])
        found[-1][1] += 1
        found[-1][3] = max(found[-1][3], end)
    return found
