"""The figures of a report: what is drawn, and what a hostile name does not do."""
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from kernelwright._figures import report

pytest.importorskip("matplotlib")
HOSTILE = ["$\\frac{x}$", "$\\input{/etc/passwd", "</text><script>alert(1)</script>", "a\u202eb", "\x1b]0;title\x07", "--><b>",
           "漢字" * 40, "\ud800", "", "x" * 5000, "]]>", "&amp;&lt;", "line\nline", "=1+1"]
P = (0, 0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5, 10)


def curve(*series, axis="p"):
    return {"kind": "curve", "axis": axis, "x_label": "p", "y_label": "share",
            "series": [{"name": name, "points": points} for name, points in series]}


def shares(value=0.5):
    return [{"x": p, "y": value, "low": value / 2, "high": value * 1.5, "at_least": value, "at_most": value} for p in P]


def strip(count, name="task"):
    return {"kind": "strip", "x_label": "speed-up", "mean": {"value": 1.1, "low": 1, "high": 1.2},
            "rows": [{"name": f"{name} {at}", "value": 0.5 + at / 7, "low": 0.4 + at / 7, "high": 0.6 + at / 7}
                     for at in range(count)]}


def roof(*points):
    return {"kind": "roof", "x_label": "ms", "y_label": "share", "points": [{"name": "a", "x": x, "y": y} for x, y in points]}


def table(columns, *rows):
    return {"kind": "table", "x_label": "turn", "columns": columns, "rows": [{"name": n, "values": v} for n, v in rows]}


def bars(columns, **series):
    return {"kind": "bars", "x_label": "turn", "panels": [{"title": "tokens", "columns": columns,
            "series": [{"name": name, "values": values} for name, values in series.items()]}] * 2}


def write(folder, *figures):
    folder.mkdir(exist_ok=True)
    named = [{"name": f"figure_{at}", "title": "Title", "subtitle": "12 tasks"} | figure for at, figure in enumerate(figures)]
    (folder / "figures.json").write_text(json.dumps({"figures": named}), encoding="utf-8")
    return folder / "figures.json", folder / "out"


def call(*words):
    """Status and the line of standard output as JSON."""
    out = io.StringIO()
    before, sys.argv = sys.argv, [report.__file__, *map(str, words)]
    try:
        with contextlib.redirect_stdout(out):
            status = report.main()
    finally:
        sys.argv = before
    return status, json.loads(out.getvalue().splitlines()[-1])


def drawn(folder, *figures):
    status, line = call(*write(folder, *figures))
    assert status == 0, line
    return {name: (folder / "out" / name).read_bytes() for name in line["figures"]}


def error_of(folder, *figures):
    status, line = call(*write(folder, *figures))
    assert status == 2
    return line["error"]


def one_of_each():
    return (curve(("eager", shares()), ("compile", shares(0.2))), strip(6), curve(("right", shares()), axis="turn"),
            table(["1", "2"], ("wrong_value", [3, 0]), ("timeout", [0, 1])),
            bars(["1", "2"], prompt=[10, 20], reasoning=[1, None]), roof((0.01, 0.4), (0.2, 1.3)))


def test_equal_facts_give_equal_bytes_in_any_process(tmp_path):
    first = drawn(tmp_path / "a", *one_of_each())
    description, out = write(tmp_path / "b", *one_of_each())
    subprocess.run([sys.executable, "-I", report.__file__, description, out], check=True, capture_output=True, timeout=120,
                   env=os.environ | {"SOURCE_DATE_EPOCH": "1", "TZ": "Asia/Tokyo"})
    assert first == {path.name: path.read_bytes() for path in out.iterdir()}
    assert len(first) == 12
    for name, content in first.items():
        assert b"matplotlib" not in content if name.endswith(".png") else not re.search(rb"dc:date|20\d\d-\d\d", content)


@pytest.mark.parametrize("count", [1, 2, 40, 41, 500])
def test_any_number_of_tasks_is_drawn(tmp_path, count):
    assert len(drawn(tmp_path, strip(count))) == 2


