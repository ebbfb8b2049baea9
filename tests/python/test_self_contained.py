"""Functions and classes become source that stands alone, or are refused by name and line."""
import ast
import functools
import importlib.util
import itertools
import linecache
import pickle
import sys
import textwrap
import types

import pytest

from kernelwright import judging
from kernelwright._source.collect import NotSelfContained, source_of

numbers = itertools.count()


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Imports a module with this text; returns the module. Other modules of the same test can be imported by name."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(text, name=None, raw=False):
        name = name or f"world_{next(numbers)}"
        path = tmp_path / f"{name}.py"
        data = text if raw else textwrap.dedent(text).lstrip("\n").encode()
        path.write_bytes(data)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module
    return make


def again(function, also=()):
    """The same function, executed from its source alone."""
    source = source_of(function, also)
    ast.parse(source.text)
    module = types.ModuleType("alone")
    sys.modules["alone"] = module  # data classes look their module up
    exec(compile(source.text, "alone.py", "exec"), vars(module))
    return vars(module)[source.entry]


def refusal(function):
    with pytest.raises(NotSelfContained) as refused:
        source_of(function)
    return refused.value


# ---- what is carried

def test_a_function_brings_what_it_refers_to(world):
    made = world("""
        import math
        from math import floor as down
        UNUSED = object()
        SCALE = 2 ** 5
        LIMITS = {"low": [1, 2.5, None], "high": (True,), "odd": {3, 4}}

        def helper(x):
            return math.sqrt(x) + down(SCALE / 3)

        def f(x):
            '''A text.'''
            return helper(x) + sum(LIMITS["low"][:2])
        """)
    assert again(made.f)(9) == made.f(9) == 16.5
    assert "UNUSED" not in source_of(made.f).text and "SCALE = 32" in source_of(made.f).text


@pytest.mark.parametrize("value", ['float("nan")', 'float("-inf")', "-0.0", "1e400", "complex(0, float('inf'))", "b'\\x00'",
                                   "'\\ud800'", "frozenset()", "set()", "...", "10 ** 400", "(1,)", "()", "'\\u2028'"])
def test_constants_keep_their_value(world, value):
    made = world(f"VALUE = {value}\ndef f(): return VALUE\n")
    assert repr(again(made.f)()) == repr(made.f())


def test_constants_have_the_value_of_the_moment(world):
    made = world("SIZE = 1\ndef f(): return SIZE\n")
    made.SIZE = 7
    assert again(made.f)() == 7


def test_helpers_may_call_each_other(world):
    made = world("""
        def even(n): return n == 0 or odd(n - 1)
        def odd(n): return n > 0 and even(n - 1)
        def f(n): return f(n - 1) if n > 10 else even(n)
        """)
    assert again(made.f)(12) is True


def test_definitions_come_before_their_use_at_import(world):
    made = world("""
        import functools

        def doubled(function):
            @functools.wraps(function)
            def wrapper(*values):
                return FACTOR * function(*values)
            return wrapper

        FACTOR = 2
        def default(): return 5

        @doubled
        def helper(x, more=default()):
            return x + more

        def f(x): return helper(x)
        f.__name__ = "another"
        """)
    assert again(made.f)(1) == made.f(1) == 12


def test_decorators_of_the_standard_library_are_kept(world):
    made = world("""
        from functools import lru_cache
        @lru_cache(maxsize=None)
        def helper(x): return x + 1
        def f(x): return helper(x), helper.cache_info().maxsize
        """)
    assert again(made.f)(1) == (2, None)


def test_a_global_may_hide_a_builtin(world):
    made = world("""
        def sum(values): return 42
        def f(x): return sum([x]) + max(1, 2)
        """)
    assert again(made.f)(1) == 44


def test_classes_bring_their_bases_and_fields(world):
    made = world("""
        import enum
        from dataclasses import dataclass, field
        from typing import ClassVar

        class Mode(enum.Enum):
            FAST = 1

        @dataclass(frozen=True)
        class Tile:
            rows: int = 4
            more: list = field(default_factory=list)
            kind: ClassVar[str] = "tile"

        TILE = Tile(rows=8)
        MODE = Mode.FAST

        class Base:
            def area(self): return TILE.rows * 2

        class Model(Base):
            size = len("abc")
            def __init__(self): super().__init__()
            @property
            def all(self): return self.area() + self.size + MODE.value
            @staticmethod
            def three(): return 3
        """)
    assert again(made.Model)().all == made.Model().all == 20


