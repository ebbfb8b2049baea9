"""Handles SIGTERM and SIGINT: the first asks for a checkpoint and an end, the second ends at once."""
import os
import signal


class Stopped(Exception):
    """The work ended because a signal asked for it."""


class StopAsked:
    """Stores the signal; `asked` is its number, or None. The work continues to a point at which it can be saved."""

    def __init__(self):
        self.asked = None

    def install(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._take)
        return self

    def ask(self, number=signal.SIGTERM):
        self.asked = self.asked or int(number)

    def check(self):
        """Raise Stopped if a signal came. Call it where nothing needs to be saved."""
        if self.asked:
            raise Stopped

    def _take(self, number, frame):
        if self.asked:
            os._exit(128 + number)
        self.ask(number)

    @property
    def status(self):
        """The exit status of a process that a signal ended."""
        return 128 + self.asked
