"""Requests without a trace, hundreds in a second: what the API server would answer to anyone."""

import base64
import http.client
import json
import ssl
import typing
import urllib.parse

import dra

METHODS = {"create": "POST", "patch": "PATCH", "delete": "DELETE", "get": "GET"}


class Answer(typing.NamedTuple):
    code: int
    object: dict  # A Status if it is refused; {"message": TEXT} if it is no JSON.
    warnings: list

    @property
    def message(self):
        return self.object.get("message", "")


class DryRuns:
    """One connection for the administrator, who also acts for other users, and one for each token."""

    def __init__(self, cluster):
        config = cluster.kubectl_json("config", "view", "--raw")
        self._server = urllib.parse.urlsplit(config["clusters"][0]["cluster"]["server"]).netloc
        self._authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        user = config["users"][0]["user"]
        pem = cluster.folder / "dry_runs.pem"
        pem.write_bytes(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        pem.chmod(0o600)
        self._admin = self._connect(pem)
        self._tokens = {}  # By the name under which rows know it: a connection and its token.

    def add_token(self, who, token):
        self._tokens[who] = self._connect(), token.strip()

    def ask(self, who, verb, path, body=None):
        """The answer to `who`: admin, a name given to add_token(), or a user. `body` is a text, and a patch is a merge."""
        connection, token = self._tokens.get(who, (self._admin, None))
        kind = "application/merge-patch+json" if verb == "patch" else "application/json"
        headers = {"Content-Type": kind}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        elif who != "admin":
            headers["Impersonate-User"] = who
        if not dra.IS_V1_SERVED:
            path, made = dra.request_as_served(path, json.loads(body) if body else None)
            body = body and json.dumps(made)
        if "/exec?" not in path and "/attach?" not in path:  # For these there is no dry run.
            path += "?dryRun=All"
        connection.request(METHODS[verb], path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        try:
            found = json.loads(text)
        except ValueError:
            found = {"message": text}
        return Answer(answer.status, found, answer.headers.get_all("Warning", []))

    def _connect(self, certificate=None):
        context = ssl.create_default_context(cadata=self._authority)
        if certificate:
            context.load_cert_chain(certificate)
        return http.client.HTTPSConnection(self._server, timeout=20, context=context)
