#!/usr/bin/env python3
"""Writes the figures that scripts/bench.sh measured into figures.tsv, and the README's table from that file.

    readme.py                       writes the README's table
    readme.py --check               says where README.md, docs/why.md or docs/cost.md differ from figures.tsv, and fails
    readme.py --record nvidia|cdom  takes new cells of that controller from lines of cdom-bench, and writes the table
"""

import os
import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(os.environ.get("LINT_TREE", pathlib.Path(__file__).parents[2]))
FIGURES = TREE / "test/bench/figures.tsv"
HEAD = "| | NVIDIA's | cdom | |\n|---|---|---|---|\n"
UNITS = {"ms": ("time", 0.001), "s": ("time", 1), "MiB": ("memory", 1)}
PARTS = {1: "as much", 2: "half", 3: "a third", 4: "a quarter", 5: "a fifth"}


def amount(cell):
    """Returns what a cell like "21 ms" is an amount of, and how much. Empty for others, such as "59 ms at most"."""
    found = re.fullmatch(r"([\d.]+) (ms|s|MiB)", cell)
    if not found:
        return None, 0
    kind, factor = UNITS[found[2]]
    return kind, float(found[1]) * factor


def compared(nvidia, cdom):
    (kind, more), (other, less) = amount(nvidia), amount(cdom)
    if not kind or kind != other:
        return ""
    times = round(more / less)
    return f"{times} times as fast" if kind == "time" else PARTS.get(times, f"1/{times}")


def rows(text):
    cells = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            _, what, of, cell, _ = line.split("\t")
            cells.setdefault(what, {})[of] = cell
    return [(what, row["nvidia"], row["cdom"], compared(row["nvidia"], row["cdom"])) for what, row in cells.items()]


def table(text):
    return HEAD + "".join("| " + " | ".join(row).rstrip() + " |\n" for row in rows(text))


def found_table(readme):
    found = re.search(re.escape(HEAD) + r"(\|.*\n)*", readme)
    if not found:
        sys.exit("README.md has no table that begins with\n" + HEAD)
    return found[0]


def recorded(text, of, lines):
    """Returns the text with the cells that the lines have."""
    commit = subprocess.run(["git", "-C", TREE, "rev-parse", "--short=8", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    new = {line.split("\t")[0]: line.split("\t")[6] for line in lines if line.split("\t")[6] != "-"}
    result = []
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[0] in new and fields[2] == of:
            line = "\t".join([*fields[:3], new[fields[0]], commit])
        result.append(line + "\n")
    return "".join(result)


def main(arguments):
    text, readme = FIGURES.read_text(), (TREE / "README.md").read_text()
    if arguments == ["--check"]:
        if found_table(readme) != table(text):
            sys.exit(f"README.md: its table differs from test/bench/figures.tsv, which says\n{table(text)}Run test/bench/readme.py")
        speeds = {row[3] for row in rows(text)}
        for wrong in set(re.findall(r"\d+ times as fast", (TREE / "docs/why.md").read_text())) - speeds:
            sys.exit(f'docs/why.md: "{wrong}" is not in the table that test/bench/figures.tsv makes')
        told = dict(re.findall(r"^\| (.*?) \| (.*?) \|$", (TREE / "docs/cost.md").read_text(), re.MULTILINE))
        for what, _, cdom, _ in rows(text):
            if told.get(what, cdom) != cdom:
                sys.exit(f"docs/cost.md: {what}: {told[what]} is not {cdom}, as test/bench/figures.tsv says")
        return
    if arguments[:1] == ["--record"] and arguments[1:] in (["nvidia"], ["cdom"]):
        text = recorded(text, arguments[1], sys.stdin.read().splitlines())
        FIGURES.write_text(text)
    elif arguments:
        sys.exit(__doc__)
    (TREE / "README.md").write_text(readme.replace(found_table(readme), table(text)))


main(sys.argv[1:])
