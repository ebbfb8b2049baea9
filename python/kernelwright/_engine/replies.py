"""Builds a runner's answers: failures from exceptions, launches from the log; bounded, so that they fit a packet."""
import os

from . import errors, wire
from .packets import clip
from .wire import made

OURS = os.path.dirname(os.path.abspath(__file__))
NAME_LIMIT, TEXT_LIMIT, LINE_LIMIT = 200, 8000, 1 << 30
COUNT_LIMIT = (1 << 63) - 1


def failed(stage, error_class, error, facts=None):
    """A Failed message; `facts` are errors.describe()'s."""
    facts = facts or {}
    return made(wire.FailedT, stage=stage, error_class=error_class, error=clip(error, TEXT_LIMIT),
                file=clip(facts.get("file"), 1000), line=facts.get("line") or -1,
                compiler_text=clip(facts.get("compiler_text"), 2 * TEXT_LIMIT),
                traceback=clip(facts.get("traceback"), 2 * TEXT_LIMIT))


def failed_by(stage, exc, file_name, error_class=None):
    """A Failed message for an exception of the candidate in `stage`; a failed compilation names its own stage."""
    facts = errors.describe(exc, file_name, (OURS,))
    found = error_class or facts["error_class"]
    return failed("compile" if found == "compile_error" else stage, found, facts["error"], facts)


def launches(records):
    """LaunchTs of a log's records."""
    return [_launch(each) for each in records]


def _launch(record):
    local = record.get("local_bytes")
    spills = record.get("spills", -1 if local is None else local // 4)
    grid = [min(max(int(each), 0), COUNT_LIMIT) for each in record["grid"]]
    return made(wire.LaunchT, name=clip(record["name"], NAME_LIMIT), grid=grid,
                programs=min(record["programs"], COUNT_LIMIT), num_warps=_within(record["num_warps"], 1 << 31),
                ms=float(record["ms"]), cubin_sha256=clip(record.get("cubin"), 64),
                registers=_within(record.get("registers", -1), 1 << 31), spills=_within(spills, 1 << 31),
                shared_bytes=_within(record.get("shared", -1), COUNT_LIMIT))


def _within(value, limit):
    return int(value) if -1 <= value < limit else -1
