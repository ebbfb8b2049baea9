"""Draws the figures of a report.

python -I report.py FIGURES.json OUTDIR

FIGURES.json is {"figures": [{"name", "kind", "title", "subtitle", ...}]}; the functions of KINDS state the other fields of
each kind. Each figure becomes NAME.svg and NAME.png; the same facts give the same bytes. The last line of standard output
names the files, {"figures": [...]}. An error is one line, {"error": {"what", "remedy"}}, and exit 2.
"""
import json
import math
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # -I omits it
from kernelwright._figures.style import FAINT, GREY, GRID, INK, LONGEST_LINE, SERIES, Sheet, grouped  # noqa: E402
from kernelwright._figures.style import in_style, plain, plotter, short  # noqa: E402

NAME = re.compile("[a-z][a-z0-9_]{0,63}")
MOST_NAMED = 40  # samples with a line and a name each
ROW_IN = 0.19  # height of a named sample
LINEAR_BELOW = 0.5  # the axis of p: linear from 0 to here, then logarithmic
MOST_COLUMNS = 16  # of a table or of bars
CELL_IN = 0.3
NARROWEST = 6  # a logarithmic axis: its end over its begin


class FigureError(Exception):
    """A figure whose facts cannot be drawn."""


def number(value):
    """At most three significant digits: 0.25, 1.2, 10, 2,000."""
    if value >= 1000:
        return grouped(round(value)) if value < 1e6 else f"{value:.2g}"
    return f"{value:.3g}"


def times(value):
    return f"{number(value)}×"


def known(value):
    return value is not None and math.isfinite(value)


def span(point):
    """Low and high of a point's interval; None without one."""
    low, high = point.get("low"), point.get("high")
    return (low, high) if known(low) and known(high) else None


