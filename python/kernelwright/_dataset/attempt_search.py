"""Searches for an attempt at compiling one kernel that succeeds, and makes the answer."""
import os
import re

LONGEST_REASON = 240
MAX_SHARED = {80: 166912, 86: 101376, 89: 101376, 90: 232448, 100: 232448}


class Late(Exception):
    """The time for this kernel has run out."""


def outcome(label, reason="", compiled_for=(), signature=""):
    """An answer in the form that the program reads."""
    return {"compile": label, "reason": reason, "compiled_for": list(compiled_for), "signature": signature[:1000]}


def line(text):
    """A reason on one line."""
    text = " ".join(str(text).encode("utf-8", "replace").decode().split())
    return text if len(text) <= LONGEST_REASON else text[:LONGEST_REASON - 1] + "…"


def spent():
    """Seconds of processor time, so that the length of a search does not depend on the machine's other load."""
    return sum(os.times()[:4])


class Search:
    """Tries attempts until one compiles; that one is then compiled for every target."""

    def __init__(self, targets, deadline, lines_above=0):
        self._targets, self._deadline, self._above = targets, deadline, lines_above
        self.first_error, self.definite, self._good, self._bad, self._text = None, True, [], {}, ""

    def take(self, compile_for, text):
        """Whether this attempt compiles for at least one target."""
        good, bad = [], {}
        for target in sorted(self._targets, reverse=True):
            if spent() > self._deadline:
                if good or self.first_error is None:
                    raise Late
                self.definite = False
                return False
            try:
                compile_for(target)
                good.append(target)
            except Exception as error:
                bad[target] = reason_of(error, self._above)
                if self.first_error is None:
                    self.first_error = bad[target]
                self.definite &= is_definite(error)
                if not good and not is_about_target(bad[target]):
                    break
        if good:
            self._good, self._bad, self._text = good, bad, text
        return bool(good)

    def found(self):
        """The label of a kernel that compiles."""
        bad = "; ".join(f"sm_{target}: {why}" for target, why in sorted(self._bad.items()))
        return outcome("compilable", bad, [f"sm_{each}" for each in sorted(self._good)], self._text)

    def none(self, label):
        """The label of a kernel that does not compile."""
        return outcome(label, self.first_error or "no attempt")


class TooMuchShared(Exception):
    """The kernel compiles and needs too much shared memory to be launched."""


def compiled(function, attempt, target):
    """Compile one attempt for one compute capability; raises the compiler's exceptions."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    kind = ASTSource
    if function.is_gluon():
        from triton.experimental.gluon._runtime import GluonASTSource as kind
    signature, constants = {}, {}
    for name in function.arg_names:
        choice = attempt.choices[name]
        signature[name] = "constexpr" if choice.is_value else choice.what
        if choice.is_value:
            constants[name] = choice.what
    source = kind(function, signature, constants)
    kernel = triton.compile(source, target=GPUTarget("cuda", target, 32), options=dict(attempt.options))
    if kernel.metadata.shared > MAX_SHARED.get(target, 232448):
        raise TooMuchShared(f"needs {kernel.metadata.shared} bytes of shared memory of {MAX_SHARED.get(target, 232448)}")


def is_definite(error):
    """Whether an error states a fault of the kernel, and not one of time, memory or this machine."""
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import PTXASError
    if isinstance(error, (MemoryError, RecursionError, OSError)):
        return False
    cause = error
    while cause is not None:
        if isinstance(cause, (MemoryError, RecursionError, OSError)):
            return False
        cause = cause.__cause__
    if isinstance(error, PTXASError):
        return "error   :" in str(error)
    return isinstance(error, (CompilationError, TooMuchShared)) or "PassManager" in str(error)


def is_about_target(why):
    """Whether another target may succeed."""
    return bool(re.search(r"shared memory|capability|sm_?\d\d|fp8|PassManager|ptxas|arch", why, re.IGNORECASE))


def reason_of(error, lines_above=0):
    """The last line of the compiler's message, with the line number, which is converted from `def` to the text's start."""
    # ptxas appends the command to repeat, with this machine's paths.
    text = [each.strip() for each in str(error).splitlines() if each.strip() and "Repro command" not in each]
    where = re.match(r"at (\d+):\d+", text[0]) if text else None
    last = next((each for each in reversed(text) if set(each) - set("^~ ")), type(error).__name__)
    cause = error.__cause__
    while cause is not None:
        last = next(iter(str(cause).splitlines()), "") or type(cause).__name__
        inner = re.match(r"at (\d+):\d+", last)
        if inner:
            rest = [each.strip() for each in str(cause).splitlines() if each.strip()]
            last = rest[-1]
        cause = cause.__cause__
    return line((f"line {int(where.group(1)) + lines_above}: " if where else "") + f"{last}")
