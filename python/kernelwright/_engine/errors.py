"""The judge's own exceptions, and the function that describes any exception of a candidate as plain facts."""
import linecache
import sys

from .plain import COMPILER_LIMIT, ERROR_LIMIT, causes, frames, name_of, own, text_of, traceback

RAISED_LIMIT = 16
_raised = []


def _remember(exc):
    # Candidates catch exceptions ("fall back to PyTorch"). A GPU's fault cannot be caught, so these must not be lost
    # either: the runner asks take_raised() after each call.
    if len(_raised) < RAISED_LIMIT:
        _raised.append(exc)


def raised_mark():
    """What forget_raised needs to forget only what is raised from now on."""
    return len(_raised)


def forget_raised(mark):
    """Forget what has been raised since raised_mark: it was raised on the way of something that is done anew."""
    del _raised[mark:]


def take_raised():
    """The judge's own exceptions since the last call, whether or not the candidate caught them."""
    found = list(_raised)
    _raised.clear()
    return found


class OutOfBounds(Exception):
    """A load, store or atomic touched memory outside the storages of its launch."""

    def __init__(self, kind, kernel, line, lanes, of, direction, where=""):
        self.kind, self.kernel, self.line = kind, kernel, line
        self.lanes, self.of, self.direction, self.where = lanes, of, direction, where
        tail = f" ({where})" if where else ""
        super().__init__(f"out-of-bounds {kind} in {kernel}, line {line}: {lanes} of {of} lanes lie "
                         f"{direction} every tensor of this launch{tail}")
        _remember(self)


class Unsupported(Exception):
    """An operation that may be right on a GPU and cannot be tried without one."""

    def __init__(self, feature):
        self.feature = feature
        super().__init__(f"cannot be run without a GPU: {feature}")
        _remember(self)


class NoDeviceCode(Exception):
    """A kernel does what no compiler makes code for: the interpreter alone could run it."""

    def __init__(self, what):
        super().__init__(f"the kernel does not compile for a device: {what}")
        _remember(self)


class Replaced(Exception):
    """The candidate replaced a part of the interpreter, which then computes something else than a device."""

    def __init__(self, what):
        super().__init__(f"the candidate replaced {what}, with which its kernels are interpreted")
        _remember(self)


def _loaded(module, name):
    """A class of a library, if the library is loaded: describe() must not import anything."""
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) else ()


def _is(exc, *kinds):
    return any(kind and issubclass(type(exc), kind) for kind in kinds)


def _in_compiler(exc):
    return any("/triton/compiler/" in file or "/triton/backends/" in file for file, _, _ in frames(exc))


# Of PyTorch, Triton and the libraries, on a full device too; cuBLAS reports so if its handle finds no memory.
NO_MEMORY = ("can't allocate memory", "CUDA out of memory", "CUDA error: out of memory", "CUDA driver error: out of memory",
             "Triton Error [CUDA]: out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED",
             "CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate")


def classify(exc):
    """The error class of one exception without its causes; `runtime_error` where no other class fits."""
    text = text_of(exc, 4000)
    if _is(exc, OutOfBounds):
        return "out_of_bounds"
    if _is(exc, Unsupported):
        return "unsupported_candidate"
    if _is(exc, NoDeviceCode):
        return "compile_error"
    if _is(exc, Replaced):
        return "forbidden"
    if _is(exc, _loaded("triton.runtime.errors", "OutOfResources")):
        return "out_of_resources"
    if _is(exc, _loaded("triton.compiler.errors", "CompilationError"), _loaded("triton.runtime.errors", "PTXASError")):
        return "compile_error"
    if _is(exc, MemoryError, _loaded("torch", "OutOfMemoryError")) or any(words in text for words in NO_MEMORY):
        return "out_of_memory"
    if "an illegal memory access" in text or "misaligned address" in text:
        return "illegal_memory_access"
    if _is(exc, SyntaxError):
        return "syntax_error"
    if _is(exc, ImportError):
        return "import_error"
    if _is(exc, NotImplementedError) and "interpreter mode" in text:
        return "unsupported_candidate"
    if _is(exc, Exception) and _in_compiler(exc):
        return "compile_error"
    return "runtime_error"