def log_ticks(low, high):
    """About 4 to 9 of 1, 2, 5 times powers of ten, between two positive numbers; powers of ten over many decades."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if high / low <= 1000 else (1,)
    every = max(1, (last - first) // 8)
    ticks = [step * 10.0 ** power for power in range(first, last + 1, every) for step in steps]
    return [tick for tick in ticks if low <= tick <= high]


def log_axis(axes, values, words, which="x"):
    """A logarithmic axis around positive values and 1, with few and plain tick labels."""
    low, high = min([*values, 1.0]), max([*values, 1.0])
    low, high = low / 1.25, high * 1.25
    if high / low < NARROWEST:
        wider = math.sqrt(NARROWEST * low / high)
        low, high = low / wider, high * wider
    ticks = log_ticks(low, high)
    getattr(axes, f"set_{which}scale")("log")
    axis = getattr(axes, f"{which}axis")
    axis.set_ticks(ticks, [words(tick) for tick in ticks])
    axis.set_ticks([], minor=True)
    getattr(axes, f"set_{which}lim")(low, high)


def quiet(axes, grid="y"):
    axes.tick_params(colors=GREY, labelcolor=FAINT, length=3)
    axes.grid(axis=grid, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def legend(sheet, columns=3):
    """Below all panels, so that it covers no data."""
    handles, labels = sheet.axes.get_legend_handles_labels()
    if len(labels) > 1:
        sheet.figure.legend(handles, labels, frameon=False, loc="outside lower left", ncols=columns)


def sheet_of(plot, figure, height, panels=1):
    return Sheet(plot, short(figure["title"], LONGEST_LINE), short(figure["subtitle"], LONGEST_LINE), height, panels)


def draw_series(axes, points, name, colour, marker, shift):
    """Values with their intervals, joined by a line; bounds of unknown values as an open bar."""
    sure = [point for point in points if known(point.get("y"))]
    if sure:
        axes.plot([point["x"] for point in sure], [point["y"] for point in sure], color=colour, marker=marker, markersize=4.5,
                  linewidth=1.5, label=name, zorder=3)
    for point in points:
        at = point["x"] * (1 + shift) if point["x"] else point["x"]
        if known(point.get("y")):
            if ends := span(point):
                lengths = [[max(0, point["y"] - ends[0])], [max(0, ends[1] - point["y"])]]
                axes.errorbar([at], [point["y"]], lengths, color=colour, capsize=3, linewidth=1, linestyle="none", zorder=2)
        elif known(point.get("at_least")) and known(point.get("at_most")):
            axes.vlines(at, point["at_least"], point["at_most"], color=colour, linewidth=5, alpha=0.35, zorder=2)
    return len(sure) < len(points)


def curve(plot, figure):
    """Shares over p or over turns. "axis": "p" or "turn"; "x_label", "y_label"; "series": [{"name", "points": [{"x", "y",
    "low", "high", "at_least", "at_most"}]}]. A point without y has bounds or nothing."""
    sheet = sheet_of(plot, figure, 2.9)
    axes = sheet.axes
    places = sorted({point["x"] for each in figure["series"] for point in each["points"]})
    if not places:
        raise FigureError("a curve has no points")
    bounds = False
    for at, each in enumerate(figure["series"]):
        colour, marker = SERIES[at % len(SERIES)]
        shift = 0.03 * (at - (len(figure["series"]) - 1) / 2)
        bounds |= draw_series(axes, each["points"], short(each["name"]), colour, marker, shift)
    if figure["axis"] == "p":
        axes.set_xscale("symlog", linthresh=LINEAR_BELOW, linscale=0.6, base=2)
        axes.set_xlim(-0.06, places[-1] * 1.15 if places[-1] else 1)
        shown = places
    else:
        shown = [place for place in places if (place - places[0]) % max(1, math.ceil(len(places) / 12)) == 0]
        axes.set_xlim(places[0] - 0.5, places[-1] + 0.5)
    axes.xaxis.set_ticks(shown, [number(place) for place in shown])
    axes.xaxis.set_ticks([], minor=True)
    axes.set_ylim(-0.03, 1.05)
    axes.yaxis.set_ticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0%", "20%", "40%", "60%", "80%", "100%"])
    axes.set_xlabel(figure["x_label"])
    axes.set_ylabel(figure["y_label"])
    quiet(axes)
    if bounds:
        axes.plot([], [], color=GREY, linewidth=5, label="bounds where right samples have no speed")
    legend(sheet, 2)
    return sheet


def strip(plot, figure):
    """One value a sample on a logarithmic axis, the largest on top. "x_label"; "rows": [{"name", "value", "low", "high"}];
    "mean": {"value", "low", "high"} or null."""
    rows = sorted((row for row in figure["rows"] if known(row["value"]) and row["value"] > 0),
                  key=lambda row: (row["value"], row["name"]))
    if not rows:
        raise FigureError("a strip plot has no values")
    named = len(rows) <= MOST_NAMED
    sheet = sheet_of(plot, figure, max(1.1, ROW_IN * len(rows)) + 0.5 if named else 4.6)
    axes = sheet.axes
    ends = [span(row) for row in rows]
    ends = [end if end and end[0] > 0 else None for end in ends]
    colour, slower = SERIES[0][0], SERIES[1][0]
    size = 4.5 if named else max(2, 4.5 - len(rows) / 150)
    for fast, mark, shade, label in ((True, "o", colour, "faster than the reference"),
                                     (False, "s", slower, "not faster than the reference")):
        these = [at for at, row in enumerate(rows) if (row["value"] > 1) == fast]
        if not these:
            continue
        with_ends = [at for at in these if ends[at]]
        axes.hlines(with_ends, [ends[at][0] for at in with_ends], [ends[at][1] for at in with_ends], color=shade,
                    linewidth=1.2 if named else 0.6, alpha=0.8, zorder=2)
        axes.plot([rows[at]["value"] for at in these], these, mark, color=shade, markersize=size, label=label, zorder=3)
    values = [row["value"] for row in rows] + [each for end in ends if end for each in end]
    axes.axvline(1, color=INK, linewidth=0.9)
    mean = figure.get("mean")
    if mean and known(mean["value"]):
        axes.axvline(mean["value"], color=FAINT, linewidth=1, linestyle="--", label=f"geometric mean {times(mean['value'])}")
        if between := span(mean):
            axes.axvspan(*between, color=GREY, alpha=0.25, linewidth=0)
    log_axis(axes, values, times)
    if named:
        axes.set_yticks(range(len(rows)), [short(row["name"]) for row in rows])
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{grouped(len(rows))} samples, by speed-up")
    room = max(0.8, 0.015 * len(rows))
    axes.set_ylim(-room, len(rows) - 1 + room)
    axes.set_xlabel(figure["x_label"])
    quiet(axes, "x")
    legend(sheet)
    return sheet


def roof(plot, figure):
    """Kernels below the memory's roof. "x_label", "y_label"; "points": [{"name", "x", "y"}]: time and share of the roof."""
    points = [point for point in figure["points"] if known(point["x"]) and known(point["y"]) and point["x"] > 0 < point["y"]]
    if not points:
        raise FigureError("a roofline has no points")
    sheet = sheet_of(plot, figure, 2.9)
    axes = sheet.axes
    for above, (colour, marker), label in ((False, SERIES[0], "kernel"),
                                           (True, SERIES[1], "above the roof: work skipped or inputs cached")):
        these = [point for point in points if (point["y"] > 1) == above]
        if these:
            axes.plot([point["x"] for point in these], [point["y"] for point in these], marker, color=colour, markersize=5,
                      label=label, alpha=0.8, zorder=3)
    axes.axhline(1, color=INK, linewidth=0.9, label="roof: inputs and outputs pass the memory once")
    places = [point["x"] for point in points]
    low, high = min(places) / 1.6, max(places) * 1.6
    ticks = log_ticks(low, high) or [min(places)]
    axes.set_xscale("log")
    axes.xaxis.set_ticks(ticks, [number(tick) for tick in ticks])
    axes.xaxis.set_ticks([], minor=True)
    axes.set_xlim(low, high)
    log_axis(axes, [point["y"] for point in points], lambda share: f"{number(100 * share)}%", "y")
    axes.set_xlabel(figure["x_label"])
    axes.set_ylabel(figure["y_label"])
    quiet(axes, "both")
    legend(sheet, 2)
    return sheet


