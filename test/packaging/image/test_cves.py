"""What scripts/image/cves.py says of the packages of an image."""

import json
import pathlib
import subprocess
import sys

import pytest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts/image/cves.py"


def sbom(**versions):
    return {"packages": [{"name": "cdom", "sourceInfo": "built from revision 1", "versionInfo": "0.2.0"},
                         *({"name": f"lib{source}", "versionInfo": version,
                            "sourceInfo": f"built from Debian's source package {source}"}
                           for source, version in versions.items())]}


def cves(tmp_path, document, tracker=None):
    (tmp_path / "sbom.json").write_text(json.dumps(document) if not isinstance(document, str) else document)
    words = [tmp_path / "sbom.json"]
    if tracker is not None:
        (tmp_path / "tracker.json").write_text(json.dumps(tracker))
        words += ["--tracker", tmp_path / "tracker.json"]
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False, timeout=60)


def test_REV3_X12_recorded_vulnerabilities_are_listed_with_what_was_not_checked(tmp_path):
    done = cves(tmp_path, sbom(grpc="1.51.1-3+b1", curl="7.88.1-10+deb12u15"))
    assert done.returncode == 0, done.stderr
    assert "CVE-2023-33953  grpc 1.51.1-3+b1  affected: fixed in gRPC 1.53.2" in done.stdout
    assert "libmicrohttpd" not in done.stdout, "it is not in this image"
    assert "recorded by hand on 2" in done.stdout
    assert "1 source packages that the table does not name: curl" in done.stdout


def about(status, fixed=None, urgency="medium"):
    return {"releases": {"bookworm": {"status": status, "urgency": urgency, **({"fixed_version": fixed} if fixed else {})},
                         "trixie": {"status": "open", "urgency": "high"}}}


@pytest.mark.parametrize("version,entry,said", [
    ("1.0-1", about("open"), "not fixed in Debian 12; urgency medium"),
    ("1.0-1", about("resolved", "1.0-1+deb12u1"), "fixed in 1.0-1+deb12u1: make the image again"),
    ("1.0-1+deb12u1", about("resolved", "1.0-1+deb12u1"), None),
    ("1.0-1+b3", about("resolved", "1.0-1"), None),
    ("1.0-1+b3", about("resolved", "1.0-1+deb12u1"), "make the image again"),
    ("1:0.9-1", about("resolved", "1.0-1"), None),
    ("1.0-1", about("resolved", "0"), None),
    ("1.0-1", about("open", urgency="unimportant"), None),
    ("1.0-1", {"releases": {"trixie": {"status": "open"}}}, None),
])
def test_REV3_X12_debians_tracker_says_what_is_open(tmp_path, version, entry, said):
    done = cves(tmp_path, sbom(tool=version), {"tool": {"CVE-2026-1": entry}, "other": {"CVE-2026-2": about("open")}})
    assert done.returncode == 0, done.stderr
    assert "CVE-2026-2" not in done.stdout
    if said:
        assert f"CVE-2026-1  tool {version}  " in done.stdout and said in done.stdout
    else:
        assert "No vulnerability is listed." in done.stdout
    assert "known_cves.tsv" not in done.stdout


@pytest.mark.parametrize("document", ["nonsense", "[]", "{}", {"packages": []}])
def test_REV3_X12_what_is_no_list_of_packages_is_refused(tmp_path, document):
    done = cves(tmp_path, document)
    assert done.returncode != 0 and done.stderr.startswith("cves: "), done