def test_annotations_are_carried_with_their_imports(world):
    made = world("""
        from typing import Optional as Maybe
        Pair = tuple[int, int]
        def f(x: Maybe[int], *, y: Pair = (1, 2)) -> "Nowhere": return x
        """)
    assert again(made.f)(3) == 3


def test_unevaluated_annotations_stay_unevaluated(world):
    made = world("""
        from __future__ import annotations
        import math
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from nowhere import Thing
        def f(x: Thing, y: math.Number = 1) -> Thing:
            z: Thing = x
            return z
        """)
    assert again(made.f)(3) == 3 and source_of(made.f).text.startswith("from __future__ import annotations")


def test_names_from_other_files_are_followed(world):
    world("""
        BASE = 10
        SHAPES = [range(3), range(BASE)]
        def inner(x): return x + BASE
        """, "own_helpers")
    world("from own_helpers import *\n", "own_more")
    made = world("""
        from own_helpers import inner as plus, SHAPES as sizes
        from own_more import *
        from math import *
        def f(x): return plus(x) + len(sizes) + floor(pi) + inner(0) + BASE
        """)
    assert again(made.f)(1) == made.f(1) == 36


def test_submodules_are_imported_as_in_the_file(world):
    made = world("""
        import os.path
        import xml.dom
        import xml.etree.ElementTree
        try:
            import json as js
        except ImportError:
            js = None
        def f(): return xml.etree.ElementTree.__name__ + os.path.sep + xml.dom.__name__ + js.dumps(1)
        """)
    assert again(made.f)() == made.f()


def test_unicode_names_and_windows_line_ends(world):
    text = "größe = 3\r\ndef π(x):\r\n    '''a\r\n    b'''\r\n    return x * größe\r\ndef f(x):\r\n    return π(x)\r\n"
    made = world(text.encode(), raw=True)
    assert again(made.f)(2) == 6 and "\r" not in source_of(made.f).text


def test_other_encodings_of_a_file(world):
    made = world("# coding: latin-1\nNAME = 'é'\ndef f(): return NAME, 'ü'\n".encode("latin-1"), raw=True)
    assert again(made.f)() == ("é", "ü")


def test_a_function_within_a_function_is_moved_to_the_margin(world):
    made = world('''
        OUTER = 4
        def make():
            def f(x):
                text = """one
            two
        three"""
                # a comment
                return text, OUTER, x
            return f
        f = make()
        ''')
    assert again(made.f)(1) == made.f(1)


def test_line_ends_of_other_kinds_do_not_move_lines(world):
    made = world("A = 'x\x0c y \u2028 z'\n\x0c\ndef f(): return A\n")
    assert again(made.f)() == made.f()


def test_the_functions_that_draw_inputs_come_along(world):
    made = world("""
        N = 4
        def get_inputs(): return [N]
        def f(x): return x
        """)
    text = source_of(made.f, ("get_inputs", "get_init_inputs")).text
    assert "def get_inputs" in text and "N = 4" in text and "get_init" not in text


BESIDE = """
    K = 3
    def helper(x): return K * x
    def f(x): return x
    def triton_kernel_backward(given, x): return helper(given)
    """


def test_a_kernel_brings_the_backward_function_of_its_module(world):
    made, names = world(BESIDE), {}
    row = judging.row_of(made.f, made.f, {"x": (4,)}, None, None)
    exec(row["kernel_code"], names)
    assert names["triton_kernel_backward"](2, 1) == 6 and row["kernel_entry"] == "f"


def test_a_reference_brings_no_backward_function(world):
    assert "backward" not in judging.row_of(world(BESIDE).f, world(BESIDE).f, {"x": (4,)}, None, None)["reference_code"]


def test_a_kernel_without_a_backward_function_brings_none(world):
    made = world("def f(x): return x")
    assert "backward" not in judging.row_of(made.f, made.f, {"x": (4,)}, None, None)["kernel_code"]


def test_a_backward_function_that_cannot_be_carried_is_refused(world):
    made = world("lock = object()\ndef f(x): return x\ndef triton_kernel_backward(given, x): return lock")
    with pytest.raises(NotSelfContained, match="lock"):
        judging.row_of(made.f, made.f, {"x": (4,)}, None, None)


