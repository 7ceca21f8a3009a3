"""A daemon image that does not exist, while daemons are replaced."""

import pytest
from cluster import ACCOUNT, Setup
from namespaces import DRIVER, conditions, is_ready
from objects import domain, workers
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True)
ROLL = "{apiVersion: cdom.dev/v1alpha1, kind: ControllerConfiguration, roll: {cliques: 1, settle: 1s, deadline: 10s}}"
SIZES = {"bold": 3, "brave": 2, "shy": 2}
MAY_BE_REPLACED = ("bold", "brave")  # Under a job.


class Rollout:
    """A controller that gives daemons an image, and the three domains."""

    def __init__(self, cluster, namespace, config):
        self._cluster = cluster
        self._namespace = namespace
        self._config = config

    def begin(self, image, verbosity):
        """The verbosity makes each template another."""
        self._cluster.controller_with("--membership-writer", "controller", "--config", str(self._config),
                                      "--log-verbosity-cd-daemon", str(verbosity), image=image)

    def pods(self, name):
        return self._cluster.list("pods", DRIVER, self._namespace.label(name))

    def images(self, name):
        return [one["spec"]["containers"][0]["image"] for one in self.pods(name)]

    def ready(self, name):
        """The UIDs of the daemons that are ready."""
        return {one["metadata"]["uid"] for one in self.pods(name) if is_ready(one)}

    def serves(self, *names, within=60):
        for name in names:
            def get(name=name):
                ready = conditions(self._namespace.status(name))["Ready"]["status"]
                return ready, self._namespace.members(name), self._namespace.workers_on(name)
            eventually(f"{name} serves", get, lambda got, name=name: (
                got[0] == "True" and len(got[1]) == SIZES[name] and got[1] == got[2]), within)

    def runs_only(self, name, image, within):
        eventually(f"{name} runs {image}, and is ready", lambda: (self.images(name), len(self.ready(name))),
                   ([image] * SIZES[name], SIZES[name]), within)

    def lives(self):
        return self._namespace.lives("app in (bold, brave, shy)")


@pytest.fixture
def rollout(cluster, namespace, tmp_path):
    (tmp_path / "roll.yaml").write_text(ROLL)
    yield Rollout(cluster, namespace, tmp_path / "roll.yaml")
    cluster.end_controller()


def deleted_daemons(cluster, since):
    return [one["objectRef"]["name"] for one in cluster.requests_of(ACCOUNT, since)
            if one["verb"] == "delete" and one["objectRef"]["resource"] == "pods" and one["responseStatus"]["code"] < 300]


def test_a_missing_daemon_image_costs_one_daemon_where_allowed_and_none_under_a_job(cluster, namespace, rollout):
    rollout.begin("cdom:1", verbosity=0)
    for name, count in SIZES.items():
        namespace.apply(domain(name), workers(name, count, one_clique=True))
    namespace.kubectl("annotate", "computedomain", *MAY_BE_REPLACED, "cdom.dev/daemon-roll=Always")
    rollout.serves(*SIZES, within=90)
    lives, before = rollout.lives(), {name: rollout.ready(name) for name in SIZES}

    since = cluster.audit_size()
    rollout.begin("registry.example.com/daemon:missing", verbosity=1)
    for name in SIZES:
        namespace.says(name, "RollStopped", r"None is replaced in any domain: (pods/cdom-system/[a-z0-9-]+ on node-[0-9]+ "
                       r"\(.*ImagePullBackOff|The daemon on node-[0-9]+, created from the new template)", kind="Provisioned", within=60)
        namespace.tells(name, "Warning RollStopped ")
    after = {name: rollout.ready(name) for name in SIZES}
    # One daemon of one domain is gone; those that serve all served before.
    assert sum(len(before[name] - after[name]) for name in MAY_BE_REPLACED) == 1
    assert [after[name] - before[name] for name in MAY_BE_REPLACED] == [set(), set()]
    assert after["shy"] == before["shy"]
    assert rollout.lives() == lives
    assert len(deleted_daemons(cluster, since)) == 1, deleted_daemons(cluster, since)

    # With an image that exists, the rollout goes on where it may.
    rollout.begin("cdom:2", verbosity=2)
    for name in MAY_BE_REPLACED:
        rollout.runs_only(name, "cdom:2", within=120)
        namespace.tells(name, "Normal DaemonReplaced A daemon pod was created from an older template")
    rollout.serves(*SIZES)
    assert rollout.images("shy") == ["cdom:1", "cdom:1"]
    # A daemon that took longer than the deadline has stopped the rollout until it serves; the controller hears of that as we do.
    namespace.says("shy", "Outdated", "once no pod uses their clique", kind="Provisioned")
    assert rollout.ready("shy") == before["shy"]
    assert rollout.lives() == lives
    # Under its next job it has it, too.
    namespace.delete("deployment", *SIZES)
    namespace.is_idle("shy", within=60)
    namespace.apply(workers("shy", 2, one_clique=True))
    rollout.runs_only("shy", "cdom:2", within=90)
    namespace.delete("deployment", "shy")
    namespace.delete("computedomain", *SIZES)
