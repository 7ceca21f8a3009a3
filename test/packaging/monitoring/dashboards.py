"""The dashboards of manifests/monitoring, and what Grafana makes of their variables and of the answers for a table."""

import json
import pathlib
import re

MONITORING = pathlib.Path(__file__).resolve().parents[3] / "manifests/monitoring"
BOARDS = {board["uid"]: board for board in (json.loads((MONITORING / f"dashboard-{name}.json").read_text()) for name in ("domains", "cliques"))}


def variables(board):
    """{name: variable} of those that the reader chooses from series."""
    return {one["name"]: one for one in board["templating"]["list"] if one["type"] == "query"}


def queries(board):
    """The queries of all panels, with names of variables in them."""
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def chosen(query, board, **values):
    """The query as Grafana sends it if these values of variables are chosen, and All of each other one."""
    for name, variable in variables(board).items():
        query = query.replace(f"${name}", values.get(name, variable["allValue"]))
    return query


def rows(panel, answers):
    """The rows of a table, {column: value} each. `answers` has the (labels, value) pairs that each target got, by its refId."""
    merged, organized = panel["transformations"]
    assert (merged["id"], organized["id"]) == ("merge", "organize")
    names, found = organized["options"]["renameByName"], {}
    for ref, pairs in answers.items():
        for labels, value in pairs:
            row = found.setdefault(tuple(sorted(labels.items())), {names[label]: text for label, text in labels.items()})
            row[names[f"Value #{ref}"]] = value
    return list(found.values())


def look(field, value):
    """(text, color) that the value mappings of `field` have for the value, which is None where a table has none. The color may be empty."""
    plain = "" if value is None else f"{value:g}"
    for mapping in field.get("mappings", []):
        result = mapping["options"].get("result" if value is None else plain)
        if result:
            return result["text"], result["color"]
    return plain, ""


def field_of(panel, column):
    """The fields' settings, as those of that column override them."""
    field = dict(panel["fieldConfig"]["defaults"])
    for override in panel["fieldConfig"]["overrides"]:
        if override["matcher"] == {"id": "byName", "options": column}:
            field |= {one["id"]: one["value"] for one in override["properties"]}
    return field