def test_a_long_chain_and_a_large_file(world):
    chain = "".join(f"def f{number}(x): return f{number + 1}(x)\n" for number in range(1000))
    made = world(f"{chain}def f1000(x): return x\nTEXT = {'x' * 1_000_000!r}\ndef big(): return len(TEXT)\n")
    assert source_of(made.f0).text.count("def ") == 1001
    assert again(made.big)() == 1_000_000


def test_the_standard_library_is_imported():
    assert source_of(textwrap.dedent).text == "from textwrap import dedent\n"


def test_the_source_is_the_same_in_every_process(world):
    made = world("A = {'x', 'y', 'z'}\nB = 1\nC = 2\ndef g(): return A\ndef f(): return B, C, g()\n")
    assert source_of(made.f).text == ("B = 1\nC = 2\nA = {'x', 'y', 'z'}\n\n\ndef g(): return A\n\n\n"
                                      "def f(): return B, C, g()\n")


# ---- cells of a notebook

@pytest.fixture
def notebook():
    """Executes cells as IPython does: each has a file of its own, and `_ih` has their texts."""
    scope = {"__name__": "__main__", "_ih": [""], "get_ipython": lambda: None}

    def run(cell):
        cell = textwrap.dedent(cell).lstrip("\n")
        file = f"<cell-{next(numbers)}>"
        linecache.cache[file] = (len(cell), None, cell.splitlines(True), file)
        scope["_ih"].append(cell)
        exec(compile(cell, file, "exec"), scope)
        return scope
    return run


def test_cells_refer_to_each_other(notebook):
    notebook("import math\nSTEPS = [range(3), 2]\n")
    notebook("def helper(x): return math.floor(x) + len(STEPS)\n")
    assert again(notebook("def f(x): return helper(x)\n")["f"])(1.5) == 3


def test_a_name_that_a_later_cell_defines_again_is_the_later_one(notebook):
    notebook("STEPS = [range(1)]\ndef helper(): return 1\n")
    notebook("def f(): return helper(), len(STEPS)\n")
    scope = notebook("STEPS = [range(1), range(2)]\ndef helper(): return 2\n")
    assert again(scope["f"])() == (2, 2)


def test_an_older_function_beside_a_newer_one_of_its_name_is_refused(notebook):
    older = notebook("def f(n): return 0 if n == 0 else f(n - 1)\n")["f"]
    notebook("def f(n): return 1\n")
    assert "f stands for another object" in str(refusal(older))


def test_a_class_without_methods_is_found_in_its_cell(notebook):
    notebook("class Tile:\n    rows = 4\n")
    scope = notebook("def f(): return Tile.rows\n")
    assert again(scope["f"])() == 4
    notebook("class Tile:\n    rows = 5\n")
    assert "several definitions" in str(refusal(scope["f"]))


def test_interactive_input_without_source_is_refused():
    scope = {"__name__": "__main__"}
    exec(compile("def f(): return 1\n", "<stdin>", "exec"), scope)
    refused = refusal(scope["f"])
    assert "Python keeps no source of f" in str(refused) and (refused.name, refused.file, refused.line) == ("f", "<stdin>", 1)


