"""Reads exceptions without trusting them: a candidate chooses what it raises.

No attribute is read through an exception's class, no text is used before it is cut, and the length of a chain is
limited.
"""
import linecache
import os
import re
import subprocess

ERROR_LIMIT, COMPILER_LIMIT, TRACEBACK_LIMIT = 2000, 8000, 8000
CHAIN_LIMIT, FRAME_LIMIT, SCAN_LIMIT = 16, 48, 4000
INSTALLED = re.compile(r"^/.*/(?:site-packages|dist-packages|(?=python3\.\d+/))/?")
PTX_FILE = re.compile(r"[^\s'\"]*/tmp\w+\.ptx")


def text_of(value, limit):
    """`str(value)` as a plain str of at most `limit` characters, for any `value`."""
    try:
        made = str(value)
        if not issubclass(type(made), str):
            return "<message unavailable>"
        cut = str.__getitem__(made, slice(0, limit))
        # ptxas names temporary files and ends in a command line, which are useless to the reader.
        cut = PTX_FILE.sub("kernel.ptx", str.split(cut, "\n\nRepro command: ")[0])
        return str.encode(cut, "utf-8", "replace").decode("utf-8")
    except BaseException:
        return "<message unavailable>"


def name_of(kind):
    """A class's name, read without its metaclass."""
    return text_of(type.__dict__["__name__"].__get__(kind), 200)


def _field(exc, name):
    return BaseException.__dict__[name].__get__(exc)


def own(exc, name, kind):
    """An attribute set on the instance of a library's exception, if it has exactly that type."""
    try:
        value = getattr(exc, name, None)
    except BaseException:
        return None
    return value if type(value) is kind else None


def chain(exc):
    """The exception and its causes, outermost first; ends at a loop or after a few."""
    found, seen = [], set()
    while exc is not None and id(exc) not in seen and len(found) < CHAIN_LIMIT:
        seen.add(id(exc))
        found.append(exc)
        following = _field(exc, "__cause__")
        if following is None and not _field(exc, "__suppress_context__"):
            following = _field(exc, "__context__")
        exc = following
    return found


def causes(exc):
    """Like chain(), but follows only `raise ... from ...`, where the outer exception merely wraps."""
    found, seen = [], set()
    while exc is not None and id(exc) not in seen and len(found) < CHAIN_LIMIT:
        seen.add(id(exc))
        found.append(exc)
        exc = _field(exc, "__cause__")
    return found


def frames(exc):
    """(file, line, function) of each frame, outermost first; a huge recursion keeps both ends."""
    found, tb, scanned = [], _field(exc, "__traceback__"), 0
    while tb is not None and scanned < SCAN_LIMIT:
        code = tb.tb_frame.f_code
        found.append((code.co_filename, tb.tb_lineno, code.co_name))
        tb, scanned = tb.tb_next, scanned + 1
    return found if len(found) <= FRAME_LIMIT else found[:8] + found[8 - FRAME_LIMIT:]


def _short(file):
    """A library's file from its package on, so that the report does not reveal the installation folder."""
    return INSTALLED.sub("", file)


def traceback(exc, hidden):
    """The chain as text, without frames of files under `hidden` and of the import system."""
    parts = []
    for each in chain(exc)[::-1]:
        if issubclass(type(each), subprocess.CalledProcessError):
            continue  # a tool's command line, with paths of this machine
        for file, line, function in frames(each):
            if file.startswith(hidden) or file.startswith("<frozen"):
                continue
            parts.append(f'  File "{_short(file)}", line {line}, in {function}\n')
            # A code object may name any file as its own, even one that never ends.
            source = linecache.getline(file, line).strip()[:200] if os.path.isfile(file) else ""
            if source:
                parts.append(f"    {source}\n")
        parts.append(f"{name_of(type(each))}: {text_of(each, ERROR_LIMIT)}\n")
    text = text_of("".join(parts), 1 << 20)
    return text if len(text) <= TRACEBACK_LIMIT else text[:2000] + "\n...\n" + text[5 + 2000 - TRACEBACK_LIMIT:]
