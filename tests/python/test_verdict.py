"""The type of a verdict: a dict with attributes, words and an HTML view."""
import copy
import html.parser
import json
import pickle

import pytest
from stand_in import RIGHT, WRONG, StandIn

import kernelwright
from kernelwright.words import explained

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x1b[31m\u202e\x00</pre></style>"


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    made = StandIn(tmp_path)
    monkeypatch.setenv("KERNELWRIGHT", str(made.path))
    return made


@pytest.fixture
def no_program(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT", str(tmp_path / "nowhere"))


def made(fields, **judged):
    return kernelwright.Verdict({"id": "a", **fields}, judged=judged or None)


def test_it_is_the_dict_of_its_json(no_program):
    fields = {"id": "a", **WRONG}
    verdict = made(WRONG)
    assert verdict == fields and isinstance(verdict, dict) and json.loads(json.dumps(verdict)) == fields
    assert verdict["status"] == verdict.status == "incorrect" and verdict.get("nothing") is None


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each)),
                                    lambda each: each.copy()], ids=["copy", "deepcopy", "pickle", "method"])
def test_copies_are_verdicts_with_their_source(copied):
    verdict = made(WRONG, kernel_code="k")
    other = copied(verdict)
    assert type(other) is kernelwright.Verdict and other == verdict and other.judged == {"kernel_code": "k"}


def test_a_missing_field_is_none():
    verdict = kernelwright.Verdict()
    assert (verdict.id, verdict.correct, verdict.speedup, verdict.why_no_speedup) == ("", False, None, None)


def test_a_field_that_is_set_is_seen():
    verdict = made(RIGHT)
    verdict["speedup"] = 2.5
    assert verdict.speedup == 2.5 and verdict.correct and not verdict.blames_kernel


def test_its_words_are_those_of_the_program(stand_in):
    verdict = made(WRONG, reference_code="r", kernel_code="k", input_shapes={"x": {}})
    assert str(verdict) == "TABLE\n\nWORDS ON a\n\nSUMMARY" == str(verdict)
    call, = stand_in.calls
    assert call[0] == "explain" and "--input" in call


def test_words_of_several_come_from_one_call(stand_in):
    assert explained([made(WRONG), {"id": "b", **RIGHT}]) == "TABLE\n\nWORDS ON a\nWORDS ON b\n\nSUMMARY"
    assert len(stand_in.calls) == 1


def test_without_the_program_it_says_the_error(no_program):
    assert str(made({**WRONG, "error": "one\x1b[2J\ntwo"})) == "a: incorrect (wrong_value)\n  one�[2J\ntwo"
    assert repr(made(RIGHT)) == "<Verdict a: correct>"


# ---- the HTML view

