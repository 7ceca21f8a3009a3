"""Which files the slow checks look at."""

import subprocess

import changed

INCLUDES = {"a.cc": ["a.h"], "a.h": ["base.h"], "base.h": [], "base.cc": ["base.h", "other.h"], "other.h": [], "b.cc": []}
COMMIT = "8f14e45fceea167a5a36dedd4bea2543aaaaaaaa"


def selected(files, what, with_implementation=False):
    return changed.select(files, INCLUDES, what, COMMIT, with_implementation)[0]


def test_a_file_that_changed_and_those_that_include_it_are_looked_at():
    assert selected(["a.cc", "b.cc"], {"base.h"}) == ["a.cc"]
    assert selected(["a.cc", "b.cc"], {"a.cc"}) == ["a.cc"]
    assert selected(["a.cc", "b.cc"], {"README.md"}) == []


def test_a_test_is_run_when_what_it_calls_was_changed():
    assert selected(["a.cc", "b.cc"], {"other.h"}) == []
    assert selected(["a.cc", "b.cc"], {"other.h"}, with_implementation=True) == ["a.cc"]


def test_all_are_looked_at_when_it_is_unknown_what_changed_or_flags_did():
    assert selected(["a.cc", "b.cc"], None) == ["a.cc", "b.cc"]
    assert selected(["a.cc", "b.cc"], {"cmake/cdom.cmake"}) == ["a.cc", "b.cc"]


def test_another_version_of_cdom_is_no_change(tmp_path):
    def git(*arguments):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments], check=True)
    flags = tmp_path / "CMakeLists.txt"
    flags.write_text("project(cdom VERSION 8.0.0 LANGUAGES CXX)\ninclude(cdom)\n")
    (tmp_path / "a.cc").write_text("")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "a")
    flags.write_text("project(cdom VERSION 9.0.0 LANGUAGES CXX)\ninclude(cdom)\n")
    (tmp_path / "a.cc").write_text("int i;\n")
    assert changed.changed_since("HEAD", tmp_path) == {"a.cc"}
    flags.write_text("project(cdom VERSION 9.0.0 LANGUAGES CXX)\ninclude(other)\n")
    assert changed.changed_since("HEAD", tmp_path) == {"a.cc", "CMakeLists.txt"}
    assert changed.changed_since("0123456789", tmp_path) is None


def test_each_file_belongs_to_one_of_eight_parts():
    files = [f"file{i}.cc" for i in range(100)]
    commits = [f"{i:040x}" for i in range(8)]
    chosen = [one for commit in commits for one in changed.select(files, {}, set(), commit, False)[1]]
    assert sorted(chosen) == sorted(files)
