"""Which packages an image is made of: Debian must answer, or the record of an earlier build says it.

    python3 -m pytest -p no:cacheprovider test/packaging/image/test_packages.py

The archive is one of this test, served on loopback, with one package `tool` that apt finds as it does Debian's.
"""

import datetime
import functools
import hashlib
import http.server
import os
import pathlib
import subprocess
import sys
import threading

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts/image"))
import debian  # noqa: E402

ARCHITECTURE = "amd64"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Archive:
    """An archive of packages. It stays at one address, whether it answers or not."""

    def __init__(self, folder):
        self.folder = folder
        self._server = None
        self._port = 0
        self._changes = 0
        folder.mkdir()

    def publish(self, version, date="Wed, 25 Nov 2026 10:00:00 UTC"):
        """Has the package in that version, and no other."""
        tree = self.folder.parent / f"tree-{version}"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "usr/bin").mkdir(parents=True)
        (tree / "usr/bin/tool").write_text(version)
        (tree / "DEBIAN/control").write_text(
            f"Package: tool\nVersion: {version}\nArchitecture: {ARCHITECTURE}\nMaintainer: none\nDescription: a tool\n")
        for old in self.folder.glob("*.deb"):
            old.unlink()
        deb = self.folder / f"tool_{version}_{ARCHITECTURE}.deb"
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", tree, deb], check=True, capture_output=True)
        data = deb.read_bytes()
        index = ((tree / "DEBIAN/control").read_text() +
                 f"Filename: ./{deb.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n\n")
        (self.folder / "Packages").write_text(index)
        (self.folder / "Release").write_text(
            f"Date: {date}\nSHA256:\n {hashlib.sha256(index.encode()).hexdigest()} {len(index)} Packages\n")
        self._changes += 1
        for file in ("Packages", "Release"):  # A server tells a client that has it only by the second of the change.
            os.utime(self.folder / file, (60 * self._changes, 60 * self._changes))

    def answer(self):
        handler = functools.partial(QuietHandler, directory=str(self.folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self._port), handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def fall_silent(self):
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def sources(self):
        return f"deb [trusted=yes] http://127.0.0.1:{self._port}/ ./\n"


@pytest.fixture
def archive(tmp_path, monkeypatch):
    made = Archive(tmp_path / "archive")
    made.publish("1.0")
    made.answer()
    sources = tmp_path / "sources.list"
    sources.write_text(made.sources())
    monkeypatch.setenv("CDOM_APT_SOURCES", str(sources))
    monkeypatch.setattr(debian, "FETCHED", ("tool",))
    yield made
    made.fall_silent()


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def versions(packages):
    return {name: one["version"] for name, one in packages.described.items()}


def age_lists(cache, seconds):
    updated = cache / "apt" / ARCHITECTURE / "updated"
    then = updated.stat().st_mtime - seconds
    os.utime(updated, (then, then))


def test_REV3_X12_nothing_is_made_of_old_lists_when_the_archive_does_not_answer(archive, cache, capfd):
    debian.fetch(ARCHITECTURE, cache)
    archive.fall_silent()
    debian.fetch(ARCHITECTURE, cache)  # Within the hour it is not asked.
    age_lists(cache, 3601)
    with pytest.raises(SystemExit, match="apt-get update .*failed.*--packages"):
        debian.fetch(ARCHITECTURE, cache)
    with pytest.raises(SystemExit, match="apt-get update .*failed"):  # The failure made no list young.
        debian.fetch(ARCHITECTURE, cache)
    assert "Failed to fetch" in capfd.readouterr().err


def test_REV3_X12_lists_of_the_future_are_asked_for_again(archive, cache):
    debian.fetch(ARCHITECTURE, cache)
    archive.publish("2.0")
    age_lists(cache, -86400)
    packages, _ = debian.fetch(ARCHITECTURE, cache)
    assert versions(packages) == {"tool": "2.0"}


def test_REV3_X12_lists_of_other_sources_are_asked_for_again(archive, cache, tmp_path):
    debian.fetch(ARCHITECTURE, cache)
    archive.publish("2.0")
    sources = tmp_path / "sources.list"
    sources.write_text("# Another mirror.\n" + sources.read_text())
    packages, _ = debian.fetch(ARCHITECTURE, cache)
    assert versions(packages) == {"tool": "2.0"}


def test_REV3_X12_record_says_the_date_of_the_lists_and_what_was_taken(archive, cache):
    _, record = debian.fetch(ARCHITECTURE, cache)
    deb = next(archive.folder.glob("*.deb"))
    assert record.lists == "2026-11-25T10:00:00Z"
    assert record.text() == ("# Packages of Debian. Lists of 2026-11-25T10:00:00Z.\n"
                             f"{hashlib.sha256(deb.read_bytes()).hexdigest()}  tool_1.0_amd64.deb\n")


def test_REV3_X12_a_recorded_build_is_repeated_without_a_network(archive, cache, tmp_path):
    _, record = debian.fetch(ARCHITECTURE, cache)
    (tmp_path / "record.txt").write_text(record.text())
    archive.publish("2.0")
    age_lists(cache, 3601)
    packages, newest = debian.fetch(ARCHITECTURE, cache)
    assert versions(packages) == {"tool": "2.0"}
    archive.fall_silent()
    packages, again = debian.fetch(ARCHITECTURE, cache, debian.Record.read(tmp_path / "record.txt"))
    assert versions(packages) == {"tool": "1.0"}
    assert again == record != newest


def test_REV3_X12_a_recorded_build_is_repeated_on_another_machine(archive, cache, tmp_path):
    _, record = debian.fetch(ARCHITECTURE, cache)
    packages, again = debian.fetch(ARCHITECTURE, tmp_path / "elsewhere", record)
    assert (versions(packages), again) == ({"tool": "1.0"}, record)
    archive.publish("2.0")
    with pytest.raises(SystemExit, match="apt-get download tool:amd64=1.0 failed"):
        debian.fetch(ARCHITECTURE, tmp_path / "later", record)


def test_REV3_X12_a_package_that_is_not_the_recorded_one_is_refused(archive, cache, tmp_path):
    _, record = debian.fetch(ARCHITECTURE, cache)
    other = debian.Record(record.lists, {name: "0" * 64 for name in record.archives})
    with pytest.raises(SystemExit, match="not those of the record"):
        debian.fetch(ARCHITECTURE, cache, other)
    with pytest.raises(SystemExit, match="tool_1.0_amd64.deb is not the one of the record"):
        debian.fetch(ARCHITECTURE, tmp_path / "elsewhere", other)


@pytest.mark.parametrize("text", [
    "", "nonsense\n", "# Packages of Debian. Lists of yesterday.\n", "# Packages of Debian. Lists of an unknown date.\n",
    "# Packages of Debian. Lists of an unknown date.\n" + "0" * 64 + "  ../../etc/passwd\n",
    "# Packages of Debian. Lists of an unknown date.\n" + "0" * 64 + "  -o_1_amd64.deb\n",
    "# Packages of Debian. Lists of an unknown date.\n" + "0" * 63 + "  tool_1_amd64.deb\n",
])
def test_REV3_X12_what_is_no_record_is_refused(tmp_path, text):
    (tmp_path / "record.txt").write_text(text)
    with pytest.raises(SystemExit, match="is no record of packages"):
        debian.Record.read(tmp_path / "record.txt")
