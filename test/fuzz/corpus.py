#!/usr/bin/env python3
"""Inputs that the fuzzer chose for coverage: found/TARGET has one a line, in base64.

    corpus.py unpack TARGET FOLDER   writes them as files into the folder, which must exist
    corpus.py pack TARGET FOLDER     adds the folder's files to them, and sorts them
"""

import base64
import hashlib
import pathlib
import sys

FOUND = pathlib.Path(__file__).resolve().parent / "found"


def inputs(target):
    file = FOUND / target
    return [base64.b64decode(line, validate=True) for line in file.read_text().splitlines()] if file.exists() else []


def unpack(target, folder):
    for one in inputs(target):
        (folder / hashlib.sha256(one).hexdigest()).write_bytes(one)


def pack(target, folder):
    more = [path.read_bytes() for path in folder.iterdir() if path.is_file()]
    lines = sorted({base64.b64encode(one).decode() for one in inputs(target) + more})
    FOUND.mkdir(exist_ok=True)
    (FOUND / target).write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    {"pack": pack, "unpack": unpack}[sys.argv[1]](sys.argv[2], pathlib.Path(sys.argv[3]))
