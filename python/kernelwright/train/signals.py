"""SIGTERM and SIGINT: the first asks for a checkpoint and an end, the second ends at once."""
import os
import signal


class Stopped(Exception):
    """What was under way ended because it was asked to."""


class StopAsked:
    """Remembers the signal; `asked` is its number, or none. What is under way goes on to where it can be kept."""

    def __init__(self):
        self.asked = None

    def install(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._take)
        return self

    def ask(self, number=signal.SIGTERM):
        self.asked = self.asked or int(number)

    def check(self):
        """To be called between things that leave nothing to keep."""
        if self.asked:
            raise Stopped

    def _take(self, number, frame):
        if self.asked:
            os._exit(128 + number)
        self.ask(number)

    @property
    def status(self):
        """The exit status of a process that ended because it was asked to."""
        return 128 + self.asked