def table(plot, figure):
    """Counts as a table whose cells are the darker, the larger the count. "x_label"; "columns": [...]; "rows": [{"name",
    "values"}]. Columns beyond MOST_COLUMNS are added up in the last one."""
    columns, rows = figure["columns"], figure["rows"]
    if not columns or not rows:
        raise FigureError("a table has no cells")
    values = [row["values"] for row in rows]
    if len(columns) > MOST_COLUMNS:
        values = [[*each[:MOST_COLUMNS - 1], sum(each[MOST_COLUMNS - 1:])] for each in values]
        columns = [*columns[:MOST_COLUMNS - 1], f"{columns[MOST_COLUMNS - 1]}+"]
    sheet = sheet_of(plot, figure, CELL_IN * max(len(rows), 2) + 0.5)
    axes = sheet.axes
    most = max(max(each) for each in values) or 1
    axes.pcolormesh([[math.sqrt(value / most) for value in each] for each in values], cmap="Blues", vmin=0, vmax=1.15,
                    edgecolors="white", linewidth=1.5)
    axes.invert_yaxis()
    size, words = (8.5, compact) if len(columns) <= 10 else (7, lambda value: compact(value, 1e3))
    for down, each in enumerate(values):
        for across, value in enumerate(each):
            if value:
                axes.text(across + 0.5, down + 0.5, words(value), ha="center", va="center", fontsize=size,
                          color="white" if math.sqrt(value / most) > 0.6 else INK)
    axes.set_xticks([at + 0.5 for at in range(len(columns))], [short(str(column), 12) for column in columns])
    axes.set_yticks([at + 0.5 for at in range(len(rows))], [short(row["name"]) for row in rows])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(figure["x_label"])
    return sheet


