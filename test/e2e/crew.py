"""A domain with workers that several cases share, because it takes seconds to make."""

from cluster import Setup
from namespaces import Namespace
from objects import CLIQUE, domain, workers
from snapshot import shapes, snapshot

CLUSTER = Setup(nodes=16, placement=True)


class Crew(Namespace):
    """The domain `crew`, and a Deployment of that name whose workers are in one clique, in a namespace of their own."""

    def __init__(self, cluster, writer):
        super().__init__(cluster, f"crew-{writer}")
        self.create()
        self.before = shapes(snapshot(cluster))

    def settle(self, count=4):
        """That many workers, each on a ready member; made if they do not exist. Returns status."""
        if not self.exists("computedomain", "crew"):
            self.apply(domain("crew"), workers("crew", count, one_clique=True))
        return self.scale(count, within=90)

    def scale(self, count, within=60):
        """Returns status once so many workers are each on a ready member."""
        self.kubectl("scale", "deployment", "crew", "--replicas", str(count))
        return self.is_in_step("crew", count, within)

    def node(self):
        """One of the members."""
        return self.members("crew")[0]

    def clique_beside(self, node):
        """The clique of the node, and the other one."""
        own = self.field("crew", node, "cliqueID")
        others = {one["metadata"]["labels"].get(CLIQUE, own) for one in self.cluster.kubectl_json("get", "nodes")["items"]} - {own}
        return own, min(others)


def indices(status):
    """Each member's index, by the node's name."""
    return {one["name"]: one["index"] for one in status["nodes"]}
