#!/usr/bin/python3
"""Says which files the slow checks look at on this commit, one a line; a summary goes to standard error.

    changed.py sources             sources of the product, for clang-tidy
    changed.py tests < SOURCES     of these sources of test programs, those to run under ThreadSanitizer

These are the files that reach something that changed since the commit in test/suite/whole_run, the last one of which all
was checked, and one eighth of the others, which the commit's hash chooses. All of them, if that commit is not known here,
if what decides how files are compiled or checked has changed, or with CDOM_CHECK_ALL=1.
"""

import hashlib
import os
import pathlib
import re
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# A change of these is a change of everything.
FOR_ALL = re.compile(r"^(\.clang-tidy|CMakePresets\.json|cmake/.*|CMakeLists\.txt|test/lint/clang_tidy\.sh)$")


def git(*arguments, repo=REPO):
    """What git prints, or None if it fails."""
    done = subprocess.run(["git", "-C", repo, *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def changed_since(commit, repo=REPO):
    """The files, or None if it is not known. That cdom has another version is no change: it is in no file that is checked."""
    lines = git("diff", "--numstat", "--no-renames", r"-I^project\(cdom VERSION ", commit, repo=repo)
    return None if lines is None else {line.split("\t", 2)[2] for line in lines.splitlines()}


def reaches(includes, file, sources):
    """The files that `file` includes, and what these include. A header also stands for the `sources` of its folder that
    include it."""
    found, todo = set(), [file]
    while todo:
        one = todo.pop()
        if one in found:
            continue
        found.add(one)
        todo.extend(includes.get(one, ()))
        if one.endswith(".h"):
            todo.extend(source for source in sources.get(folder_of(one), ()) if one in includes[source])
    return found


def sources_by_folder(includes):
    found = {}
    for one in includes:
        if one.endswith(".cc") and not one.endswith("_test.cc"):
            found.setdefault(folder_of(one), []).append(one)
    return found


def folder_of(file):
    return file.rpartition("/")[0]


def is_chosen(file, commit):
    """Whether it is of the eighth of this commit: each file is of one of eight, by the last digit of the commit's hash."""
    return (int(hashlib.sha256(file.encode()).hexdigest(), 16) + int(commit[-8:], 16)) % 8 == 0


def select(files, includes, changed, commit, with_implementation):
    """(those that changed, those of the eighth) of `files`. `changed` is None if it is not known."""
    if changed is None or any(FOR_ALL.match(one) for one in changed):
        return list(files), []
    sources = sources_by_folder(includes) if with_implementation else {}
    reached = [one for one in files if not changed.isdisjoint(reaches(includes, one, sources))]
    return reached, [one for one in files if one not in set(reached) and is_chosen(one, commit)]


def main(what):
    tracked = git("ls-files", "*.h", "*.cc").split()
    includes = {one: INCLUDE.findall((REPO / one).read_text()) for one in tracked}
    since = (REPO / "test/suite/whole_run").read_text().split()[0]
    changed = None if os.environ.get("CDOM_CHECK_ALL") else changed_since(since)
    if what == "sources":
        files = [one for one in tracked if re.match(r"(pkg|controller|node)/.*\.cc$", one)
                 and not re.search(r"_test\.cc$|/testing/", one)]
    else:
        files = sys.stdin.read().split()
    reached, chosen = select(files, includes, changed, git("rev-parse", "HEAD").strip(), what == "tests")
    for_all = sorted(filter(FOR_ALL.match, changed or ()))
    why = (f"all, since {since[:10]} is unknown" if changed is None else f"all, since {for_all[0]} changed" if for_all
           else f"{len(reached)} reach what changed since {since[:10]}")
    print(f"{len(reached) + len(chosen)} of {len(files)} files: {why}; {len(chosen)} by the commit's hash", file=sys.stderr)
    print("\n".join(sorted(reached + chosen)))


if __name__ == "__main__":
    main(*sys.argv[1:])
