"""Turns what a candidate raises into a worded failure."""
from . import errors
from .replies import failed_by


class Stop(Exception):
    """A failure that is already worded."""

    def __init__(self, reply):
        self.reply = reply


class Guard:
    """Words whatever the candidate raises; also what it raised of ours and caught, as no device would let it."""

    def __init__(self, stage, file_name):
        self._stage, self._file = stage, file_name

    def __enter__(self):
        return self

    def __exit__(self, kind, exc, trace):
        if issubclass(type(exc), Stop):  # an exception may lie of its class, or raise when it is asked
            return False
        first = next(iter(errors.take_raised()), exc)
        if first is not None:
            raise Stop(failed_by(self._stage, first, self._file)) from None
        return False
