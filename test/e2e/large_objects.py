"""An API server that lists a thousand objects, each with as much metadata as etcd takes.

It answers LIST with pages, keeps watches open, keeps one Lease, and refuses every other write: enough for a controller to
read everything there is. Objects are made while they are sent, so the server needs memory for one of them only.
"""

import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

UID = "0c6b2f0e-7b1d-4f39-8a55-%012d"
DRIVER = "cdom-system"
# By plural: group and version, kind, namespace, and what the object has beside metadata.
KINDS = {
    "computedomains": ("resource.nvidia.com/v1beta1", "ComputeDomain", "team", {
        "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "channel"}}}}),
    "computedomaincliques": ("resource.nvidia.com/v1beta1", "ComputeDomainClique", DRIVER, {"daemons": []}),
    "daemonsets": ("apps/v1", "DaemonSet", DRIVER, {"spec": {"template": {"metadata": {}}}}),
    "nodes": ("v1", "Node", "", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
    "pods": ("v1", "Pod", DRIVER, {"spec": {"nodeName": "node-1"}, "status": {"phase": "Running"}}),
    "resourceclaims": ("resource.k8s.io/v1", "ResourceClaim", "team", {"spec": {"devices": {"config": [{"opaque": {
        "driver": "compute-domain.nvidia.com", "parameters": {
            "apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainChannelConfig",
            "domainID": UID % 1}}}]}}}),
    "resourceclaimtemplates": ("resource.k8s.io/v1", "ResourceClaimTemplate", "team", {"spec": {"spec": {}}}),
    "resourceslices": ("resource.k8s.io/v1", "ResourceSlice", "", {"spec": {
        "driver": "compute-domain.nvidia.com", "nodeName": "node-1", "pool": {"name": "node-1"}, "devices": []}}),
}


def large_metadata():
    """About 1.3 MB: of finalizers, owners and annotations."""
    finalizers = [("a" * 60 + ".") * 3 + "example.com/%05d" % i + "x" * 57 for i in range(2300)]
    owners = [{"apiVersion": "example.com/v1", "kind": "K" * 60, "name": "o" * 60 + str(i), "uid": UID % i}
              for i in range(1500)]
    annotations = {"cdom.dev/gpus": "9" * 60000, "cdom.dev/daemon-roll": "y" * 60000,
                   "cdom.dev/deletion-grace": "1" * 60000, "example.com/z": "z" * 60000}
    return json.dumps({"finalizers": finalizers, "ownerReferences": owners, "annotations": annotations})[1:]


def large_object(plural, i, namespace):
    """As a user creates it: the API server takes no more than 1.5 MB."""
    version, kind, _, rest = KINDS[plural]
    metadata = json.loads("{" + large_metadata()) | {
        "name": f"large-{i:04d}", "namespace": namespace, "labels": {"resource.nvidia.com/computeDomain": UID % i}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


class LargeObjects(ThreadingHTTPServer):
    """`large` is the plural whose objects it has `count` of; of the other kinds there are none, but there is always a domain."""

    daemon_threads = True

    def __init__(self, large, count):
        super().__init__(("127.0.0.1", 0), Handler)
        self.large = large
        self.count = count
        self.metadata = large_metadata()
        self.leases = {}
        self.lock = threading.Lock()
        self.listed = 0  # Objects that were sent.
        self.ends = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Of a connection that ended under way: its client has read enough."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def item(self, i):
        version, kind, namespace, rest = KINDS[self.large]
        where = f'"namespace":"{namespace}",' if namespace else ""
        text = (f'{{"apiVersion":"{version}","kind":"{kind}","metadata":{{"name":"large-{i:04d}",{where}"uid":"{UID % i}",'
                f'"resourceVersion":"{100 + i}","creationTimestamp":"2026-01-01T00:00:00Z",'
                f'"labels":{{"resource.nvidia.com/computeDomain":"{UID % i}"}},')
        return (text + self.metadata + "," + json.dumps(rest)[1:]).encode()

    def domain(self):
        """What the controller plans for where the large objects are of another kind: it is the domain that the first is of."""
        version, kind, namespace, rest = KINDS["computedomains"]
        return json.dumps({"apiVersion": version, "kind": kind, "metadata": {
            "name": "small", "namespace": namespace, "uid": UID % 0, "resourceVersion": "99", "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z"}, **rest}).encode()

    def stop(self):
        self.ends.set()
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, query = self._target()
        if "watch" in query:
            return self._watch()
        if "/leases/" in path:
            name = path.rsplit("/", 1)[1]
            with self.server.lock:
                lease = self.server.leases.get(name)
            return self._answer(200, lease) if lease else self._refuse(404, "NotFound", {"kind": "leases", "name": name})
        plural = path.rsplit("/", 1)[1]
        if plural not in KINDS:
            return self._refuse(404, "NotFound")
        self._list(plural, query)

    def do_POST(self):
        path, _ = self._target()
        body = self._body()
        if path.endswith("/leases"):
            return self._keep(body, 201)
        self._refuse(403, "Forbidden")

    def do_PUT(self):
        path, _ = self._target()
        body = self._body()
        if "/leases/" in path:
            return self._keep(body, 200)
        self._refuse(403, "Forbidden")

    def do_PATCH(self):
        self._body()
        self._refuse(403, "Forbidden")

    do_DELETE = do_PATCH

    def _target(self):
        parts = urllib.parse.urlsplit(self.path)
        return parts.path, dict(urllib.parse.parse_qsl(parts.query))

    def _body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")

    def _keep(self, lease, status):
        name = lease["metadata"]["name"]
        with self.server.lock:
            known = self.server.leases.get(name, {"metadata": {"resourceVersion": "0"}})["metadata"]["resourceVersion"]
            is_next = lease["metadata"].get("resourceVersion", "0") == known
            if is_next:
                lease["metadata"]["resourceVersion"] = str(int(known) + 1)
                self.server.leases[name] = lease
        return self._answer(status, lease) if is_next else self._refuse(409, "Conflict")

    def _answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status, reason, details=None):
        self._answer(status, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
                              "message": "this server keeps nothing", "details": details or {}, "code": status})

    def _chunk(self, data):
        self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")

    def _begin(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _list(self, plural, query):
        server = self.server
        count = server.count if plural == server.large else 0
        begin = int(query.get("continue", 0))
        end = min(count, begin + int(query.get("limit", count) or count))
        more = f'"continue":"{end}",' if end < count else ""
        version, kind, _, _ = KINDS[plural]
        try:
            self._begin()
            self._chunk((f'{{"apiVersion":"{version}","kind":"{kind}List",'
                         f'"metadata":{{{more}"resourceVersion":"5000"}},"items":[').encode())
            if plural == "computedomains" and plural != server.large:
                self._chunk(server.domain())
            for i in range(begin, end):
                self._chunk((b"," if i > begin else b"") + server.item(i))
                with server.lock:
                    server.listed += 1
            self._chunk(b"]}")
            self._chunk(b"")
        except OSError:  # It was too much for who asked: it asks for less.
            self.close_connection = True

    def _watch(self):
        try:
            self._begin()
            self.wfile.flush()
            self.server.ends.wait(600)
        except OSError:
            pass
        self.close_connection = True
