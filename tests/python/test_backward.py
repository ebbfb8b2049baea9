"""A runner calls a candidate's backward pass in each of its ways, with all that holds in the forward pass."""
import types

import pytest
from fork_client import Server
from oracle_world import module, request, session  # noqa: F401

from kernelwright._engine import wire
from kernelwright._engine.wire import Backward, made, text

HEAD = """import torch, triton, triton.language as tl
"""
SCALE = HEAD + """
@triton.jit
def scale_kernel(x, w, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) * tl.load(w + at, mask=inside), mask=inside)

def scaled(x, w):
    out = torch.empty(x.shape, device="cuda")
    scale_kernel[(1,)](x, w, out, x.numel(), BLOCK=32)
    return out

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return scaled(x, w)

    @staticmethod
    def backward(ctx, given):
        x, w = ctx.saved_tensors
        BACKWARD
"""
RIGHT = "given = given.contiguous(); return scaled(given, w), scaled(given, x)"
WRAPPER = """
def triton_kernel_wrapper(x, w):
    return Scale.apply(x, w)
"""
MODULE = """
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(4, 8))
    def forward(self, x):
        return Scale.apply(x, self.w)
"""
REFERENCE = module("return x * self.w", init="self.w = torch.nn.Parameter(torch.randn(4, 8))")
WAYS = (Backward.once, Backward.strided, Backward.retained, Backward.partial, Backward.expanded)
WEIGHT = "gradient of parameter w"


@pytest.fixture(scope="module")
def interpreter():
    server = Server("interpret")
    yield server
    assert server.close() == 0


@pytest.fixture
def world(interpreter, session):
    """A function that judges one call of a candidate for REFERENCE: the JudgedT, or a FailedT."""
    def called(code, way=Backward.once, reference=REFERENCE, **more):
        _, spec = session.prepare(request(backward=True), reference)
        runner = interpreter.spawn()
        arena = session.draw(made(wire.DrawT, trial=0, seed=7, slot=0, expanded=way == Backward.expanded))
        task = types.SimpleNamespace(spec=wire.from_bytes("CallSpec", spec), arena=arena)
        answer = runner.load(code, task)
        assert isinstance(answer, wire.LoadedT), vars(answer)
        answer = runner.call(task, backward=way, **more)
        if isinstance(answer, wire.FailedT):
            return answer
        found = session.judge(made(wire.JudgeT, trial=0, seed=7, outputs=answer.outputs))
        found.launches = answer.launchCount
        return found
    return called


def scale(backward, convention=WRAPPER):
    return SCALE.replace("BACKWARD", backward) + convention


@pytest.mark.parametrize("convention", [WRAPPER, MODULE], ids=["wrapper", "module"])
@pytest.mark.parametrize("way", WAYS)
def test_right_gradients_are_right_in_each_way(world, way, convention):
    found = world(scale(RIGHT, convention), way)
    assert found.right, text(found.error)


@pytest.mark.parametrize("way, launches", list(zip(WAYS, (3, 3, 6, 6, 3))))
def test_the_ways_differ_in_their_passes(world, way, launches):
    assert world(scale(RIGHT), way).launches == launches


def test_strides_are_other_ones_in_one_way_alone(world):
    assumes = scale("return scaled(given, w), scaled(given, x)")
    assert [world(assumes, way).right for way in WAYS[:4]] == [True, False, True, True]
    assert "beyond every tensor" in text(world(assumes, Backward.expanded).error)


def test_what_the_first_pass_spoils_shows_in_the_second(world):
    spoils = scale("given = given.contiguous(); found = scaled(given, w), scaled(given, x); ctx.seen = getattr(ctx, 'seen', 0) "
                   "+ 1; return found[0] * ctx.seen, found[1]")
    assert [world(spoils, way).right for way in WAYS] == [True, True, False, True, True]


def test_a_workspace_of_all_forward_passes_shows_where_one_lies_between(world):
    shares = scale(RIGHT.replace("scaled(given, x)", "scaled(given, WORK['x'])")).replace(
        "ctx.save_for_backward(x, w)", "ctx.save_for_backward(x, w); WORK.setdefault('x', torch.empty_like(x)).copy_(x)")
    assert [world("WORK = {}\n" + shares, way).right for way in WAYS] == [True, True, False, True, True]