def test_extreme_numbers_are_drawn(tmp_path):
    rows = [{"name": "a", "value": value, "low": None, "high": None} for value in (1e-9, 1.0, 1e9)]
    many = [str(turn) for turn in range(200)]
    drawn(tmp_path, strip(1) | {"rows": rows, "mean": None}, roof((1e-9, 1e-9), (1e6, 40.0)), roof((1, 1)),
          table(many, ("wrong_value", [10 ** 12] * 200)), bars(many, prompt=[10 ** 12] * 200),
          curve(("right", [{"x": turn, "y": 1.0} for turn in range(1, 200)]), axis="turn"))


def test_hostile_names_stay_text(tmp_path):
    rows = strip(len(HOSTILE))
    for row, name in zip(rows["rows"], HOSTILE):
        row["name"] = name
    tables = table(HOSTILE, *((name, [1] * len(HOSTILE)) for name in HOSTILE))
    files = drawn(tmp_path, rows, tables, curve(*((name, shares()) for name in HOSTILE)) | {"title": HOSTILE[2]},
                  bars(HOSTILE, **{name: [1] * len(HOSTILE) for name in HOSTILE}))
    for name, content in files.items():
        if name.endswith(".svg"):
            names = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(content).iter()
                     if isinstance(element.tag, str)}
            assert not names & {"script", "a", "foreignObject", "image", "text", "b"}, names
            assert b"<script" not in content and b"\xe2\x80\xae" not in content and b"\x1b" not in content


def test_a_dollar_is_no_formula():
    assert report.plain("$x$ \u202e\x1b") == "$x$ ??"


def test_values_that_are_not_known_are_not_drawn(tmp_path):
    unknown = [{"x": p, "y": None, "at_least": None, "at_most": None} for p in P]
    bounds = [{"x": p, "y": None, "at_least": 0.1, "at_most": 0.6} for p in P]
    without, with_bounds = (drawn(tmp_path / name, curve(("one", points)))["figure_0.svg"]
                            for name, points in (("a", unknown), ("b", bounds)))
    assert len(with_bounds) > len(without)
    rows = strip(3)
    rows["rows"][1]["value"] = None
    assert drawn(tmp_path / "c", rows) == drawn(tmp_path / "d", rows | {"rows": rows["rows"][::2]})


@pytest.mark.parametrize("figure", [strip(0), roof(), table([]), bars([], prompt=[]), curve(("none", []))])
def test_a_figure_without_data_is_an_error(tmp_path, figure):
    assert "FigureError" in error_of(tmp_path, figure)["what"]


@pytest.mark.parametrize("name", ["../out", "a/b", "", "A", ".svg", "x" * 65])
def test_a_name_cannot_leave_the_folder(tmp_path, name):
    assert error_of(tmp_path, strip(1) | {"name": name})["remedy"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"figures": 1}', '{"figures": [{"name": "a", "kind": "b"}]}', "{", "\x00"])
def test_a_description_that_is_none_is_told(tmp_path, text):
    (tmp_path / "figures.json").write_text(text)
    status, line = call(tmp_path / "figures.json", tmp_path / "out")
    assert status == 2 and line["error"]["remedy"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    description, out = write(tmp_path, strip(1))
    out.write_text("a file")
    status, line = call(description, out)
    assert status == 2 and str(out) in line["error"]["what"]


def test_without_matplotlib_the_error_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "matplotlib" in error_of(tmp_path, strip(1))["what"]


@pytest.mark.parametrize("low, high", [(0.5, 2), (0.001, 5), (1e-9, 1e9), (0.9, 1.1), (30, 70)])
def test_an_axis_has_few_ticks(low, high):
    ticks = report.log_ticks(low, high)
    assert len(ticks) <= 10 and all(low <= tick <= high for tick in ticks)


@pytest.mark.parametrize("value, text", [(0, "0"), (3e-4, "≈0"), (0.384, "0.38"), (7, "7"), (42, "42"), (950, "950"),
                                         (9500, "9,500"), (12_000, "12k"), (1.25e6, "1.2M"), (3e12, "3000G")])
def test_counts_are_short(value, text):
    assert report.compact(value) == text