def _line_of_source(source, candidate_file):
    """The line of the file at which a function's own text begins: the compiler counts lines from its `def`."""
    wanted = [line.strip() for line in source.rstrip().split("\n")]
    lines = [line.strip() for line in linecache.getlines(candidate_file)]
    for start in range(len(lines) - len(wanted) + 1):
        if lines[start] == wanted[0] and lines[start:start + len(wanted)] == wanted:
            return start + 1
    return None


def _compiler_line(exc, candidate_file):
    source, node = own(exc, "src", str), getattr(exc, "node", None)
    line = getattr(node, "lineno", None)
    if source is None or type(line) is not int:
        return None
    start = _line_of_source(source, candidate_file)
    return None if start is None else start + line - 1


def _place(exc, candidate_file):
    """The innermost line of the candidate that this exception passed through, or that it names."""
    if _is(exc, OutOfBounds) and type(exc.line) is int and exc.line > 0:
        return exc.line
    if _is(exc, SyntaxError):
        file, line = own(exc, "filename", str), own(exc, "lineno", int)
        if file == candidate_file and line:
            return line
    lines = [line for file, line, _ in frames(exc) if file == candidate_file]
    return lines[-1] if lines else None


def describe(exc, candidate_file, hidden_prefixes):
    """Plain, bounded facts about `exc`: error_class, error, file, line, compiler_text, traceback."""
    try:
        return _describe(exc, candidate_file, hidden_prefixes)
    except BaseException:
        # An exception that imitates a library's and has attributes that raise: only its name is reported.
        return {"error_class": "runtime_error", "error": f"{name_of(type(exc))}: {text_of(exc, ERROR_LIMIT - 300)}",
                "file": None, "line": None, "compiler_text": "", "traceback": ""}


def _describe(exc, candidate_file, hidden_prefixes):
    hidden = (hidden_prefixes,) if isinstance(hidden_prefixes, str) else tuple(hidden_prefixes)
    raised = causes(exc)
    wrapper = _loaded("triton.runtime.errors", "InterpreterError")
    compilation = _loaded("triton.compiler.errors", "CompilationError")
    inner = [each for each in raised if not _is(each, wrapper)] or raised
    compiled = [each for each in inner if _is(each, compilation)]
    chosen, kind, line = inner[0], classify(inner[0]), None
    for each in inner[1:]:
        found = classify(each)
        if kind == "runtime_error" and found != "runtime_error":
            chosen, kind = each, found
    compiler_text = ""
    if compiled and kind == "compile_error":
        # The compiler wraps once for each level of inlining; the deepest exception in this file has the line.
        compiler_text = "\n".join(text_of(each, COMPILER_LIMIT) for each in compiled)
        lines = [_compiler_line(each, candidate_file) for each in compiled]
        line = next((each for each in reversed(lines) if each is not None), None)
        last = raised[-1]
        message = own(compiled[-1], "error_message", str)
        if not _is(last, compilation):
            message = f"{name_of(type(last))}: {text_of(last, ERROR_LIMIT)}"
        error = message or text_of(compiled[-1], ERROR_LIMIT)
    else:
        error = f"{name_of(type(chosen))}: {text_of(chosen, ERROR_LIMIT)}"
        if kind in ("compile_error", "out_of_resources"):
            compiler_text = text_of(chosen, COMPILER_LIMIT)
    if line is None:
        line = next((found for found in (_place(each, candidate_file) for each in reversed(raised)) if found), None)
    return {"error_class": kind, "error": text_of(error, ERROR_LIMIT), "file": candidate_file if line else None,
            "line": line, "compiler_text": text_of(compiler_text, COMPILER_LIMIT),
            "traceback": traceback(exc, hidden)}
