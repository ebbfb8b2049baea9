"""Every exception of a candidate becomes plain facts of limited length."""
import pytest

from kernelwright._engine import errors

FILE = "/candidate.py"


def facts_of(exc):
    """describe() of an exception that was raised from a file named FILE."""
    scope = {"exc": exc}
    try:
        exec(compile("def go():\n    raise exc\ngo()", FILE, "exec"), scope)
    except BaseException as raised:
        return errors.describe(raised, FILE, [])
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("exc, kind", [
    (ValueError("x"), "runtime_error"), (SystemExit(3), "runtime_error"), (KeyboardInterrupt(), "runtime_error"),
    (ModuleNotFoundError("No module named 'x'"), "import_error"), (SyntaxError("bad"), "syntax_error"),
    (MemoryError(), "out_of_memory"), (errors.Unsupported("Gluon"), "unsupported_candidate"),
    (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), "out_of_memory"),
    (RuntimeError("Triton Error [CUDA]: out of memory"), "out_of_memory"),
    (RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"), "out_of_memory"),
    (RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasGemmEx(...)`"), "runtime_error"),
    (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), "out_of_memory"),
    (RuntimeError("CUDA error: an illegal memory access was encountered"), "illegal_memory_access"),
    (RuntimeError("Triton Error [CUDA]: misaligned address"), "illegal_memory_access"),
    (NotImplementedError("inline_asm not supported in interpreter mode"), "unsupported_candidate"),
    (NotImplementedError(), "runtime_error"),
    (errors.OutOfBounds("load", "k", 2, 1, 4, "beyond"), "out_of_bounds"),
])
def test_class(exc, kind):
    assert facts_of(exc)["error_class"] == kind


def test_torch_out_of_memory():
    import torch
    assert facts_of(torch.cuda.OutOfMemoryError("CUDA out of memory."))["error_class"] == "out_of_memory"


def test_triton_errors():
    from triton.runtime.errors import InterpreterError, OutOfResources, PTXASError
    assert facts_of(OutOfResources(300000, 232448, "shared memory"))["error_class"] == "out_of_resources"
    assert facts_of(PTXASError("ptxas fatal"))["error_class"] == "compile_error"
    wrapped = InterpreterError("text")
    wrapped.__cause__ = ImportError("inner")
    assert facts_of(wrapped)["error_class"] == "import_error" and facts_of(wrapped)["error"] == "ImportError: inner"


def test_place_is_the_innermost_line_of_the_candidate():
    facts = facts_of(ValueError("x"))
    assert facts["file"] == FILE and facts["line"] == 2
    assert 'File "/candidate.py", line 3' in facts["traceback"]


def test_syntax_error_has_its_line():
    try:
        compile("x = 1\ny = = 2\n", FILE, "exec")
    except SyntaxError as exc:
        facts = errors.describe(exc, FILE, [])
    assert facts["error_class"] == "syntax_error" and facts["line"] == 2


def test_own_frames_are_left_out():
    facts = None
    try:
        exec(compile("raise ValueError", FILE, "exec"))
    except ValueError as exc:
        facts = errors.describe(exc, FILE, [__file__])
    assert __file__ not in facts["traceback"] and FILE in facts["traceback"]


class RaisingText(Exception):
    def __str__(self):
        raise KeyboardInterrupt

    __repr__ = __str__


class NoText(Exception):
    def __str__(self):
        return 7


class Sly(str):
    def __getitem__(self, at):
        return "x" * 10**6

    encode = __len__ = __getitem__


class SlyText(Exception):
    def __str__(self):
        return Sly("plain")


class LyingClass(Exception):
    @property
    def __class__(self):
        raise RuntimeError("no class")

    @property
    def __cause__(self):
        raise RuntimeError("no cause")

    @property
    def __traceback__(self):
        raise RuntimeError("no traceback")


def test_text_that_raises():
    assert "unavailable" in facts_of(RaisingText())["error"]


def test_text_that_is_no_text():
    assert "unavailable" in facts_of(NoText())["error"]


def test_a_subclass_of_str_is_read_as_plain_text():
    facts = facts_of(SlyText())
    assert facts["error"] == "SlyText: plain" and type(facts["error"]) is str


def test_an_exception_that_lies_about_itself():
    assert facts_of(LyingClass("x"))["error"] == "LyingClass: x"


def test_causes_in_a_ring():
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert facts_of(first)["error"] == "ValueError: first"


def test_everything_is_bounded():
    facts = facts_of(ValueError("y" * 10**7))
    assert len(facts["error"]) <= 2000 and len(facts["traceback"]) <= 8000 and len(facts["compiler_text"]) <= 8000


def test_deep_recursion_is_bounded():
    scope = {}
    exec(compile("def go():\n    go()\n", FILE, "exec"), scope)
    try:
        scope["go"]()
    except RecursionError as exc:
        facts = errors.describe(exc, FILE, [])
    assert len(facts["traceback"]) <= 8000 and facts["line"] == 2


def test_lone_surrogates_do_not_leave():
    facts_of(ValueError("\ud800"))["error"].encode("utf-8")


def test_the_line_of_an_exception_in_the_interpreter(interpret):
    facts = interpret("""
@triton.jit
def k(o):
    v = tl.load(o)
    tl.store(o, v.nothing)
def go():
    k[(1,)](torch.zeros(1))
""")
    assert facts["error_class"] == "runtime_error" and facts["line"] == 5 and "nothing" in facts["error"]
    assert "kernelwright" not in facts["traceback"]


def test_exit_in_a_candidate(interpret):
    facts = interpret("def go():\n    raise SystemExit(0)\n")
    assert not facts["ok"] and facts["error_class"] == "runtime_error"


def test_an_imitated_compilation_error():
    from triton.compiler.errors import CompilationError

    class Imitation(CompilationError):
        def __init__(self):
            pass

        @property
        def node(self):
            raise RuntimeError("no node")

        src = error_message = node

        def __str__(self):
            return "x"

    assert facts_of(Imitation())["error"] == "Imitation: x"
