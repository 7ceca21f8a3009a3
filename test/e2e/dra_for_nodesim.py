#!/usr/bin/env python3
"""The API server as nodesim knows it, with resource.k8s.io/v1, in front of one that serves v1beta1 alone.

  dra_for_nodesim.py PLANE    listens on a port of 127.0.0.1, prints "serving on PORT", and ends with SIGTERM

Requests are passed on with the certificate of PLANE/nodesim.kubeconfig, or with the token that they bring. Only ResourceSlices
that nodesim writes have another form in v1beta1 than in v1: of claims it reads the status, and where they are allocated to.
"""

import base64
import http.client
import http.server
import json
import pathlib
import ssl
import sys
import urllib.parse

import yaml

V1, V1BETA1 = "/apis/resource.k8s.io/v1/", "/apis/resource.k8s.io/v1beta1/"
OF_CONNECTION = {"connection", "transfer-encoding", "content-length", "host"}
CHUNK = 1 << 16


class Plane:
    """The API server behind it."""

    def __init__(self, folder):
        config = yaml.safe_load((folder / "nodesim.kubeconfig").read_text())
        self._server = urllib.parse.urlsplit(config["clusters"][0]["cluster"]["server"]).netloc
        self._authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        self._certificate = folder / "pki/nodesim.crt", folder / "pki/nodesim.key"

    def connect(self, with_certificate):
        context = ssl.create_default_context(cadata=self._authority)
        if with_certificate:
            context.load_cert_chain(*self._certificate)
        return http.client.HTTPSConnection(self._server, context=context)


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection of nodesim, and the connections behind it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self._behind = {}

    def finish(self):
        for one in self._behind.values():
            one.close()
        super().finish()

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.command in ("POST", "PUT") and self.path.startswith(f"{V1}resourceslices"):
            body = slice_as_served(body)
        headers = {key: value for key, value in self.headers.items() if key.lower() not in OF_CONNECTION}
        with_certificate = "Authorization" not in self.headers
        if with_certificate not in self._behind:
            self._behind[with_certificate] = self.server.plane.connect(with_certificate)
        behind = self._behind[with_certificate]
        behind.request(self.command, self.path.replace(V1, V1BETA1, 1), body, headers)
        self._answer(behind.getresponse())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

    def _answer(self, answer):
        self.send_response_only(answer.status, answer.reason)
        for key, value in answer.getheaders():
            if key.lower() not in OF_CONNECTION:
                self.send_header(key, value)
        length = answer.getheader("Content-Length")
        if length is None:  # A watch has none.
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", length)
        self.end_headers()
        while data := answer.read1(CHUNK):
            self.wfile.write(data if length is not None else b"%x\r\n%b\r\n" % (len(data), data))
        if length is None:
            self.wfile.write(b"0\r\n\r\n")
        answer.close()  # It has ended; only now its connection takes another request.

    def log_message(self, *_):
        """Nothing: the audit log of the plane has all requests."""


def slice_as_served(body):
    made = json.loads(body)
    made["apiVersion"] = "resource.k8s.io/v1beta1"
    made["spec"]["devices"] = [{"name": one.pop("name"), "basic": one} for one in made["spec"]["devices"]]
    return json.dumps(made).encode()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.plane = Plane(folder)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(folder / "pki/server.crt", folder / "pki/server.key")

    def get_request(self):
        connection, address = super().get_request()
        # The handshake is of the thread that reads first.
        return self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request, client_address):
        """A client that leaves is no error."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(request, client_address)


def main():
    server = Server(pathlib.Path(sys.argv[1]))
    print(f"serving on {server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
