"""Debian's packages for one architecture, as apt finds, fetches and checks them, unpacked side by side.

Nothing of the machine's own packages is used, so that an image does not depend on where it is made. The result is kept
outside of the tree, under a hash of what was found. Package lists are at most an hour old: if Debian cannot be asked,
nothing is made: an attacker on the network could hold back security updates. To repeat a build, give the
record of one: the same packages, whatever Debian has by now.
"""

import argparse
import contextlib
import datetime
import email.utils
import fcntl
import hashlib
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from images import ASSUMED, FETCHED

_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_SOURCES = f"""\
deb [signed-by={_KEYRING}] http://deb.debian.org/debian bookworm main
deb [signed-by={_KEYRING}] http://deb.debian.org/debian bookworm-updates main
deb [signed-by={_KEYRING}] http://deb.debian.org/debian-security bookworm-security main
"""
_LAYOUT = "3"  # Of what is kept; a change of unpack() needs another one.
_UNUSED_DAYS = 30
_LISTS_LAST = 3600  # Seconds: what Debian has is asked for once an hour.
# Folders that are links into /usr.
_MERGED = re.compile(r"^(bin|sbin|lib|lib64)(/|$)")
_LEFT_OUT = re.compile(r"^usr/share/(man|locale|lintian|bug)/|^usr/share/doc/[^/]+/(?!copyright$).")


def canonical(path: str, within: str = "") -> str:
    """The one name of a path in a merged /usr: `lib/x`, `/lib/x` and `usr/share/../lib/x` are `usr/lib/x`."""
    path = posixpath.normpath(posixpath.join("/", within, path)).lstrip("/")
    return _MERGED.sub(r"usr/\1\2", path)


