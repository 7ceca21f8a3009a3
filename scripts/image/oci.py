"""An OCI image layout, of files that are given. What is given twice is written twice, byte for byte."""

import gzip
import hashlib
import io
import json
import posixpath
import shutil
import tarfile
import time
from pathlib import Path

from rootfs import Files

_TYPE = "application/vnd.oci.image"


class Layout:
    """A layout in a folder: blobs under the hash of what is in them."""

    def __init__(self, directory: Path):
        self._directory = directory
        if directory.exists():
            shutil.rmtree(directory)
        (directory / "blobs/sha256").mkdir(parents=True)
        (directory / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')

    def add(self, kind: str, data: bytes) -> dict:
        digest = hashlib.sha256(data).hexdigest()
        (self._directory / "blobs/sha256" / digest).write_bytes(data)
        return {"mediaType": f"{_TYPE}.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, kind: str, value: dict) -> dict:
        return self.add(kind, _json(value))

    def finish(self, entry: dict, tag: str) -> None:
        entry = {**entry, "annotations": {"org.opencontainers.image.ref.name": tag}}
        index = {"schemaVersion": 2, "mediaType": f"{_TYPE}.index.v1+json", "manifests": [entry]}
        (self._directory / "index.json").write_bytes(_json(index))


def add_image(layout: Layout, layers: list[tuple[Files, int]], platform: dict, epoch: int, settings: dict,
              labels: dict) -> dict:
    """Adds an image of one platform and returns its descriptor. A layer is files and the time that they bear."""
    tars = [tar_of(files, when) for files, when in layers]
    descriptors = [layout.add("layer.v1.tar+gzip", gzip.compress(tar, 9, mtime=0)) for tar in tars]
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    config = layout.add_json("config.v1+json", {
        **platform,
        "created": created,
        "config": {**settings, "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in tars]},
        "history": [{"created": created, "created_by": "scripts/image.sh"} for _ in tars],
    })
    manifest = layout.add_json("manifest.v1+json", {
        "schemaVersion": 2, "mediaType": f"{_TYPE}.manifest.v1+json", "config": config, "layers": descriptors,
        "annotations": labels,
    })
    return {**manifest, "platform": platform}


def add_index(layout: Layout, manifests: list[dict], labels: dict) -> dict:
    return layout.add_json("index.v1+json", {
        "schemaVersion": 2, "mediaType": f"{_TYPE}.index.v1+json", "manifests": manifests, "annotations": labels,
    })


def _json(value: dict) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def tar_of(files: Files, when: int) -> bytes:
    """The same bytes for the same files, which bear that time."""
    paths = {*files.files, *files.links}
    folders = files.folders | {parent for path in paths | files.folders for parent in _parents(path)}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(paths | folders):
            # Of root, and nobody else may write; no name of a user, no bit but these.
            info = tarfile.TarInfo(path)
            info.mtime = when
            info.mode = 0o755
            data = b""
            if path in folders:
                info.type = tarfile.DIRTYPE
            elif path in files.links:
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, files.links[path], 0o777
            else:
                data, runs = files.files[path]
                info.size, info.mode = len(data), 0o755 if runs else 0o644
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _parents(path: str):
    while path := posixpath.dirname(path):
        yield path
