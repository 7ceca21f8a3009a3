#!/usr/bin/python3
"""Draws the panels of manifests/monitoring's dashboards from a Prometheus' answers, as there is no Grafana here.

  draw.py URL PICTURE [TIME]    the three minutes before now, or that time in seconds since 1970, as PNG. Needs Debian's
                                python3-matplotlib.

Panels are where the dashboard has them. All variables have the value All.
"""

import json
import re
import sys
import time
import urllib.parse
import urllib.request

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from dashboards import BOARDS, chosen, field_of, look, rows  # noqa: E402

SECONDS = 180
COLORS = {"green": "#73bf69", "blue": "#5794f2", "purple": "#b877d9", "red": "#f2495c", "orange": "#ff9830"}
UNIT = 0.25  # Inches of a row of a dashboard, which has 24 columns.


def ask(url, what, **words):
    with urllib.request.urlopen(f"{url}/api/v1/{what}?{urllib.parse.urlencode(words)}", timeout=20) as reply:
        return json.load(reply)["data"]["result"]


def answer(url, query, end):
    """[(labels, [(seconds after `end`, value)])]"""
    return [(one["metric"], [(float(at) - end, float(value)) for at, value in one["values"] if value != "NaN"])
            for one in ask(url, "query_range", query=query, start=end - SECONDS, end=end, step=1)]


def short(name):
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{22,27}", "clique", name)  # The number after a UUID is enough to tell cliques apart.


def name_of(target, labels):
    return short(re.sub(r"{{(\w+)}}", lambda match: labels.get(match[1], ""), target["legendFormat"]))


def draw_table(axes, url, board, panel, end):
    answers = {target["refId"]: [(one["metric"], float(one["value"][1])) for one in ask(url, "query", query=chosen(target["expr"], board), time=end)]
               for target in panel["targets"]}
    columns = list(panel["transformations"][1]["options"]["renameByName"].values())
    cells, colors = [], []
    for row in sorted(rows(panel, answers), key=lambda row: row["Ready"]):
        looks = [(value, "") if isinstance(value := row.get(column), str) else look(field_of(panel, column), value) for column in columns]
        cells.append([text for text, _ in looks])
        colors.append([COLORS.get(color, "white") for _, color in looks])
    axes.axis("off")
    if cells:
        made = axes.table(cells, cellColours=colors, colLabels=columns, loc="upper center", cellLoc="left")
        made.auto_set_font_size(False)
        made.set_fontsize(7)
        made.scale(1, 1.4)


def draw_states(axes, lines, panel):
    """One row for each name, and the color of its state over time."""
    names = sorted({name for name, _ in lines}, reverse=True)
    field = panel["fieldConfig"]["defaults"]
    for name, points in lines:
        for (at, value), (until, _) in zip(points, [*points[1:], (points[-1][0] + 1, 0)]):
            axes.broken_barh([(at, min(until - at, 5))], (names.index(name) - 0.4, 0.8), facecolors=COLORS[look(field, value)[1]])
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, max(len(names), 1) - 0.4)
    for one in field["mappings"][0]["options"].values():
        axes.plot([], [], color=COLORS[one["color"]], label=one["text"], linewidth=6)
    axes.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1, 1), ncols=4, frameon=False)


def draw_lines(axes, lines, panel):
    if panel["fieldConfig"]["defaults"].get("custom", {}).get("stacking"):
        times = sorted({at for _, points in lines for at, _ in points})
        heights = [[dict(points).get(at, 0) for at in times] for _, points in lines]
        axes.stackplot(times, heights, labels=[name for name, _ in lines], alpha=0.6, step="post")
    else:
        for name, points in lines:
            axes.step(*zip(*points), label=name, where="post") if points else None
    axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.15)
    axes.grid(alpha=0.3)
    if lines:
        axes.legend(fontsize=6, loc="upper left", framealpha=0.7, ncols=2)


def draw(axes, url, board, panel, end):
    axes.set_title(panel["title"], fontsize=10, loc="left", fontweight="bold")
    if panel["type"] == "table":
        draw_table(axes, url, board, panel, end)
        return
    lines = [(name_of(target, labels), points) for target in panel["targets"]
             for labels, points in answer(url, chosen(target["expr"], board), end) if points]
    axes.set_xlim(-SECONDS, 0)
    axes.tick_params(labelsize=7)
    (draw_states if panel["type"] == "state-timeline" else draw_lines)(axes, lines, panel)


def main(url, picture, end=None):
    end = float(end or time.time())
    heights = [max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in board["panels"]) + 2 for board in BOARDS.values()]
    figure, top = plt.figure(figsize=(14, UNIT * sum(heights))), 0
    for board, height in zip(BOARDS.values(), heights):
        figure.text(0.01, 1 - (top + 1) / sum(heights), board["title"], fontsize=14)
        for panel in board["panels"]:
            place = panel["gridPos"]
            left = place["x"] / 24 + (0.08 if panel["type"] == "state-timeline" else 0.03)
            bottom = 1 - (top + 2 + place["y"] + place["h"] - 1) / sum(heights)
            draw(figure.add_axes((left, bottom, (place["x"] + place["w"]) / 24 - 0.01 - left, (place["h"] - 2) / sum(heights))), url, board, panel, end)
        top += height
    figure.savefig(picture, dpi=70)


main(*sys.argv[1:])