class Packages:
    """Packages that were unpacked: `root` has their files, in a merged /usr and with relative links."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.root = directory / "root"
        self.described = json.loads((directory / "packages.json").read_text())
        self.owner = {path: name for name, one in self.described.items() for path in one["files"]}

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def target(self, path: str) -> str | None:
        """What a link points to, by its canonical name; None for anything else."""
        full = self.root / path
        return canonical(os.readlink(full), posixpath.dirname(path)) if full.is_symlink() else None


@dataclass(frozen=True)
class Record:
    """Which packages an image was made of: enough to make it again."""

    lists: str  # When Debian signed the newest of the package lists, in UTC; empty if they do not say.
    archives: dict[str, str]  # File names and their SHA-256.

    def text(self) -> str:
        lines = [f"# Packages of Debian. Lists of {self.lists or 'an unknown date'}."]
        lines += [f"{digest}  {name}" for name, digest in sorted(self.archives.items())]
        return "\n".join(lines) + "\n"

    @staticmethod
    def read(path: Path) -> "Record":
        first, *rest = path.read_text().splitlines() or [""]
        said = re.fullmatch(r"# Packages of Debian\. Lists of (?:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)|an unknown date)\.", first)
        rows = [re.fullmatch(r"([0-9a-f]{64})  (([a-z0-9][a-z0-9+.-]+)_[A-Za-z0-9.+~%-]+_[a-z0-9]+\.deb)", line) for line in rest]
        if not said or not rows or not all(rows):
            raise SystemExit(f"image: {path} is no record of packages: use one that scripts/image.sh wrote")
        return Record(said[1] or "", {row[2]: row[1] for row in rows})


def fetch(architecture: str, cache: Path, wanted: Record | None = None) -> tuple[Packages, Record]:
    """The packages of `wanted`, or the newest ones. Nothing else than these is in them."""
    state = cache / "apt" / architecture
    kept = cache / "packages"
    for folder in (state / "lists/partial", state / "archives/partial", kept):
        folder.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{architecture}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        archives = sorted(wanted.archives) if wanted else _find(architecture, state)
        key = hashlib.sha256("\n".join([_LAYOUT, *archives]).encode()).hexdigest()[:16]
        directory = kept / f"{architecture}-{key}"
        if not directory.is_dir():
            print(f"image: fetching {len(archives)} packages of Debian for {architecture}", file=sys.stderr)
            _download(architecture, state, archives, wanted)
            # It appears in one rename, when it is complete.
            with tempfile.TemporaryDirectory(dir=kept, prefix="partial.") as partial:
                unpack([state / "archives" / archive for archive in archives], Path(partial) / "whole")
                os.rename(Path(partial) / "whole", directory)
        os.utime(directory)
        _forget_unused(kept)
        packages = Packages(directory)
        archives = {one["archive"]: one["sha256"] for one in packages.described.values()}
        if wanted and archives != wanted.archives:
            raise SystemExit("image: the packages that are kept are not those of the record: delete " + str(directory))
        return packages, wanted or Record(_date_of(state), archives)


def _download(architecture: str, state: Path, archives: list[str], wanted: Record | None) -> None:
    if not wanted:
        _apt(architecture, state, "install", "--download-only", *FETCHED)
        return
    folder = state / "archives"
    missing = [archive for archive in archives if not (folder / archive).exists()]
    if missing:
        _update(architecture, state)
        names = [archive.replace("%3a", ":").split("_") for archive in missing]
        # apt checks what it downloads by the lists, which Debian has signed.
        _apt(architecture, state, "download", *(f"{name}:{end.removesuffix('.deb')}={version}" if end != "all.deb" else f"{name}={version}"
                                                for name, version, end in names), folder=folder)
    for archive in archives:
        if hashlib.sha256((folder / archive).read_bytes()).hexdigest() != wanted.archives[archive]:
            raise SystemExit(f"image: {archive} is not the one of the record: its SHA-256 is another")


def _date_of(state: Path) -> str:
    """When the newest of the lists was made, by the files that Debian signs."""
    dates = []
    for release in (state / "lists").glob("*Release"):
        if said := re.search(r"^Date: (.+)$", release.read_text(), re.MULTILINE):
            dates.append(email.utils.parsedate_to_datetime(said[1]).astimezone(datetime.UTC))
    return max(dates).strftime("%Y-%m-%dT%H:%M:%SZ") if dates else ""


def _forget_unused(kept: Path) -> None:
    for directory in kept.iterdir():
        if directory.stat().st_mtime < time.time() - _UNUSED_DAYS * 86400:
            shutil.rmtree(directory)


def _find(architecture: str, state: Path) -> list[str]:
    """The archives that are to be fetched, newest versions, by their file names."""
    _update(architecture, state)
    with tempfile.TemporaryDirectory() as empty:  # What is in the cache is not told.
        os.mkdir(f"{empty}/partial")
        told = _apt(architecture, state, "install", "--print-uris", *FETCHED, archives=empty)
    archives = re.findall(r"^'[^']+' (\S+\.deb) \d+", told, re.MULTILINE)
    if not archives:
        raise SystemExit(f"image: apt names no packages; it said: {told or 'nothing'}")
    return sorted(archives)


def _update(architecture: str, state: Path) -> None:
    """Gets the package lists, unless they were got within the hour from the same sources."""
    sources = _sources()
    (state / "sources.list").write_text(sources)
    (state / "status").write_text("".join(
        f"Package: {name}\nStatus: install ok installed\nPriority: optional\nSection: misc\nInstalled-Size: 1\n"
        f"Maintainer: none\nArchitecture: {architecture}\nVersion: 9999\nDescription: assumed\n"
        + (f"Provides: {provided}\n" if provided else "") + "\n" for name, provided in ASSUMED.items()))
    updated = state / "updated"
    age = time.time() - updated.stat().st_mtime if updated.exists() else _LISTS_LAST
    if 0 <= age < _LISTS_LAST and updated.read_text() == sources:
        return
    updated.unlink(missing_ok=True)
    # By default apt goes on with the lists of last time if a server does not answer.
    _apt(architecture, state, "update", "-oAPT::Update::Error-Mode=any")
    updated.write_text(sources)


def _sources() -> str:
    with contextlib.suppress(KeyError):
        return Path(os.environ["CDOM_APT_SOURCES"]).read_text()
    return _SOURCES


def _apt(architecture: str, state: Path, *words: str, archives: str | Path | None = None, folder: Path | None = None) -> str:
    options = {
        "APT::Architecture": architecture,
        "APT::Architectures::": architecture,
        "APT::Get::Assume-Yes": "true",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",  # Who runs this reads and writes the cache, nobody else.
        "Acquire::Languages": "none",
        "Dir::Cache": f"{state}/cache",
        "Dir::Cache::archives": archives or state / "archives",
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::State::extended_states": state / "extended_states",
    }
    command = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items()), *words]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"image: apt-get {' '.join(words)} failed for {architecture}: see above. Without a network, or to "
                         "repeat a build, give the record of one: scripts/image.sh --packages")
    return done.stdout


def unpack(archives: list[Path], to: Path) -> None:
    (to / "root").mkdir(parents=True)
    described = {}
    for archive in archives:
        control = subprocess.run(["dpkg-deb", "--field", archive], stdout=subprocess.PIPE, text=True, check=True).stdout
        field = dict(re.findall(r"^(\S+): (.*)$", control, re.MULTILINE))
        described[field["Package"]] = {
            "version": field["Version"],
            "architecture": field["Architecture"],
            "archive": archive.name,
            "source": re.sub(r" \(.*", "", field.get("Source", field["Package"])),
            "control": control,
            "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
            "shlibs": _shlibs(archive),
            "files": _unpack_one(archive, to / "root"),
        }
    (to / "packages.json").write_text(json.dumps(described, sort_keys=True))


def _shlibs(archive: Path) -> list[str]:
    """Its lines `library version dependency`: what a program that is linked with the library depends on."""
    found = subprocess.run(["dpkg-deb", "--info", archive, "shlibs"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True, check=False)  # Fails for a package without libraries.
    return found.stdout.splitlines() if found.returncode == 0 else []


def _unpack_one(archive: Path, root: Path) -> list[str]:
    files = []
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as dpkg:
        with tarfile.open(fileobj=dpkg.stdout, mode="r|") as tar:
            for member in tar:
                path = canonical(member.name)
                if member.isdir() or _LEFT_OUT.search(path):
                    continue
                to = root / path
                to.parent.mkdir(parents=True, exist_ok=True)
                if member.issym():
                    target = canonical(member.linkname, posixpath.dirname(path))
                    to.symlink_to(posixpath.relpath(target, posixpath.dirname(path)))
                elif member.islnk():
                    os.link(root / canonical(member.linkname), to)
                elif member.isfile():
                    to.write_bytes(tar.extractfile(member).read())
                    to.chmod(0o755 if member.mode & 0o111 else 0o644)
                files.append(path)
    if dpkg.returncode != 0:
        raise SystemExit(f"image: dpkg-deb cannot read {archive}")
    return files


def _main() -> None:
    parser = argparse.ArgumentParser(description="Prints the folder of the packages.")
    parser.add_argument("architecture")
    parser.add_argument("cache", type=Path)
    parser.add_argument("--packages", type=Path, help="the record of a build that is repeated")
    parser.add_argument("--record", type=Path, help="where to write which packages these are")
    options = parser.parse_args()
    wanted = Record.read(options.packages) if options.packages else None
    packages, record = fetch(options.architecture, options.cache, wanted)
    if options.record:
        options.record.write_text(record.text())
    print(packages.directory)


if __name__ == "__main__":
    _main()
