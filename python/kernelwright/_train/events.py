"""Writes the trainer's events for the program that started it: one JSON object a line on a descriptor."""
import json
import math
import os


class TrainError(Exception):
    """An error, and the remedy for the user. `usage`: the flags or the recipe are at fault, as for a wrong command line."""

    def __init__(self, what, remedy, usage=False):
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.usage = usage


def plain(value):
    """The value without numbers that JSON cannot express: infinity and not-a-number become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


class Events:
    """Writes events to `fd`. Once the reader has closed its end, `lost` is true and later events are dropped."""

    def __init__(self, fd):
        self.fd = fd
        self.lost = False

    def send(self, event, **fields):
        line = json.dumps({"event": event, **plain(fields)}, ensure_ascii=False, allow_nan=False) + "\n"
        rest = memoryview(line.encode("utf-8", "replace"))
        while rest and not self.lost:
            try:
                rest = rest[os.write(self.fd, rest):]
            except BrokenPipeError:
                self.lost = True

    def error(self, what, remedy, usage=False):
        self.send("error", what=what, remedy=remedy, usage=usage)
