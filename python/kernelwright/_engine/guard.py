"""Turns an exception of a candidate into a Failed message."""
from . import errors
from .replies import failed_by


class Stop(Exception):
    """A failure with its Failed message."""

    def __init__(self, reply):
        self.reply = reply


class Guard:
    """Describes every exception of the candidate. Judge's exceptions that it caught count too, as a device's faults would."""

    def __init__(self, stage, file_name):
        self._stage, self._file = stage, file_name

    def __enter__(self):
        return self

    def __exit__(self, kind, exc, trace):
        if issubclass(type(exc), Stop):  # a candidate's exception may report a false class, or raise when asked for it
            return False
        first = next(iter(errors.take_raised()), exc)
        if first is not None:
            raise Stop(failed_by(self._stage, first, self._file)) from None
        return False
