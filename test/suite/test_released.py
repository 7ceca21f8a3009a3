"""What is released is the same on each page that says it."""

import pathlib
import re

REPO = pathlib.Path(__file__).resolve().parents[2]
PROJECT = re.search(r"^project\(cdom VERSION ([0-9.]+)", (REPO / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
HEADINGS = re.findall(r"^## ([0-9.]+) \((not released|\d{4}-\d\d-\d\d)(?:, commit ([0-9a-f]{8}))?\)$", (REPO / "CHANGELOG.md").read_text(), re.MULTILINE)
RELEASES = [(version, commit) for version, date, commit in HEADINGS if date != "not released"]
LATEST = RELEASES[0][0]


def read(path):
    return " ".join((REPO / path).read_text().split())


def test_the_sources_have_the_version_of_the_changelogs_first_heading():
    assert HEADINGS[0][0] == PROJECT
    assert [version for version, date, _ in HEADINGS[1:] if date == "not released"] == []


def test_the_readme_makes_and_installs_the_latest_release():
    text = read("README.md")
    assert f"{LATEST} is [released](CHANGELOG.md)" in text and f"--grep '^release: {LATEST}$'" in text
    install = text[text.index("## Install"):text.index("## Run a workload")]
    assert f"{LATEST} is [released](../CHANGELOG.md)" in read("docs/index.md")
    assert set(re.findall(r"\b\d+\.\d+\.\d+\b", install)) == {LATEST}


def test_security_says_of_each_release_whether_it_is_fixed():
    assert re.findall(r"^\| ([0-9.]+) \|", (REPO / "SECURITY.md").read_text(), re.MULTILINE) == [version for version, _ in RELEASES]


def test_upgrades_start_from_the_latest_release_whose_commit_is_known():
    """The commit that makes a release cannot have its own name."""
    known = next(commit for _, commit in RELEASES if commit)
    assert (REPO / "test/e2e/upgrade_from").read_text().splitlines()[-1] == known
    assert [version for version, commit in RELEASES if not commit] == ([PROJECT] if PROJECT == LATEST else [])
