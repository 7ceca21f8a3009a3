#!/usr/bin/python3
"""Draws the panels of manifests/monitoring's dashboards from a Prometheus' answers, as there is no Grafana here.

  draw.py URL PICTURE [TIME]    the three minutes before now, or that time in seconds since 1970, as PNG. Needs Debian's
                                python3-matplotlib.
"""

import json
import pathlib
import re
import sys
import time
import urllib.parse
import urllib.request

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

SECONDS = 180
MONITORING = pathlib.Path(__file__).resolve().parents[2] / "manifests" / "monitoring"


def answer(url, query, end):
    words = urllib.parse.urlencode({"query": query, "start": end - SECONDS, "end": end, "step": 1})
    with urllib.request.urlopen(f"{url}/api/v1/query_range?{words}", timeout=20) as reply:
        return json.load(reply)["data"]["result"]


def name_of(target, labels):
    name = re.sub(r"{{(\w+)}}", lambda match: labels.get(match[1], ""), target["legendFormat"])
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{22,27}", "clique", name)  # Of a UUID the number behind it tells enough.


def draw(axes, url, panel, end):
    lines = []
    for target in panel["targets"]:
        for series in answer(url, target["expr"], end):
            points = [(float(at) - end, float(value)) for at, value in series["values"] if value != "NaN"]
            lines.append((name_of(target, series["metric"]), points))
    axes.set_title(panel["title"], fontsize=10, loc="left", fontweight="bold")
    axes.set_xlim(-SECONDS, 0)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.3)
    if panel["fieldConfig"]["defaults"].get("custom", {}).get("stacking"):
        times = sorted({at for _, points in lines for at, _ in points})
        rows = [[dict(points).get(at, 0) for at in times] for _, points in lines]
        axes.stackplot(times, rows, labels=[name for name, _ in lines], alpha=0.6, step="post")
    else:
        for name, points in lines:
            axes.step(*zip(*points), label=name, where="post") if points else None
    axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.15)
    if lines:
        axes.legend(fontsize=6, loc="upper left", framealpha=0.7, ncols=2)


def main(url, picture, end=None):
    end = float(end or time.time())
    boards = [json.loads((MONITORING / f"dashboard-{name}.json").read_text()) for name in ("domains", "cliques")]
    columns = 4
    rows = sum(-(-len(board["panels"]) // columns) for board in boards)
    figure = plt.figure(figsize=(18, 3.1 * rows))
    parts = figure.subfigures(len(boards), 1)
    for part, board in zip(parts, boards):
        part.suptitle(board["title"], x=0.01, ha="left", fontsize=13)
        grid = part.subplots(-(-len(board["panels"]) // columns), columns).flat
        for axes, panel in zip(grid, board["panels"]):
            draw(axes, url, panel, end)
        part.subplots_adjust(left=0.03, right=0.995, top=0.88, bottom=0.07, hspace=0.35, wspace=0.13)
    figure.savefig(picture, dpi=70)


main(*sys.argv[1:])
