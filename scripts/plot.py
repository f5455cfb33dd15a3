#!/usr/bin/python3
"""Draws the experiments of a report by `vidfilter lab --json` as SVG, one file each.

usage: scripts/plot.py REPORT.json FOLDER

An experiment over an axis has lines, the papers' dashed; one without has bars, on a logarithmic scale. Needs Debian's
python3-matplotlib.
"""
import json
import os
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "vidfilter", "svg.fonttype": "none", "font.size": 9, "legend.fontsize": 8})
from matplotlib import pyplot, ticker  # noqa: E402, after the choice of SVG

LEAST_MSE = 1e-6  # stands for no error on a logarithmic axis


def time_of(row):
    """The milliseconds to compare: with copies if the paper includes them."""
    return (row.get("step") or row["time"])["median_ms"]


def plain_time(row):
    # Variations on a paper's plain version would coincide with it; the speed-ups show them.
    return 0 if row.get("kind") else time_of(row)


def naive(row):
    return 0 if row["own"] else row["over_naive"]  # ours is far above the others


# A panel: its label, whether its scale is logarithmic, a row's value, and the paper's; 0 is not drawn.
TIME = ("ms", True, plain_time, lambda paper: paper["ms"])
SHORT = ("ms", False, time_of, None)  # for times close together
CORES = ("speed-up over naive on one core", False, lambda row: row["over_sequential"], None)
ERROR = ("MSE against A", True, lambda row: max(row["mse"], LEAST_MSE) if row.get("mse") is not None else 0, None)


def over_naive(label):
    return (label, False, naive, lambda paper: paper["naive"])


# An axis: its label, whether its values double, a row's place, and the panels.
AXES = {
    "radius": ("radius", False, lambda row: row.get("radius", 0), [TIME, over_naive("speed-up over the naive kernel")]),
    "threads": ("threads", True, lambda row: row.get("threads", 0), [TIME, CORES]),
    "side": ("side of the picture", True, lambda row: row["size"]["width"], [TIME, over_naive("speed-up over algorithm A")]),
    "block": ("side of a block", True, lambda row: row.get("block", 0), [SHORT]),
    "factor": ("tiles a block", False, lambda row: row.get("factor", 0), [SHORT]),
    "kappa": ("kappa", False, lambda row: row.get("kappa") or 0, [ERROR, SHORT]),
}


def name_of(row, axis):
    """Everything that distinguishes a row from others, except the axis."""
    if row["own"]:
        name = "ours"
    elif row["version"].lower().endswith(row["title"].lower()):
        name = row["version"]
    elif len(row["version"]) > 2 and row["version"].lower() in row["title"].lower():
        name = row["title"]
    else:
        name = row["version"] + " " + row["title"]
    if axis == "side" and row.get("blocks"):
        name += f", {row['blocks']} a line"
    if axis in ("side", "kappa"):
        name += f", {row.get('sigma_s', 0):g}/{row.get('sigma_r', 0):g}"
    if not axis and row.get("radius"):
        name += f", r {row['radius']}"
    if not axis and row.get("memory"):
        name += f", {row['memory']}, streams: {row['streams']}"
    return name


def index(known, key):
    """The place of a key in a list, which gets it if it is new."""
    if key not in known:
        known.append(key)
    return known.index(key)


def draw_lines(experiment):
    label, doubles, place, panels = AXES[experiment["axis"]]
    figure, axes = pyplot.subplots(1, len(panels), figsize=(5 * len(panels) + 3, 5), squeeze=False)
    names = list(dict.fromkeys(name_of(row, experiment["axis"]) for row in experiment["rows"]))
    versions, variants = [], []  # a version has one colour, and each of its variants a marker
    for chart, (unit, log, here, then) in zip(axes[0], panels):
        places = set()
        for name in names:
            rows = [row for row in experiment["rows"] if name_of(row, experiment["axis"]) == name]
            first = rows[0]
            colour = "black" if first["own"] else f"C{index(versions, (first['version'], first.get('blocks'))) % 10}"
            marker = "os^D"[index(variants, (first.get("kind"), first.get("sigma_s"), first.get("sigma_r"))) % 4]
            points = sorted((place(row), here(row)) for row in rows if here(row))
            published = sorted((place(row), then(row["paper"])) for row in rows if then and row.get("paper") and then(row["paper"]))
            for line, style, title in ((points, marker + "-", name), (published, "o--", None)):
                if line:
                    chart.plot(*zip(*line), style, color=colour, markersize=3, linewidth=1.2, label=title)
                    places.update(x for x, _ in line)
        chart.set(xlabel=label, ylabel=unit, xscale="log" if doubles else "linear", yscale="log" if log else "linear")
        chart.set_xticks(sorted(places))
        chart.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        chart.xaxis.set_minor_locator(ticker.NullLocator())
        chart.grid(True, alpha=0.4)
        if not log:
            chart.set_ylim(bottom=0)
    lines = {title: line for chart in axes[0] for line, title in zip(*chart.get_legend_handles_labels())}
    if any(row.get("paper") for row in experiment["rows"]):
        lines["then, in the version's colour"] = pyplot.Line2D([], [], color="black", linestyle="--", marker="o", markersize=3)
    figure.legend(lines.values(), lines.keys(), loc="center left", bbox_to_anchor=(0.91, 0.5))
    return figure


def draw_bars(experiment):
    rows = [row for row in experiment["rows"] if time_of(row)]
    figure, chart = pyplot.subplots(figsize=(8, 1 + 0.35 * len(rows)))
    for title, colour, offset, times in (
        ("here", "C0", -0.2, [time_of(row) for row in rows]),
        ("then", "silver", 0.2, [(row.get("paper") or {}).get("ms", 0) for row in rows]),
    ):
        if any(times):
            bars = chart.barh([i + offset for i in range(len(rows))], times, 0.38, color=colour, label=title)
            chart.bar_label(bars, [f"{t:.4g}" if t else "" for t in times], padding=2, fontsize=8)
    chart.set(xlabel="ms", xscale="log")
    chart.set_yticks(range(len(rows)), [name_of(row, "") for row in rows])
    chart.invert_yaxis()
    chart.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def main(report, folder):
    with open(report, encoding="utf-8") as file:
        experiments = json.load(file)["experiments"]
    os.makedirs(folder, exist_ok=True)
    for experiment in experiments:
        if not any(time_of(row) for row in experiment["rows"]):
            continue
        figure = (draw_lines if experiment["axis"] in AXES else draw_bars)(experiment)
        figure.suptitle(f"{experiment['paper']}: {experiment['title']}")
        figure.savefig(os.path.join(folder, experiment["id"] + ".svg"), bbox_inches="tight", metadata={"Date": None})
        pyplot.close(figure)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
