"""A real Prometheus, which scrapes replicas of the controller and what stands in for DCGM exporters."""

import json
import socket
import subprocess
import urllib.parse
import urllib.request

from cluster import REPO
from process import Process
from waiting import eventually

MONITORING = REPO / "test/packaging/monitoring"
RULES = REPO / "manifests/monitoring/rules.yaml"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Prometheus:
    """`ports` are those where replicas serve metrics over TLS; `rules` is the text of the rules."""

    def __init__(self, cluster, ports, rules):
        self._folder = cluster.folder
        programs = subprocess.run([MONITORING / "prometheus.sh"], check=True, capture_output=True, text=True).stdout.strip()
        self._gpus = self._folder / "gpus.txt"
        self._gpus.write_text("")
        self._dcgm = Process("dcgm", [MONITORING / "dcgm.py", self._gpus], self._folder)
        dcgm = eventually("the exporter says its port", lambda: self._dcgm.out.read_text().strip())
        (self._folder / "rules.yaml").write_text(rules)
        token = self._folder / "prometheus.token"
        token.write_text(self._token(cluster))
        (self._folder / "prometheus.yaml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": ["rules.yaml"],
            "scrape_configs": [
                {"job_name": "cdom-system/cdom-controller", "honor_labels": True, "scheme": "https",
                 "tls_config": {"insecure_skip_verify": True}, "bearer_token_file": str(token),
                 "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports], "labels": {"namespace": "cdom-system"}}]},
                {"job_name": "dcgm", "static_configs": [{"targets": [f"127.0.0.1:{dcgm}"], "labels": {"namespace": "gpu-operator"}}]}]}))
        port = free_port()
        self._process = Process("prometheus", [f"{programs}/prometheus", "--config.file", self._folder / "prometheus.yaml",
                                               "--storage.tsdb.path", self._folder / "series",
                                               "--web.listen-address", f"127.0.0.1:{port}"], self._folder)
        self.url = f"http://127.0.0.1:{port}"
        eventually("Prometheus is ready", lambda: self._get("/-/ready"))

    @staticmethod
    def _token(cluster):
        """Of an account that may read metrics, as docs/metrics.md says."""
        cluster.kubectl("create", "serviceaccount", "prometheus", "-n", "cdom-system")
        cluster.kubectl("create", "clusterrolebinding", "prometheus-reads-cdom", "--clusterrole=cdom-metrics-reader",
                        "--serviceaccount=cdom-system:prometheus")
        return cluster.kubectl("create", "token", "prometheus", "-n", "cdom-system", "--duration", "2h").strip()

    def end(self, cluster):
        for process in (self._process, self._dcgm):
            process.end()
        cluster.kubectl("delete", "clusterrolebinding", "prometheus-reads-cdom")
        cluster.kubectl("delete", "serviceaccount", "prometheus", "-n", "cdom-system")

    def set_gpus(self, percents):
        """How many percent of their time the GPUs of each node work."""
        new = self._folder / "gpus.new"
        new.write_text("".join(f"{node} {percent}\n" for node, percent in percents.items()))
        new.rename(self._gpus)

    # --- Questions

    def ask(self, query):
        """(labels, value) of each series now. Values are rounded to three digits."""
        found = json.loads(self._get("/api/v1/query", query=query))["data"]["result"]
        return [(one["metric"], round(float(one["value"][1]), 3)) for one in found]

    def points(self, query, start, end):
        """The values, as texts, of all series between these times."""
        found = json.loads(self._get("/api/v1/query_range", query=query, start=start, end=end, step=2))["data"]["result"]
        return [value for one in found for _, value in one["values"]]

    def metrics(self):
        """What it tells of itself: the sum of each metric over its labels."""
        sums = {}
        for line in self._get("/metrics").splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                name = name.partition("{")[0]
                sums[name] = sums.get(name, 0) + float(value)
        return sums

    def shows(self, query, value):
        """Waits until the answer is one series of that value."""
        eventually(query, lambda: [number for _, number in self.ask(query)], [value], within=120)

    def firing(self, alert, labels=""):
        """How many such alerts fire."""
        return len(self.ask(f'ALERTS{{alertname="{alert}",alertstate="firing"{labels and ","}{labels}}}'))

    def fires(self, alert, labels="", within=120):
        eventually(f"{alert} {labels} fires", lambda: self.firing(alert, labels), within=within)

    def alerts(self, alert, labels=""):
        """Those that fire or are pending."""
        return self.ask(f'ALERTS{{alertname="{alert}"{labels and ","}{labels}}}')

    def _get(self, path, **query):
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(query)}", timeout=20) as answer:
            return answer.read().decode()