def compact(value, shortened_from=1e4):
    """A value in about five characters: ≈0, 0.38, 950, 9,500, 12k, 1.2M."""
    if 0 < value < 0.01:
        return "≈0"
    if value >= shortened_from:
        for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if value >= size:
                return f"{value / size:.0f}{letter}" if value >= 10 * size else f"{value / size:.1f}{letter}"
    return grouped(round(value)) if value >= 100 else f"{value:.2g}"


def bars(plot, figure):
    """Vertical bars, a panel for each unit. "x_label"; "panels": [{"title", "columns", "series": [{"name", "values"}]}]; a
    value may be null."""
    panels = figure["panels"]
    if not panels or not all(panel["columns"] and panel["series"] for panel in panels):
        raise FigureError("a panel has no bars")
    sheet = sheet_of(plot, figure, 3.2, len(panels))
    for axes, panel in zip(sheet.panels, panels):
        columns, series = panel["columns"][:MOST_COLUMNS], panel["series"]
        width = 0.84 / len(series)
        for at, each in enumerate(series):
            colour, _ = SERIES[at % len(SERIES)]
            values = [value if known(value) else 0 for value in each["values"][:MOST_COLUMNS]]
            places = [place + (at + 0.5) * width - 0.42 for place in range(len(columns))]
            drawn = axes.bar(places, values, width=width * 0.92, color=colour, hatch=("", "///", "...")[at % 3],
                             edgecolor="white", linewidth=0, label=short(each["name"], 24))
            if len(columns) * len(series) <= 8:
                axes.bar_label(drawn, [compact(value) if known(value) else "?" for value in each["values"]], padding=2,
                               fontsize=7.5)
        every = max(1, math.ceil(len(columns) / 10))
        axes.set_xticks(range(0, len(columns), every), [short(str(column), 12) for column in columns[::every]])
        axes.set_xlim(-0.6, max(len(columns), 3) - 0.4)
        axes.margins(y=0.14)
        axes.yaxis.set_major_formatter(lambda value, _: compact(value) if value else "0")
        axes.set_xlabel(figure["x_label"])
        axes.set_ylabel(short(panel["title"]))
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.2), alignment="left", fontsize=8)
        quiet(axes)
    return sheet


KINDS = {"curve": curve, "strip": strip, "roof": roof, "table": table, "bars": bars}


def draw(description, folder):
    figures = description["figures"]
    if any(not NAME.fullmatch(figure["name"]) for figure in figures):
        raise FigureError("the name of a figure is no plain word")
    plot = plotter()
    files = []
    folder.mkdir(parents=True, exist_ok=True)
    with in_style():
        for figure in figures:
            sheet = KINDS[figure["kind"]](plot, figure)
            for ending in (".svg", ".png"):
                path = folder / (figure["name"] + ending)
                sheet.write(path)
                files.append(path.name)
            sheet.close()
    return files


def fail(what, remedy):
    print(json.dumps({"error": {"what": plain(what), "remedy": remedy}}))
    return 2


def main():
    if len(sys.argv) != 3:
        print("usage: report.py FIGURES.json OUTDIR", file=sys.stderr)
        return 2
    try:
        description = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
        print(json.dumps({"figures": draw(description, Path(sys.argv[2]))}))
    except ImportError as error:
        return fail(f"matplotlib is missing from {sys.executable} ({error})", "install matplotlib, or name another --python")
    except OSError as error:
        return fail(f"cannot write figures to {sys.argv[2]}: {error}", "check the folder and its free space")
    except (FigureError, ValueError, KeyError, TypeError, AttributeError) as error:
        return fail(f"cannot draw {sys.argv[1]}: {error!r}", "report this with the file")
    return 0


if __name__ == "__main__":
    sys.exit(main())