def test_a_backward_that_needs_all_gradients_at_once_is_wrong_in_part(world):
    hasty = scale("if not all(ctx.needs_input_grad): return None, None\n        " + RIGHT)
    assert [world(hasty, way).right for way in WAYS] == [True, True, True, False, True]


def test_a_call_that_autograd_does_not_see_has_no_gradient(world):
    found = world(scale(RIGHT, "\ndef triton_kernel_wrapper(x, w):\n    return scaled(x, w)\n"))
    assert text(found.errorClass) == "no_gradient" and "torch.autograd.Function" in text(found.error)


def test_a_module_without_the_parameter_lacks_its_gradient(world):
    found = world(scale(RIGHT, MODULE.replace("self.w", "self.v")))
    assert text(found.errorClass) == "no_gradient" and text(found.error).startswith(f"no {WEIGHT}: the candidate has neither")


def test_an_unused_parameter_may_lack_its_gradient(world):
    reference = module("return x * self.w", init="self.w = torch.nn.Parameter(torch.randn(4, 8)); "
                       "self.u = torch.nn.Parameter(torch.randn(3))")
    assert world(scale(RIGHT), reference=reference).right


def test_an_error_in_the_backward_is_the_candidates(world):
    found = world(scale("raise ValueError('no such gradient')"))
    assert text(found.stage) == "run" and "no such gradient" in text(found.error) and found.line > 0


def test_a_gradient_of_another_shape_is_the_candidates_error(world):
    found = world(scale("return given[:1], given"))
    assert text(found.stage) == "run" and "invalid gradient" in text(found.error)


def test_wrong_outputs_are_named_before_their_gradients(world):
    found = world(scale(RIGHT, "\ndef triton_kernel_wrapper(x, w):\n    return Scale.apply(x, w)[:2]\n"))
    assert text(found.errorClass) == "wrong_shape"


def test_memory_is_poisoned_in_the_backward_too(world):
    leftovers = scale("return scaled(given.contiguous(), w), torch.empty(4, 8, device='cuda')")
    assert text(world(leftovers, poison="nan").errorClass) == "nonfinite"


def test_memory_is_poisoned_in_a_backward_that_the_candidate_runs_itself(world):
    nested = scale("return given, given", """
def triton_kernel_wrapper(x, w):
    with torch.enable_grad():
        copy = x.detach().requires_grad_()
        Empty.apply(copy).sum().backward()
    return x * w + copy.grad * 0

class Empty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, given):
        return torch.empty(given.shape, device="cuda")
""")
    assert text(world(nested, poison="nan").errorClass) == "nonfinite"


def test_launches_of_the_backward_can_be_skipped(world):
    by_torch = world(scale("return given * w, given * x"), effect=wire.Effect.skipped)
    assert not by_torch.right and by_torch.launches == 0


def test_a_row_that_is_used_twice_has_one_gradient(world):
    reference = module("return x * self.w + x", init="self.w = torch.nn.Parameter(torch.randn(4, 8))")
    code = scale(RIGHT, "\ndef triton_kernel_wrapper(x, w):\n    return Scale.apply(x, w) + x\n")
    assert all(world(code, way, reference).right for way in WAYS)


def test_an_expanded_cotangent_has_strides_of_zero(world):
    strides = scale("raise ValueError(str(given.stride()))")
    assert "(0, 0)" in text(world(strides, Backward.expanded).error)
    rows = module("return torch.softmax(x * self.w, -1)", init="self.w = torch.nn.Parameter(torch.randn(4, 8))")
    code = scale("raise ValueError(str(given.stride()))", "\ndef triton_kernel_wrapper(x, w):\n"
                 "    return Other.apply(torch.softmax(scaled(x, w), -1), x)\n\nclass Other(Scale):\n    @staticmethod\n"
                 "    def forward(ctx, x, w):\n        ctx.save_for_backward(x, w)\n        return x.clone()\n")
    assert "(0, 1)" in text(world(code, Backward.expanded, rows).error)


MARKED = """
from kernelwright._engine import backward as engine
order = []
engine.between_passes = lambda: order.append("marker")

def noted(what, found):
    order.append(what)
    return found
"""


def test_the_marker_lies_between_both_passes(world):
    marked = scale("given = given.contiguous(); right = order == ['forward', 'marker']; "
                   "return scaled(given, w) * right, scaled(given, x)")
    found = world(marked.replace("return scaled(x, w)", "return noted('forward', scaled(x, w))") + MARKED)
    assert found.right, text(found.error)
