"""Turns a candidate's source into a module whose functions inspect and Triton can read."""
import linecache
import sys
import types

MODULE = "candidate"


class NotPython(Exception):
    """The source cannot be parsed; `cause` is the parser's error."""

    def __init__(self, cause):
        self.cause = cause
        super().__init__(str(cause))


def parse(data, file_name):
    """The code object of the source's bytes; raises NotPython."""
    try:
        source = data.decode("utf-8")
        code = compile(source, file_name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as cause:
        raise NotPython(cause) from cause
    # Without a modification time the entry is never checked against a file of that name.
    linecache.cache[file_name] = (len(data), None, source.splitlines(keepends=True), file_name)
    return code


def run(code, file_name):
    """The names of a module after the code has run in it."""
    module = sys.modules[MODULE] = types.ModuleType(MODULE)
    module.__file__ = file_name
    exec(code, module.__dict__)
    return module.__dict__
