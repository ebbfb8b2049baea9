"""Classifies failures in an oracle by the party at fault: the task or the judge."""
import contextlib
import os

from .. import errors, plain, wire
from ..wire import made

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class TaskFault(Exception):
    """The task cannot be used as it is, or not on this machine; the text names a remedy."""

    def __init__(self, error, error_class="task_invalid", stage="prepare", line=None, traceback=""):
        super().__init__(error)
        self.error, self.error_class, self.stage = error, error_class, stage
        self.line, self.traceback = line, traceback

    def message(self):
        """The FailedT for the reply."""
        return made(wire.FailedT, stage=self.stage, errorClass=self.error_class, error=self.error[:4000],
                    file="reference.py" if self.line else None, line=self.line, traceback=self.traceback[:8000])


@contextlib.contextmanager
def blame(what, file="", stage="prepare"):
    """Turns every exception of the reference's own code into a TaskFault: "`what`: Error: its message"."""
    try:
        yield
    except TaskFault:
        raise
    except BaseException as exc:  # includes SystemExit: a reference must not end its oracle
        raise of_exception(what, exc, file, stage) from None


def of_exception(what, exc, file="", stage="prepare"):
    """The TaskFault of an exception that the reference raised."""
    facts = errors.describe(exc, file, (PACKAGE,))
    line = facts["line"]
    kind = "out_of_memory" if facts["error_class"] == "out_of_memory" else "task_invalid"
    where = f" (line {line})" if line else ""
    folder = os.path.dirname(file) + "/" if file else "\0"
    return TaskFault(f"{what}{where}: {facts['error']}".replace(folder, ""), kind, stage, line,
                     facts["traceback"].replace(folder, ""))


def own(exc, stage):
    """The FailedT of an exception in the judge's own code."""
    kind = "out_of_memory" if errors.classify(exc) == "out_of_memory" else "infrastructure"
    error = f"{plain.name_of(type(exc))}: {plain.text_of(exc, plain.ERROR_LIMIT)}"
    return made(wire.FailedT, stage=stage, errorClass=kind, error=error, traceback=plain.traceback(exc, ("<none>",)))
