#!/usr/bin/python3
"""Runs steps of the suite, says each minute how far they are, and at the end what came of them.

    run.py commit           what a commit runs: what every user meets, what changed, and one fifth of the rest
    run.py all              the same, with all modules
    run.py match PATTERN    the steps and modules whose name the pattern matches
    run.py nightly [PATTERN]  everything, with what takes hours; what passed on this commit is not run again
    run.py list             the steps and modules, and why each runs on this commit

Steps run twice: first those that may run beside each other, then the quiet lane, one after another.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import modules as suite
import progress
import record
import report

REPO = pathlib.Path(__file__).resolve().parents[2]
BUILD = REPO / "build/suite"
MINUTE = 60.0


def git(*arguments, repo=REPO):
    """What git prints, or None if it fails."""
    done = subprocess.run(["git", "-C", repo, *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def base(repo=REPO):
    """The commit that this one is compared with: where it left origin/main, else its parent; None if it has none."""
    head, left = git("rev-parse", "HEAD", repo=repo), git("merge-base", "HEAD", "origin/main", repo=repo)
    return left if left and left != head else git("rev-parse", "--verify", "-q", "HEAD^", repo=repo)


def changed_since(commit, repo=REPO):
    """The files that differ from the commit, with those that git does not track; None if there is no such commit."""
    if commit is None:
        return None
    tracked = git("diff", "--name-only", "--no-renames", commit, repo=repo)
    return None if tracked is None else {*tracked.splitlines(), *git("ls-files", "-o", "--exclude-standard", repo=repo).splitlines()}


def configure(choices):
    """CTest's project, with the modules that run."""
    chosen = [one.module for one in choices if one.runs]
    lines = ["# Written by run.py: the modules that run."]
    for label in sorted(set(suite.OF_MODULES.values())):
        mine = [one for one in chosen if one.label == label and one.file]
        lines += [f"set({label}_files {' '.join(one.file for one in mine)})",
                  f"set({label}_needs {' '.join(sorted({need for one in mine for need in one.needs}))})"]
    left = [one.module.name for one in choices if not one.runs and not one.module.file]
    lines.append("set(left " + " ".join(f'"{name}"' for name in left) + ")")
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / "chosen.cmake").write_text("\n".join(lines) + "\n")
    subprocess.run(["cmake", "-S", REPO / "test/suite", "-B", BUILD], check=True, stdout=subprocess.DEVNULL)


def steps():
    """The labels of each step that CTest knows, by its name."""
    shown = json.loads(subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout)
    return {one["name"]: {label for found in one["properties"] if found["name"] == "LABELS" for label in found["value"]}
            for one in shown["tests"]}


def wanted(labels_of, mode, pattern, choices):
    """The names of the steps to run."""
    unwanted = {"left"} if mode == "nightly" else {"left", "nightly"}
    names = [name for name, labels in labels_of.items() if not labels & unwanted]
    if not pattern:  # CTest adds the builds that these need.
        return [name for name in names if "build" not in labels_of[name]]
    chosen = {one.module.label for one in choices if one.runs and one.module.file} if mode == "match" else set()
    return [name for name in names if re.search(pattern, name) or suite.OF_MODULES.get(name) in chosen]


def run_lane(names, results, watch, *options):
    """Runs these steps with CTest. Prints its lines, and one each minute."""
    chosen = "^(" + "|".join(re.sub(r"([.+*?()\[\]^$\\])", r"\\\1", name) for name in names) + ")$"
    command = ["ctest", "--test-dir", BUILD, "-R", chosen, "--output-junit", results, "--test-output-size-passed", "100000000",
               "--test-output-size-failed", "100000000", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as ctest:
        over = threading.Event()
        minutes = threading.Thread(target=each_minute, args=(over, watch))
        minutes.start()
        try:
            for line in ctest.stdout:
                print(line, end="", flush=True)
                watch.saw(line)
        finally:
            over.set()
            minutes.join()


def each_minute(over, watch):
    while not over.wait(MINUTE):
        print(watch.line(), flush=True)


def print_list(labels_of, choices):
    for name, labels in sorted(labels_of.items()):
        print(f"{name}{' (nightly)' if 'nightly' in labels else ''}")
    print("\nmodules, and whether this commit runs them:")
    for one in choices:
        print(f"{'runs' if one.runs else 'left'}  {one.module.name}: {one.why}")


def print_left(choices, kept):
    """Which modules do not run, why, and when each passed last on this machine."""
    left = collections.defaultdict(list)
    for one in choices:
        if not one.runs:
            left[f"{one.why}; {kept.last_pass(one.module.name)}"].append(one.module.name)
    print(f"{sum(map(len, left.values()))} of {len(choices)} modules do not run; scripts/test.sh all runs them:")
    for why, names in left.items():
        print(f"  {', '.join(names)}: {why}")
    for one in choices:
        if one.by_path:
            print(f"  {one.module.name} runs: {one.why}")


def main(mode, pattern=None):
    since, commit = base(), git("rev-parse", "HEAD")
    changed, part = changed_since(since), suite.part_of(commit)
    if mode in ("all", "nightly"):
        changed = None
    texts = {str(file.relative_to(REPO)): file.read_text() for file in (REPO / "test/e2e").glob("*.py")}
    choices = suite.select(suite.MODULES, pattern) if mode == "match" else suite.choose(
        suite.MODULES, changed, part, suite.helpers(suite.MODULES, texts))
    configure(choices)
    labels_of = steps()
    if mode == "list":
        print_list(labels_of, choices)
        return 0
    names = wanted(labels_of, mode, pattern, choices)
    if not names:
        print(f"test: no step or module matches {pattern}; scripts/test.sh list prints them", file=sys.stderr)
        return 2
    kept = record.Record(record.file_of(os.environ))
    if mode == "commit":
        against = f"compared with {since[:10]}" if since else "it has no parent, so everything runs"
        print(f"commit {commit[:10]}, {against}; the hash chooses part {part} of {suite.PARTS}")
        print_left(choices, kept)
    if since and changed is not None:  # Without it, checks that look at what changed look at everything.
        os.environ["CDOM_BASE"] = since
    os.environ["CDOM_PART"] = str(part)
    return run(names, labels_of, kept, report.Run(
        part, commit, [one.module for one in choices if one.runs], [one.module.name for one in choices if one.by_path]))


def run(names, labels_of, kept, about):
    """Runs both lanes and reports. Returns the exit status."""
    began, busy = time.monotonic(), report.busy_seconds()
    (BUILD / "took.json").write_text(json.dumps(kept.module_seconds("e2e")))
    files = [BUILD / "results.xml", BUILD / "results-quiet.xml"]
    for file in files:
        file.unlink(missing_ok=True)
    beside = [name for name in names if "quiet" not in labels_of[name]]
    quiet = [name for name in names if "quiet" in labels_of[name]]
    watch = progress.Watch(names, kept, about, BUILD / "logs")
    if beside:
        # One lane of what computes, one of kubelets, and one of clusters, which has two processes.
        run_lane(beside, files[0], watch, "--parallel", "4")
    if quiet:
        run_lane(quiet, files[1], watch, "--parallel", "1")
    return report.main([file for file in files if file.exists()], time.monotonic() - began, report.busy_seconds() - busy, kept, about)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