def test_doctest_examples_have_source():
    import doctest
    example = ">>> import math\n>>> SIZE = 3\n>>> def f(x): return math.floor(x) + SIZE\n>>> again(f)(1.5)\n4\n"
    test = doctest.DocTestParser().get_doctest(example, {"again": again}, "example", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


# ---- what is refused

@pytest.mark.parametrize("text, name, words", [
    ("def make(scale):\n    def f(x): return x * scale\n    return f\nf = make(object())", "scale", "make scale a parameter"),
    ("f = lambda x: x", "<lambda>", "as `def NAME`"),
    ("pick = lambda x: x\ndef f(x): return pick(x)", "pick", "lambda"),
    ("import threading\nLOCK = threading.Lock()\ndef f():\n    with LOCK: pass", "LOCK", "_thread.lock"),
    ("def f(x):\n    from . import other\n    return other", ".", "relative import"),
    ("def f(): return nowhere", "nowhere", "not defined at the top level"),
    ("globals()['SIZES'] = [range(1)]\ndef f(): return SIZES", "SIZES", "bound at run time"),
    ("SIZES = [range(1)]\nSIZES = [range(2)]\ndef f(): return SIZES", "SIZES", "more than once"),
    ("if True:\n    SIZES = [range(1)]\ndef f(): return SIZES", "SIZES", "in a branch"),
    ("for each in [range(2)]: pass\ndef f(): return each", "each", "bound at run time"),
    ("def f(x, y=object()): return x", "y", "the default of f's parameter y"),
    ("def f(x, *, y=open('/dev/null')): return x", "y", "the default of f's parameter y"),
    ("def f(): return __file__", "__file__", "__file__"),
    ("class A:\n    def f(self): return 1\nf = A().f", "f", "method"),
    ("class A:\n    def f(self): return 1\nf = A.f", "f", "method"),
    ("class A:\n    def __call__(self): return 1\nf = A()", "world", "an object of the type"),
    ("import functools\ndef g(x): return x\nf = functools.partial(g, 1)", "functools.partial", "write a function that"),
    ("import functools\ndef g(x): return x\ng = functools.lru_cache(g)\ndef f(x): return g(x)", "g", "wrapped at"),
    ("def deco(fn):\n    def inner(*a): return fn(*a)\n    return inner\n@deco\ndef f(x): return x", "fn", "functools.wraps"),
    ("def outer():\n    n = 3\n    def f(x, y=n): return x\n    return f\nf = outer()", "n", "a name of the function"),
    ("LOOP = []\nLOOP.append(LOOP)\ndef f(): return LOOP", "LOOP", "too large"),
    ("f = len", "len", "builtin"),
    ("exec('def f(): return 1')", "f", ""),
])
def test_what_cannot_be_carried_is_named(world, text, name, words):
    made = world(text + "\n")
    refused = refusal(made.f)
    assert words in str(refused) and name in refused.name
    assert refused.line is None or f":{refused.line}: " in str(refused)
    assert pickle.loads(pickle.dumps(refused)).name == refused.name


def test_the_line_of_the_use_is_named(world):
    made = world("import threading\nLOCK = threading.Lock()\n\ndef g(x):\n    y = x\n    return LOCK\ndef f(x): return g(x)\n")
    refused = refusal(made.f)
    assert (refused.name, refused.line, refused.file) == ("LOCK", 6, made.__file__)


def test_modules_of_ones_own_are_refused(world):
    world("def g(x): return x\n", "own_module")
    for text in ("import own_module\ndef f(x): return own_module.g(x)\n", "def f(x):\n    import own_module\n    return x\n"):
        assert "own_module" in str(refusal(world(text).f)) and "import the functions" in str(refusal(world(text).f))


def test_a_builtin_of_one_file_that_another_file_defines_is_refused(world):
    world("def sum(values): return 42\ndef odd(x): return sum([x])\n", "own_sum")
    made = world("from own_sum import odd\ndef f(x): return sum([odd(x), 1])\n")
    assert "sum stands for another object" in str(refusal(made.f))


def test_two_helpers_of_one_name_are_refused(world):
    world("def helper(x): return 1\ndef one(x): return helper(x)\n", "own_one")
    world("def helper(x): return 2\ndef two(x): return helper(x)\n", "own_two")
    made = world("from own_one import one\nfrom own_two import two\ndef f(x): return one(x) + two(x)\n")
    assert "helper stands for another object" in str(refusal(made.f))


def test_a_file_that_changed_after_its_import_is_refused(world):
    made = world("def f(x): return x + 1\n")
    with open(made.__file__, "w") as file:
        file.write("def f(x): return x + 22\n")
    assert "the file changed" in str(refusal(made.f))


@pytest.mark.parametrize("edited", ["", "x + 22", "assert"])
def test_an_assertion_hides_no_change_of_the_file(world, edited):
    text = "def f(x):\n    assert x > 0\n    return x + 1\n"
    made = world(text)
    with open(made.__file__, "w") as file:
        file.write({"": text, "x + 22": text.replace("x + 1", "x + 22"), "assert": text.replace("x > 0", "x > 5")}[edited])
    if edited:
        assert "the file changed" in str(refusal(made.f))
    else:
        assert again(made.f)(1) == 2


def test_nothing_of_a_live_object_is_run(world):
    made = world("""
        class Trap:
            def __getattr__(self, name): raise SystemExit(name)
            def __eq__(self, other): raise SystemExit("eq")
            __hash__ = None
        TRAP = Trap()
        def f(): return TRAP
        """)
    assert "Trap" in str(refusal(made.f))


def test_an_assertion_that_pytest_rewrote_is_carried():
    assert again(with_assertion)(2) == 2


def with_assertion(x):
    assert x > 1, "small"
    return x


def test_a_partial_is_refused_with_its_function():
    assert "with_assertion" in str(refusal(functools.partial(with_assertion, 2)))


# ---- what runs is what is carried

CFG = """
    from dataclasses import dataclass
    @dataclass
    class Cfg:
        block: int
        warps: int = 4
    CFG = Cfg(64)
    """


@pytest.mark.parametrize("change", [
    "CFG.block = 128", "CFG.warps += 4", "setattr(CFG, 'block', 1)", "vars(CFG).update(block=1)", "del CFG.warps",
    "def g():\n    CFG.block = 128", "also = CFG\nalso.block = 2", "for each in [CFG]: object.__setattr__(each, 'warps', 5)",
    "def g(made): made.block = 2\ng(CFG)",
])
def test_an_object_that_is_changed_after_its_assignment_is_refused(world, change):
    refused = refusal(world(textwrap.dedent(CFG) + change + "\ndef f(): return CFG.block\n").f)
    assert refused.name == "CFG" and "write the final value" in str(refused).lower()


@pytest.mark.parametrize("change", [
    "PATS.append(range(4))", "PATS += [range(4)]", "PATS[0] = range(5)", "PATS.insert(0, range(1))", "PATS.sort(key=len)",
    "for number in range(2): PATS.append(range(number))", "globals()['PATS'].append(range(4))",
    "def more():\n    PATS.clear()",
])
def test_a_list_that_is_changed_after_its_assignment_is_refused(world, change):
    assert refusal(world(f"PATS = [range(3)]\n{change}\ndef f(): return PATS\n").f).name == "PATS"


def test_an_object_that_another_file_changes_is_refused(world):
    world(CFG, "own_config")
    made = world("from own_config import CFG\nCFG.block = 128\ndef f(): return CFG.block\n")
    assert refusal(made.f).name == "CFG"


def test_an_object_that_a_later_cell_changes_is_refused(notebook):
    notebook("PATS = [range(3)]\n")
    scope = notebook("def f(): return len(PATS)\n")
    assert again(scope["f"])() == 1
    notebook("PATS.append(range(4))\n")
    assert refusal(scope["f"]).name == "PATS"


def test_changes_of_other_objects_of_the_name_are_none(world):
    made = world(textwrap.dedent(CFG) + textwrap.dedent("""
        PATS = [range(3)]
        NUMBERS = [1]
        NUMBERS.append(2)
        def grow(PATS, CFG):
            PATS.append(range(4))
            CFG.block = 7
            return PATS
        def local():
            PATS = []
            PATS.append(3)
            return PATS
        def f(): return CFG.block, CFG.warps, len(PATS), NUMBERS, local(), grow([], Cfg(1))
        def named(): return 1
        named.__name__ = "other"
        def g(): return named()
        """))
    assert again(made.f)() == made.f() and again(made.g)() == 1


DECORATORS = """
    import functools
    def plain(function): return function
    def twice(function):
        @functools.wraps(function)
        def wrapper(*values): return 2 * function(*values)
        return wrapper
    """


@pytest.mark.parametrize("text", [
    "@plain\ndef k(): return 1\nk = twice(k)\ndef f(): return k()",
    "@twice\ndef k(): return 1\nk = k.__wrapped__\ndef f(): return k()",
    "@plain\ndef k(): return 1\nif True:\n    tuned = twice(k)\ndef f(): return tuned()",
    "@twice\ndef k(): return 1\nglobals()['k'] = twice(k)\ndef f(): return k()",
    "@twice\ndef f(): return 1\nf = f.__wrapped__",
    "@twice\ndef f(): return 1\nf = twice(f)",
    "class A:\n    size = 1\nA = plain(A)\ndef f(): return A.size",
])
def test_a_wrapper_that_no_definition_made_is_refused(world, text):
    refused = refusal(world(textwrap.dedent(DECORATORS) + text + "\n").f)
    assert "wrapped at run time" in str(refused) and "decorator" in str(refused)


@pytest.mark.parametrize("text, value", [
    ("@plain\ndef k(): return 1\ntuned = twice(k)\ndef f(): return tuned()", 2),
    ("def k(): return 1\ntuned = twice(k)\ndef f(): return tuned() + k()", 3),
    ("@twice\ndef k(): return 1\nraw = k.__wrapped__\ndef f(): return raw() + k()", 3),
    ("@twice\ndef k(): return 1\nalso = k\ndef f(): return also()", 2),
    ("def k(): return 1\nf = twice(k)", 2),
    ("@plain\n@twice\ndef k(): return 1\nf = k", 2),
    ("def make():\n    @plain\n    def k(): return 1\n    return twice(k)\nf = make()", 2),
    ("def make(n):\n    def k(): return n\n    return k\nthree = make(3)\ndef f(): return three()", 3),
])
def test_an_assignment_that_makes_a_function_is_carried(world, text, value):
    made = world(textwrap.dedent(DECORATORS) + text + "\n")
    assert again(made.f)() == made.f() == value


def test_an_assignment_in_another_file_is_carried(world):
    world(textwrap.dedent(DECORATORS) + "@plain\ndef k(): return 1\ntuned = twice(k)\n", "own_tuned")
    made = world("from own_tuned import tuned as best\ndef f(): return best()\n")
    assert again(made.f)() == made.f() == 2


@pytest.mark.parametrize("text, name", [
    ("N = 4\ndef f(x=0, n=N): return n\nN = 8", "n"),
    ("N = 4\ndef f(*, n=N): return n\nN = 8", "n"),
    ("def f(n=4): return n\nf.__defaults__ = (5,)", "n"),
    ("def f(n): return n\nf.__defaults__ = (5,)", "f"),
    ("def f(n=4): return n\nf.__defaults__ = None", "n"),
    ("N = 4\nclass f:\n    size = [0] * N\nN = 8", "N"),
    ("N = [4]\nclass f:\n    size = len(N)\nN.append(8)", "N"),
    ("import functools\nN = 4\n@functools.lru_cache(N)\ndef f(): return 1\nN = 8", "N"),
    ("import functools\nN = 4\n@functools.lru_cache(N)\ndef f(): return 1\ndef g():\n    global N\n    N = 8\ng()", "N"),
    ("N = 4\nSIZES = [range(N)]\nN = 8\ndef f(): return SIZES", "N"),
])
def test_names_that_changed_after_a_definition_evaluated_them_are_refused(world, text, name):
    refused = refusal(world(text + "\n").f)
    assert refused.name == name and refused.line is not None


@pytest.mark.parametrize("text", [
    "N = 4\nN = 8\ndef f(n=N): return n",
    "N = 4\nif N > 5:\n    N = 8\ndef f(n=N): return n",
    "try:\n    N = 4\nexcept OSError:\n    N = 8\ndef f(n=N, m=-1, k=(N, 2.5), *, o=None): return n, m, k, o",
    "N = 4\ndef f(): return N\nN = 8",
    "N = 4\nclass A:\n    size = [0] * N\nN = 4\ndef f(): return A.size",
    "N = 4\ndef g(N=5): return N\ndef f(n=N):\n    N = 3\n    return n, g(N)",
])
def test_names_that_a_definition_evaluates_are_carried(world, text):
    made = world(text + "\n")
    assert again(made.f)() == made.f()


def test_a_constant_that_a_cell_binds_again_is_refused_where_its_value_changed(notebook):
    notebook("N = 4\n")
    scope = notebook("class A:\n    size = [0] * N\ndef f(): return A.size\n")
    notebook("N = 4\n")
    assert again(scope["f"])() == [0] * 4
    notebook("N = 8\n")
    assert refusal(scope["f"]).name == "N"


@pytest.mark.parametrize("before, after", [
    ("scale = 2", "scale = 5"), ("scale: int = 2", "scale: int = 5"), ("__scale = 2", "__scale = 5"),
    ("sizes = [1, (2, 3)]", "sizes = [1, (2, 4)]"), ("class Inner:\n        size = 1", "class Inner:\n        size = 2"),
    ("scale = 2", "scale = 2; more = 3"),
])
def test_a_class_whose_text_changed_is_refused(world, before, after):
    text = "class f:\n    {}\n    def area(self): return 1\n"
    made = world(text.format(before))
    with open(made.__file__, "w") as file:
        file.write(text.format(after))
    refused = refusal(made.f)
    assert "not what its text gives" in str(refused) and refused.line is not None


@pytest.mark.parametrize("change", ["A.scale = 5", "A.more = 5", "setattr(A, 'scale', 5)", "del A.scale", "A.sizes.append(3)",
                                    "A.area = lambda self: 2", "globals()['A'].scale = 5", "globals()['A'].more = 5"])
def test_a_class_that_is_changed_after_its_definition_is_refused(world, change):
    text = "class A:\n    scale = 2\n    sizes = [1]\n    def area(self): return 1\n"
    assert "A" in str(refusal(world(f"{text}{change}\ndef f(): return A\n").f))


def test_classes_of_all_kinds_are_as_their_text(world):
    made = world("""
        import abc
        import enum
        import functools
        from dataclasses import dataclass, field
        from typing import ClassVar, Generic, NamedTuple, TypeVar
        T = TypeVar("T")
        SIZE = 3
        class Pair(NamedTuple):
            a: int
            b: int = 4
        class Mode(enum.IntEnum):
            FAST = 1
            SLOW = enum.auto()
            @property
            def speed(self): return -self.value
        class Flags(enum.Flag):
            A = 1
            B = 2
            C = A | B
        @dataclass(slots=True)
        class Slim:
            x: int = 5
            y: list = field(default_factory=list)
        @dataclass
        class Wide:
            x: int
            z: tuple = (1, 2)
            kind: ClassVar[str] = "w"
        class Slots:
            __slots__ = ("a", "__dict__")
            def __init__(self): self.a = 1
        class Abstract(abc.ABC):
            limit = SIZE
            __private = 1.5
            @abc.abstractmethod
            def g(self): ...
        class Box(Abstract, Generic[T]):
            SIZE = 9
            sizes = [SIZE, SIZE]
            for each in range(2): last = each
            try: import json as js
            except ImportError: js = None
            class Inner:
                size = 1
            def g(self): return self.limit + self.last + self.Inner.size + len(self.sizes)
            h = g
            @functools.cached_property
            def cached(self): return 7
            @classmethod
            def c(cls): return cls.SIZE
        def f():
            return (Pair(1), Mode.SLOW.speed, Flags.C.value, Slim().x, Wide(1).z, Slots().a, Box().g(), Box().h(), Box().cached,
                    Box.c(), Box.limit)
        """)
    assert again(made.f)() == made.f()


ORDINARY = """
    import torch
    import triton
    import triton.language as tl
    BLOCK = 64
    if BLOCK > 100:
        BLOCK = 128
    LOG2E: tl.constexpr = tl.constexpr(1.44269504)
    MANY = [triton.Config({"B": b}, num_warps=w) for b in (64, 128) for w in (4, 8)]
    FEW = [triton.Config({"B": BLOCK}, num_warps=4), triton.Config(kwargs={"B": 32}, num_stages=2)]
    DTYPES = {torch.float32: tl.float32}

    @triton.autotune(configs=MANY + FEW, key=["n"])
    @triton.heuristics({"EVEN": lambda given: given["n"] % given["B"] == 0})
    @triton.jit
    def add(x, o, n, B: tl.constexpr, EVEN: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, mask=i < n) * LOG2E, mask=i < n)

    def raw(x, o, n, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)

    kernel = triton.jit(raw)
    tuned = triton.autotune(configs=FEW, key=["n"])(kernel)

    def f(x, block=BLOCK, dtype=torch.float32, limit=-1.5, configs=FEW):
        o = torch.empty_like(x)
        add[(1,)](x, o, x.numel())
        kernel[(1,)](x, o, x.numel(), B=block)
        tuned[(1,)](x, o, x.numel())
        return o.to(dtype)
    """


def test_an_ordinary_file_of_kernels_is_carried(world):
    pytest.importorskip("triton")
    text = source_of(world(ORDINARY).f).text
    for line in ("BLOCK = 64", "kernel = triton.jit(raw)", 'tuned = triton.autotune(configs=FEW, key=["n"])(kernel)',
                 "def raw(", "@triton.autotune(configs=MANY + FEW", "LOG2E: tl.constexpr = tl.constexpr(1.44269504)"):
        assert line in text


@pytest.mark.parametrize("change", ["FEW[0].kwargs['B'] = 16", "FEW[1].num_stages = 3", "LOG2E.value = 2", "MANY.pop()",
                                    "tuned.configs.pop()", "add.configs = FEW", "globals()['FEW'][1].num_warps = 8",
                                    "raw = kernel", "kernel = triton.jit(raw, debug=True)"])
def test_an_ordinary_file_that_changes_what_it_made_is_refused(world, change):
    pytest.importorskip("triton")
    refused = refusal(world(textwrap.dedent(ORDINARY) + change + "\n").f)
    words = ("changed after", "gives now", "another value now", "wrapped at run time")
    assert refused.line is not None and any(each in str(refused) for each in words)
