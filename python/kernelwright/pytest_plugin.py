"""A pytest plugin: the fixture `assert_kernel_correct` judges kernels by the verifier. Documented in docs/python-api.md.

def test_softmax(assert_kernel_correct):
    assert_kernel_correct(softmax_reference, softmax, shapes=[{"x": (64, 250)}, {"x": (1, 7)}], dtypes=["float32", "float16"])

pytest imports this module at every start, so it imports nothing but pytest until a test uses the fixture.
"""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .verdict import Verdict

SETTINGS = {
    "device": "the device that judges: auto, cpu, cuda or cuda:N",
    "evaluator": "the evaluator: local, modal, ray or the URL of a service",
    "jobs": "the number of kernels judged at a time; with pytest-xdist by default a worker's share of the cores",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kernelwright", "kernelwright: verdicts on GPU kernels")
    for name, about in SETTINGS.items():
        group.addoption(f"--kernelwright-{name}", metavar=name.upper(), help=about)
        parser.addini(f"kernelwright_{name}", f"default of --kernelwright-{name}: {about}")
    strict = "fail instead of skip where a verdict says nothing about the kernel"
    group.addoption("--kernelwright-strict", action="store_true", default=None, help=strict)
    parser.addini("kernelwright_strict", f"default of --kernelwright-strict: {strict}", type="bool", default=False)


@pytest.fixture
def assert_kernel_correct(request: pytest.FixtureRequest) -> KernelAssertion:
    """A function that judges a kernel for each shape and dtype, and fails with the words of the terminal."""
    return KernelAssertion(request.config)


class KernelAssertion:
    """Call it with a reference and a kernel. Returns the verdicts, in the order of the shapes."""

    def __init__(self, config: pytest.Config) -> None:
        self._evaluator = _setting(config, "evaluator") or None
        self._is_strict = config.getoption("--kernelwright-strict") or config.getini("kernelwright_strict")
        self._options = []
        for name in ("device", "jobs"):
            if value := _setting(config, name):
                self._options += [f"--{name}", value]
        if "--jobs" not in self._options and (share := _share_of_cores()):
            self._options += ["--jobs", str(share)]

    def __call__(self, reference: Any, kernel: Any, shapes: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None,
                 dtypes: Any = None, options: Sequence[str] = (), *, entry_point: str | None = None,
                 kernel_entry: str | None = None) -> list[Verdict]:
        """`shapes` maps the reference's parameters to shapes, or is a list of such mappings; without it, get_inputs draws the
        inputs. `dtypes` is one or several dtypes of the inputs for which a mapping names none: every shape is judged with
        every dtype, in one run. `options` are further arguments of `kernelwright verify`; the others are those of judge().

        Raises AssertionError where a kernel is wrong, broken, or right without proving anything, and where the test itself is
        at fault: its reference or its shapes do not work. Skips the test where neither holds, and a verdict says nothing about
        the kernel."""
        __tracebackhide__ = True
        from .judging import judge_shapes
        from .words import explained, in_short
        cases = list(_cases(shapes, dtypes))
        verdicts = judge_shapes(reference, kernel, cases, entry_point=entry_point, kernel_entry=kernel_entry,
                                evaluator=self._evaluator, options=[*self._options, *map(str, options)])
        open_ones = [each for each in verdicts if not each.correct]
        blamed = [each for each in open_ones if each.blames_kernel or each.fault == "task"]
        if blamed or (open_ones and self._is_strict):
            raise AssertionError(explained(open_ones))
        if open_ones:
            pytest.skip("; ".join(f"{in_short(each)}: {_one_line(each.error)}" for each in open_ones))
        return verdicts


def _setting(config: pytest.Config, name: str) -> str:
    given = config.getoption(f"--kernelwright-{name}")
    return str(given if given is not None else config.getini(f"kernelwright_{name}") or "")


def _share_of_cores() -> int | None:
    """A worker's share of the cores under pytest-xdist, whose workers would otherwise each use all of them."""
    workers = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "")
    if not workers.isdigit() or int(workers) < 2:
        return None
    return max(1, len(os.sched_getaffinity(0)) // int(workers))


def _cases(shapes: Any, dtypes: Any) -> Iterable[tuple[str, Mapping[str, Any] | None]]:
    """(id, inputs) of every shape with every dtype."""
    from .judging import normalised_inputs
    if shapes is None:
        if dtypes is not None:
            raise TypeError("dtypes needs shapes: get_inputs determines the dtypes of what it draws")
        yield "kernel", None
        return
    each_shape = [shapes] if isinstance(shapes, Mapping) else list(shapes)
    if not each_shape or not all(isinstance(each, Mapping) and each for each in each_shape):
        raise TypeError("shapes is a mapping of the reference's parameters to shapes, or a list of such mappings: "
                        '{"x": (64, 250)}')
    each_dtype = [None] if dtypes is None else list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes]
    used: dict[str, int] = {}
    for shape in each_shape:
        for dtype in each_dtype:
            inputs = {name: each if dtype is None or _has_dtype(each) else (_as_shape(each), dtype)
                      for name, each in shape.items()}
            name = _id_of(normalised_inputs(inputs) or {})
            used[name] = used.get(name, 0) + 1
            yield (name if used[name] == 1 else f"{name}~{used[name]}"), inputs


def _has_dtype(value: Any) -> bool:
    if isinstance(value, Mapping):
        return "dtype" in value
    if isinstance(value, int):
        return False
    return hasattr(value, "dtype") or (len(value) == 2 and not isinstance(value[0], int))


def _as_shape(value: Any) -> Any:
    return [value] if isinstance(value, int) else value["shape"] if isinstance(value, Mapping) else value


def _id_of(inputs: Mapping[str, Mapping[str, Any]]) -> str:
    """"x=float32[64,250] y=int64[64]"."""
    return " ".join(f"{name}={each['dtype']}[{','.join(map(str, each['shape']))}]" for name, each in inputs.items())


def _one_line(text: str | None) -> str:
    from .words import visible
    return visible(" ".join((text or "").split()))[:300]
