"""The HTML view of a verdict in a notebook: facts from its JSON, and the words of `kernelwright explain`.

All text of a candidate is escaped and cut. The view has no script and loads nothing. It takes the colours of the text and the
page from the notebook, so that it is legible in light and dark themes; only the badge has a background of its own.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any

from .words import visible

Fields = Mapping[str, Any]

MOST_BYTES = 60_000  # of the view, up to its closing tags; escaping makes six of a quote
MOST_CELL = 300  # characters
MOST_LINE = 200
MOST_LINES = 80
MOST_PRINTED = 4096
MOST_LAUNCHES = 12
MOST_INPUTS = 16
MARKED = re.compile(r"\s*>\s+\d+ \| ")
CARET = re.compile(r"\s+\| +\^+\s*$")
PLACE = re.compile(r"\s*--> ")

# White text on each has a contrast of at least 4.5.
COLOURS = {"right": "#1a7f37", "wrong": "#c62828", "doubtful": "#8a6100", "unknown": "#5f6670"}

STYLE = """
.kw-verdict{font:13px/1.45 system-ui,sans-serif;color:inherit;border:1px solid rgba(128,128,128,.45);border-radius:6px;
padding:10px 14px;margin:4px 0;max-width:60rem;overflow-wrap:anywhere}
.kw-verdict .kw-head{display:flex;flex-wrap:wrap;align-items:baseline;gap:4px 10px;margin-bottom:6px}
.kw-verdict .kw-badge{color:#fff;border-radius:4px;padding:1px 8px;font-weight:600}
.kw-verdict .kw-id{font-weight:600}
.kw-verdict dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 14px;margin:0}
.kw-verdict dt{opacity:.75;font-weight:normal;text-align:left;margin:0;padding:0;float:none;width:auto}
.kw-verdict dd{margin:0;padding:0;text-align:left;font-variant-numeric:tabular-nums}
.kw-verdict pre.kw-text{font:12px/1.5 ui-monospace,Menlo,Consolas,monospace;color:inherit;white-space:pre;overflow-x:auto;
overflow-wrap:normal;background:rgba(128,128,128,.11);border:0;border-radius:4px;margin:8px 0 0;padding:8px 10px}
.kw-verdict .kw-mark{background:rgba(214,68,68,.26);font-weight:600}
.kw-verdict .kw-caret{font-weight:700}
.kw-verdict details{margin-top:8px}
.kw-verdict summary{cursor:pointer}
""".replace("\n", "")


def html_of(verdict: Fields, judged: Fields | None, words: Callable[[], str]) -> str:
    """`judged` is the row that was judged, where it is known; `words` gives the text of the terminal."""
    kind = _kind(verdict)
    why = verdict.get("error_class") or verdict.get("counts_reason")
    head = [f'<span class="kw-badge" style="background:{COLOURS[kind]}">{_text(verdict.get("status"))}</span>',
            f'<span class="kw-id">{_text(verdict.get("id"))}</span>']
    if verdict.get("status") == "correct":
        head.append(f'<span>{"counts" if verdict.get("counts") else "does not count"}</span>')
    if why:
        head.append(f"<span>{_text(why)}</span>")
    facts = "".join(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in _facts(verdict, judged) if value)
    start = f'<div class="kw-verdict"><style>{STYLE}</style><div class="kw-head">{"".join(head)}</div><dl>{facts}</dl>'
    room = _Room(MOST_BYTES - len(start.encode()))
    parts = [start, "" if kind == "right" else _explanation(words(), room), _launches(verdict, room), _printed(verdict, room)]
    return f"{''.join(parts)}</div>"


class _Room:
    """The bytes that are left for lines, one budget for all parts of a view. It counts escaped text."""

    def __init__(self, left: int) -> None:
        self.left = left

    def filled(self, lines: Iterable[str]) -> str:
        """As many of these lines of HTML as there is room for."""
        parts: list[str] = []
        for line in lines:
            self.left -= len(line.encode())
            if self.left < 0:
                parts.append("… cut\n")
                break
            parts.append(line)
        return "".join(parts)


def _kind(verdict: Fields) -> str:
    if verdict.get("status") == "correct" and verdict.get("counts") is True:
        return "right"
    if verdict.get("status") in ("incorrect", "failed"):
        return "wrong"
    return "unknown" if verdict.get("status") == "skipped" else "doubtful"


def _facts(verdict: Fields, judged: Fields | None) -> Iterator[tuple[str, str]]:
    """Labels and HTML; an empty value is left out."""
    comparison = _mapping(verdict.get("comparison"))
    first = _mapping(comparison.get("first_mismatch"))
    if first:
        place = f"{first.get('output')}[{', '.join(_number(each) for each in _list(first.get('index')))}]"
        yield "First mismatch", _text(f"{place}: expected {_number(first.get('expected'))}, got {_number(first.get('actual'))}")
    errors = [f"{label} {_number(comparison[field])}" for label, field in (
        ("absolute", "max_abs_error"), ("relative", "max_rel_error")) if comparison.get(field) is not None]
    if comparison.get("error_ratio") is not None:
        errors.append(f"{_number(comparison['error_ratio'])} times the reference's own")
    if isinstance(share := comparison.get("mismatched_share"), (int, float)) and share > 0:
        errors.append(f"{share:.2%} of the elements wrong")
    yield "Largest error", _text(", ".join(errors))
    yield "Trials", _trials(comparison)
    yield "Speed-up", _speed(verdict)
    yield "Inputs", _inputs(judged)
    environment = _mapping(verdict.get("environment"))
    stage, fault = verdict.get("stage"), verdict.get("fault")
    by = [each for each in (verdict.get("trust"), stage and f"stage {stage}", environment.get("gpu"),
                            fault not in (None, "kernel") and f"fault of the {fault}") if each]
    if verdict.get("shapes") == "reduced":
        by.insert(0, "reduced shapes")
    yield "Judged by", _text(", ".join(str(each) for each in by))


def _trials(comparison: Fields) -> str:
    if not comparison.get("trials"):
        return ""
    tolerance = _mapping(comparison.get("tolerance"))
    limits = [f"{field} {_number(tolerance[field])}" for field in ("rtol", "atol") if tolerance.get(field) is not None]
    return _text(f"{_number(comparison['trials'])}, tolerance {', '.join([str(tolerance.get('name')), *limits])}")


def _speed(verdict: Fields) -> str:
    speedup, reference_ms, kernel_ms = (verdict.get(each) for each in ("speedup", "reference_time_ms", "kernel_time_ms"))
    if isinstance(speedup, (int, float)):
        times = "" if kernel_ms is None else f" ({_number(reference_ms)} ms → {_number(kernel_ms)} ms)"
        return _text(f"{speedup:.3g}×{times}")
    why = _mapping(verdict.get("timing")).get("why_null")
    return _text(f"not measured: {why}") if why else ""


def _inputs(judged: Fields | None) -> str:
    shapes = _mapping(_mapping(judged).get("input_shapes"))
    shown = [f"{name} {_mapping(each).get('dtype', '')}[{', '.join(map(_number, _list(_mapping(each).get('shape'))))}]"
             for name, each in list(shapes.items())[:MOST_INPUTS]]
    return _text(", ".join(shown) + (", …" if len(shapes) > MOST_INPUTS else ""))


def _explanation(words: str, room: _Room) -> str:
    # Between the table and the summary; the words alone where the program is missing.
    parts = words.split("\n\n")
    lines = "\n\n".join(parts[1:-1] if len(parts) > 2 else parts).split("\n")
    return f'<pre class="kw-text">{room.filled(map(_line, _cut(lines, MOST_LINES)))}</pre>'


def _line(line: str) -> str:
    text = _text(line, MOST_LINE)
    if MARKED.match(line):
        return f'<span class="kw-mark">{text}</span>\n'
    if CARET.match(line) or PLACE.match(line):
        return f'<span class="kw-caret">{text}</span>\n'
    return f"{text}\n"


def _launches(verdict: Fields, room: _Room) -> str:
    launches = [each for each in _list(verdict.get("launches")) if isinstance(each, Mapping)]
    if not launches:
        return ""
    lines = [f"{each.get('name')}  grid {'×'.join(map(_number, _list(each.get('grid'))))}  "
             + ", ".join(f"{label} {_number(each[field])}" for label, field in (
                 ("registers", "registers"), ("spills", "spills"), ("shared bytes", "shared_bytes"), ("ms", "time_ms"))
                 if each.get(field) is not None) for each in launches]
    return _details(f"Launches of a call: {len(launches)}", _cut(lines, MOST_LAUNCHES), room)


def _printed(verdict: Fields, room: _Room) -> str:
    printed = verdict.get("printed")
    if not isinstance(printed, str) or not printed:
        return ""
    return _details("Output of the kernel's process", _cut(printed[-MOST_PRINTED:].split("\n"), MOST_LINES), room)


def _details(title: str, lines: Iterable[str], room: _Room) -> str:
    inner = room.filled(f"{_text(each, MOST_LINE)}\n" for each in lines)
    return f'<details><summary>{escape(title)}</summary><pre class="kw-text">{inner}</pre></details>'


def _cut(lines: list[str], most: int) -> list[str]:
    return lines if len(lines) <= most else [*lines[:most], f"… {len(lines) - most} more lines"]


def _text(value: object, most: int = MOST_CELL) -> str:
    text = visible(str(value)[:most + 1])
    return escape(text if len(text) <= most else text[:most] + "…")


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _mapping(value: object) -> Fields:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value[:64] if isinstance(value, list) else []