class Reader(html.parser.HTMLParser):
    """The tags and attributes that a browser sees; the text outside of the style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = [], set(), "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data


def full(text):
    """A verdict with this text wherever text of others may be."""
    return {"id": text, "status": "failed", "error": text, "error_class": text, "counts_reason": text, "stage": text,
            "trust": text, "fault": text, "shapes": "reduced", "printed": text, "timing": {"why_null": text},
            "environment": {"gpu": text}, "launches": [{"name": text, "grid": [text], "registers": text}],
            "comparison": {"trials": 5, "tolerance": {"name": text, "rtol": text}, "max_abs_error": text,
                           "mismatched_share": 0.25,
                           "first_mismatch": {"output": text, "index": [text], "expected": text, "actual": text}}}


def test_hostile_text_stays_text(no_program):
    shapes = {ATTACK: {"dtype": ATTACK, "shape": [ATTACK]}}
    view = kernelwright.Verdict(full(ATTACK), judged={"input_shapes": shapes})._repr_html_()
    read = Reader(view)
    assert set(read.tags) == {"div", "style", "span", "dl", "dt", "dd", "pre", "details", "summary"} and not read.open
    assert read.attributes == {"class", "style"}
    assert read.text.count("<script>alert(1)</script>") >= 10
    assert not {"\x1b", "\u202e", "\x00"} & set(view) and "url(" not in view and "@import" not in view


def test_hostile_words_of_the_program_stay_text(stand_in):
    stand_in.path.write_text("#!/bin/sh\nprintf '%s' '<b>1</b>\n\n  >   10 | <i>\n         | ^^\n\nsummary'\n")
    read = Reader(made(WRONG)._repr_html_())
    assert "b" not in read.tags and "i" not in read.tags and "  >   10 | <i>" in read.text and "summary\n" not in read.text


@pytest.mark.parametrize("line", ["x", "'" * 300, "&<" * 150, "語" * 300, "\U0001f600" * 300, "  >   10 | '" + "'" * 300])
def test_the_view_is_bounded(no_program, line):
    long = f"{line}\n" * (200_000 // len(line))
    verdict = full(long)
    verdict["launches"] *= 1000
    verdict["comparison"]["first_mismatch"]["index"] = list(range(1000))
    shapes = {f"name{number}": {"dtype": long, "shape": list(range(1000))} for number in range(1000)}
    view = kernelwright.Verdict(verdict, judged={"input_shapes": shapes})._repr_html_()
    assert len(view.encode()) < 64_000 and not Reader(view).open


def test_a_view_of_ordinary_length_is_whole(no_program):
    lines = [f"line {number}: it's {number}" for number in range(70)]
    text = Reader(made({**WRONG, "error": "\n".join(lines), "printed": "it's printed\n" * 70})._repr_html_()).text
    assert all(line in text for line in lines) and text.count("it's printed") == 70 and "… cut" not in text


def test_odd_fields_break_nothing(no_program):
    for odd in ("text", 7, None, [], {}, [None], {"trials": "x"}):
        fields = dict.fromkeys(full(""), odd)
        Reader(kernelwright.Verdict(fields)._repr_html_())


def test_the_view_says_what_matters(stand_in):
    fields = {**WRONG, "trust": "interpreter", "stage": "judge", "speedup": None,
              "timing": {"why_null": "no GPU: speed is not measured"},
              "comparison": {"trials": 5, "tolerance": {"name": "kernelbench", "rtol": 1e-4, "atol": 1e-4},
                             "max_abs_error": 1.5, "max_rel_error": None, "mismatched_share": 0.25, "error_ratio": 40.5,
                             "first_mismatch": {"output": "output", "index": [0, 1], "expected": 1.5, "actual": "nan"}}}
    text = Reader(made(fields, input_shapes={"x": {"dtype": "float32", "shape": [4, 5]}})._repr_html_()).text
    for part in ("incorrect", "wrong_value", "output[0, 1]: expected 1.5, got nan",
                 "absolute 1.5, 40.5 times the reference's own, 25.00% of the elements wrong",
                 "5, tolerance kernelbench, rtol 0.0001, atol 0.0001", "not measured: no GPU: speed is not measured",
                 "x float32[4, 5]", "interpreter, stage judge", "WORDS ON a"):
        assert part in text


def test_segments_are_those_of_the_timing():
    segments = {"forward": {"reference_time_ms": 2, "kernel_time_ms": 1, "speedup": 2}}
    assert kernelwright.Verdict({"timing": {"segments": segments}}).segments == segments
    assert kernelwright.Verdict({"timing": {}}).segments is None and kernelwright.Verdict().segments is None


def test_a_right_kernel_has_its_speed_and_no_explanation(stand_in):
    fields = {**RIGHT, "speedup": 1.5321, "reference_time_ms": 0.3, "kernel_time_ms": 0.1958}
    text = Reader(made(fields)._repr_html_()).text
    assert "1.53× (0.3 ms → 0.1958 ms)" in text and "counts" in text and "WORDS" not in text and stand_in.calls == []
