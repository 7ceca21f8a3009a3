#!/usr/bin/python3
"""Writes the reference pages whose source is in the tree: docs/fields.md from the CRDs, docs/events.md from the controller.

    reference.py           writes both pages
    reference.py --check   exits with status 1 if a page differs, and names it
"""

import pathlib
import re
import sys

import yaml

REPO = pathlib.Path(__file__).resolve().parents[2]
CRDS = ("crds/computedomains.yaml", "crds/computedomaincliques.yaml")
SKIPPED = ("apiVersion", "kind", "metadata")


def one_line(text):
    return re.sub(r"\s+", " ", text or "").strip().replace("|", "\\|")


def type_of(schema):
    if schema["type"] == "array":
        return "list of " + type_of(schema["items"])
    return ", ".join(f"`{one}`" for one in schema["enum"]) if "enum" in schema else schema["type"]


def fields(schema, path=""):
    """(path, schema) of each field below, parents first."""
    for name, field in schema.get("properties", {}).items():
        if not path and name in SKIPPED:
            continue
        here = f"{path}.{name}" if path else name
        yield here, field
        inner, suffix = (field["items"], "[]") if field["type"] == "array" else (field, "")
        yield from fields(inner, here + suffix)


def fields_page():
    yield from ("# Look up fields and columns", "",
                "After reading this page you know each field and each `kubectl` column of cdom's two kinds. `kubectl explain cdom` prints the "
                "same.", "Generated from `crds` by `scripts/site/reference.py`.")
    for path in CRDS:
        crd = yaml.safe_load((REPO / path).read_text())
        [version] = crd["spec"]["versions"]
        schema = version["schema"]["openAPIV3Schema"]
        yield from ("", f"## {crd['spec']['names']['kind']}", "")
        yield from (one_line(part) for part in re.split(r"(\n\n+)", schema["description"]))
        yield from ("", "| Field | Type | Description |", "|---|---|---|")
        for name, field in fields(schema):
            default = f" Default: `{field['default']}`." if field.get("default") not in (None, "") else ""
            yield f"| `{name}` | {type_of(field)} | {one_line(field.get('description'))}{default} |"
        yield from ("", "| Column | Description |", "|---|---|")
        for column in version["additionalPrinterColumns"]:
            wide = " With `-o wide`." if column.get("priority") else ""
            yield f"| `{column['name'].upper()}` | {one_line(column['description'])}{wide} |"


def events_page():
    names = dict(re.findall(r'(k(?:Reason|Event)\w+) = "(\w+)";', (REPO / "controller/api/names.h").read_text()))
    status = REPO / "controller/compute_domain/status"
    of_conditions = {names[name]: kind for name, kind in re.findall(r"api::(kReason\w+), Telling::k(\w+)", (status / "reasons.cc").read_text())
                     if kind != "Silent"}
    once = {}
    for part in re.split(r"(?=EventType::k)", (status / "events.cc").read_text()):
        if found := re.match(r"EventType::k(\w+)", part):
            once.update({names[name]: found[1] for name in re.findall(r"api::(kEvent\w+)", part)})
    assert set(once) == {value for name, value in names.items() if name.startswith("kEvent")}, "an Event without a type"
    yield from ("# Look up Events", "",
                "After reading this page you know which Events cdom's controller creates. Each name links to its meaning and fix.",
                "Generated from the controller by `scripts/site/reference.py`.", "",
                "`kubectl events --for computedomain/NAME` lists the Events of a domain. An Event that repeats has a count.", "",
                "## Events of conditions", "",
                "The controller creates the Event when a condition of the domain gets this reason. The Event has the condition's message.", "",
                "| Reason | Type |", "|---|---|")
    yield from (f"| [{name}](reasons.md#{name.lower()}) | {kind} |" for name, kind in sorted(of_conditions.items()))
    yield from ("", "## Events of actions", "", "| Reason | Type |", "|---|---|")
    yield from (f"| [{name}](reasons.md#{name.lower()}) | {kind} |" for name, kind in sorted(once.items()))


def main(arguments):
    is_check = arguments == ["--check"]
    if arguments and not is_check:
        sys.exit(__doc__)
    bad = 0
    for path, lines in (("docs/fields.md", fields_page()), ("docs/events.md", events_page())):
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"
        if not is_check:
            (REPO / path).write_text(text)
        elif (REPO / path).read_text() != text:
            print(f"{path} is not what its source says: run scripts/site/reference.py")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
