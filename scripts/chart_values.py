#!/usr/bin/env python3
"""Makes of the chart's values.yaml what follows from it: values.schema.json, and the table in its README.md.

    scripts/chart_values.py            writes both
    scripts/chart_values.py --check    fails if one is out of date

A type follows from the default: null is `true, false or null`, and an empty object takes any fields. "One of: a, b." in a comment
lists what there is. Values of NVIDIA's chart without an effect are in ignored.yaml; the schema takes them whatever they are.
"""

import difflib
import json
import pathlib
import re
import sys

import yaml

CHART = pathlib.Path(__file__).resolve().parents[1] / "manifests/chart"
BEGIN, END = "<!-- values: scripts/chart_values.py -->\n", "<!-- end of values -->\n"
ITEMS = {"imagePullSecrets": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}
LOG_VERBOSITY = {"type": ["string", "integer"], "pattern": "^([0-9]|10)$", "minimum": 0, "maximum": 10}


def comments(text):
    """{path: comment} of each key that has one above it."""
    found, path, above = {}, [], []
    for line in text.splitlines():
        if comment := re.fullmatch(r" *# ?(.*)", line):
            above.append(comment[1])
        elif key := re.match(r"( *)(\w+):", line):
            path[len(key[1]) // 2:] = [key[2]]
            if above:
                found[".".join(path)] = " ".join(above)
            above = []
        else:
            above = []
    return found


def rows(values, texts, path=""):
    """(path, default, comment) of each value."""
    for name, value in values.items():
        at = f"{path}.{name}" if path else name
        if isinstance(value, dict) and value:
            yield from rows(value, texts, at)
        else:
            yield at, value, texts[at]


def schema_of(at, value, comment):
    words = {"description": comment}
    if at == "logVerbosity":
        return words | LOG_VERBOSITY
    if choices := re.search(r"One of: ([^ ,]*(?:, [^ ,]*)*)\.(?: |$)", comment):
        return words | {"enum": [one.strip('"') for one in choices[1].split(", ")]}
    kinds = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
    if value is None:
        return words | {"type": ["boolean", "null"]}
    return words | {"type": kinds[type(value)]} | ({"items": ITEMS[at]} if at in ITEMS else {})


def put(schema, at, leaf):
    """Adds the schema of the value at that path. No object that is made on the way takes other fields."""
    *folders, name = at.split(".")
    for folder in folders:
        schema = schema["properties"].setdefault(folder, {"type": "object", "additionalProperties": False, "properties": {}})
    schema["properties"][name] = leaf


def made():
    """{file: text}, as they are to be."""
    text = (CHART / "values.yaml").read_text()
    values = list(rows(yaml.safe_load(text), comments(text)))
    schema = {"$schema": "https://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": False,
              "properties": {"global": {"description": "Of a chart that has this one in it."}}}
    for at, value, comment in values:
        put(schema, at, schema_of(at, value, comment))
    for at, why in yaml.safe_load((CHART / "ignored.yaml").read_text()).items():
        put(schema, at, {"description": f"Ignored: {why}."})
    table = "| Value | Default | Meaning |\n|---|---|---|\n" + "".join(
        f"| `{at}` | {'' if value is None else f'`{json.dumps(value)}`'} | {comment} |\n" for at, value, comment in values)
    page = (CHART / "README.md").read_text()
    return {CHART / "values.schema.json": json.dumps(schema, indent=2) + "\n",
            CHART / "README.md": page[:page.index(BEGIN) + len(BEGIN)] + table + page[page.index(END):]}


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    outdated = False
    for file, text in made().items():
        before = file.read_text() if file.exists() else ""
        if not arguments:
            file.write_text(text)
        elif before != text:
            outdated = True
            sys.stderr.writelines(difflib.unified_diff(before.splitlines(True), text.splitlines(True), str(file), "as it is to be"))
    if outdated:
        sys.exit("Run scripts/chart_values.py")


if __name__ == "__main__":
    main(sys.argv[1:])
