#!/usr/bin/python3
"""Writes manifests/monitoring/prometheus-rule.yaml: rules.yaml, for the Prometheus operator.

    operator_rules.py
"""

import pathlib

MONITORING = pathlib.Path(__file__).resolve().parents[3] / "manifests/monitoring"
FILE = MONITORING / "prometheus-rule.yaml"


def text():
    """What the file should have: its own head, and the groups of rules.yaml."""
    head = FILE.read_text().partition("\nspec:\n")[0]
    rules = (MONITORING / "rules.yaml").read_text()
    groups = rules[rules.index("\ngroups:\n") + 1:].splitlines()
    return "\n".join([head, "spec:", *(f"  {line}" for line in groups)]) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
