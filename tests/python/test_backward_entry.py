"""A candidate's own backward function is called with cotangents and arguments, and judged as a backward pass is."""
import pytest
from oracle_world import module, session  # noqa: F401
from test_backward import MARKED, SCALE, WAYS, WEIGHT, interpreter, world  # noqa: F401

from kernelwright._engine.wire import Backward, text

INPUT = "gradient of input x"
FORWARD = """
def triton_kernel_wrapper(x, w):
    return scaled(x, w)
"""
OF_MODULE = """
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(4, 8))
    def forward(self, x):
        return scaled(x, self.w)
"""
RIGHT = """
def triton_kernel_backward(given, x, w):
    given = given.contiguous()
    return scaled(given, w), scaled(given, x)
"""


def code(backward, forward=FORWARD):
    """A candidate with this backward function."""
    return SCALE.split("class Scale")[0] + forward + backward


@pytest.mark.parametrize("forward", [FORWARD, OF_MODULE], ids=["wrapper", "module"])
@pytest.mark.parametrize("way", WAYS)
def test_right_gradients_are_right_in_each_way(world, way, forward):
    found = world(code(RIGHT, forward), way)
    assert found.right, text(found.error)


@pytest.mark.parametrize("way, launches", list(zip(WAYS, (3, 3, 5, 3, 3))))
def test_launches_of_both_functions_are_counted(world, way, launches):
    assert world(code(RIGHT), way).launches == launches


def test_a_wrong_gradient_is_named(world):
    found = world(code(RIGHT.replace("scaled(given, x)", "scaled(given, w)")))
    assert text(found.errorClass) == "wrong_value" and text(found.error).startswith(f"{WEIGHT}: ")


@pytest.mark.parametrize("returned, name", [
    ("None", INPUT), ("scaled(given, w)", WEIGHT), ("(scaled(given, w),)", WEIGHT), ("(None, scaled(given, x))", INPUT),
    ("(scaled(given, w), 3)", WEIGHT)])
def test_a_missing_gradient_is_named(world, returned, name):
    found = world(code(f"\ndef triton_kernel_backward(given, x, w):\n    return {returned}\n"))
    assert text(found.errorClass) == "no_gradient" and text(found.error).startswith(f"no {name}")
    assert "triton_kernel_backward returns no tensor for it" in text(found.error)


def test_a_weight_that_it_does_not_take_has_no_gradient(world):
    found = world(code("\ndef triton_kernel_backward(given, x):\n    return given\n"))
    assert text(found.errorClass) == "no_gradient" and "has no parameter for it" in text(found.error)


def test_more_gradients_than_arguments_are_refused(world):
    found = world(code("\ndef triton_kernel_backward(given, x, w):\n    return scaled(given, w), scaled(given, x), given\n"))
    assert text(found.errorClass) == "wrong_structure" and "3 gradients for 2 arguments" in text(found.error)


@pytest.mark.parametrize("backward", [
    "\ndef triton_kernel_backward(given, x, w, eps=1e-5):\n    return scaled(given, w), scaled(given, x), None\n",
    "\ndef triton_kernel_backward(given, x, eps=1e-5, *, w):\n    return scaled(given, w), None, scaled(given, x)\n",
    "\ndef triton_kernel_backward(*every):\n    return [scaled(every[0], every[2]), scaled(every[0], every[1])]\n",
    "\ndef triton_kernel_backward(given, w, x):\n    return scaled(given, x), scaled(given, w)\n"])
def test_gradients_have_the_places_of_the_parameters(world, backward):
    found = world(code(backward))
    assert found.right, text(found.error)


def test_each_tensor_of_a_list_has_a_gradient(world):
    reference = module("return xs[0] * xs[1] * n", "[[torch.randn(4, 8), torch.randn(4, 8)], 2]", parameters="self, xs, n")
    both = code("\ndef triton_kernel_backward(given, xs, n):\n    return [scaled(given, xs[1]) * n, scaled(given, xs[0]) * n]"
                .replace("return [", "return ([").replace("* n]", "* n], None)") + "\n",
                "\ndef triton_kernel_wrapper(xs, n):\n    return scaled(*xs) * n\n")
    assert world(both, reference=reference).right
    found = world(both.replace("([scaled(given, xs[1]) * n, ", "(["), reference=reference)
    assert text(found.errorClass) == "no_gradient"


def test_outputs_without_a_gradient_have_no_cotangent(world):
    reference = module("return torch.argmax(x * self.w), x * self.w", init="self.w = torch.nn.Parameter(torch.randn(4, 8))")
    forward = "\ndef triton_kernel_wrapper(x, w):\n    out = scaled(x, w)\n    return torch.argmax(out), out\n"
    assert world(code(RIGHT, forward), reference=reference).right


def test_an_unused_parameter_may_lack_its_gradient(world):
    reference = module("return x * self.w", init="self.w = torch.nn.Parameter(torch.randn(4, 8)); "
                       "self.u = torch.nn.Parameter(torch.randn(3))")
    assert world(code(RIGHT), reference=reference).right


def test_what_the_forward_call_left_is_none_of_its_arguments(world):
    keeps = code("""
def triton_kernel_backward(given, x, w):
    given = given.contiguous()
    return scaled(given, KEPT[-1][1]), scaled(given, KEPT[-1][0])
""", "\nKEPT = []\ndef triton_kernel_wrapper(x, w):\n    KEPT.append((x, w))\n    return scaled(x, w)\n")
    assert world(keeps).right
    assert "list index out of range" in text(world(keeps, Backward.partial).error)


def test_the_forward_call_comes_first_where_the_reference_updates_buffers(world):
    reference = module("self.seen += 1; return x * self.w", init="self.w = torch.nn.Parameter(torch.randn(4, 8)); "
                       "self.register_buffer('seen', torch.zeros(4))")
    order = code(RIGHT.replace("    given", "    assert CALLS, 'no forward call'\n    given", 1),
                 "\nCALLS = []\ndef triton_kernel_wrapper(x, w):\n    CALLS.append(1)\n    return scaled(x, w)\n")
    assert world(order, Backward.partial, reference).right
    assert "no forward call" in text(world(order, Backward.partial).error)


def test_a_second_call_gives_the_same(world):
    adds = code("""
SUM = []
def triton_kernel_backward(given, x, w):
    given = given.contiguous()
    SUM.append(scaled(given, x))
    return scaled(given, w), sum(SUM)
""")
    assert [world(adds, way).right for way in (Backward.once, Backward.retained)] == [True, False]


@pytest.mark.parametrize("way", (Backward.strided, Backward.expanded))
def test_cotangents_have_other_strides(world, way):
    found = world(code(RIGHT.replace("given = given.contiguous()", "")), way)
    assert not getattr(found, "right", False)


def test_a_changed_cotangent_is_named(world):
    found = world(code(RIGHT.replace("return", "found =") + "    given.zero_()\n    return found\n"))
    assert text(found.errorClass) == "input_modified" and "cotangent of output" in text(found.error)


def test_memory_is_poisoned_in_it(world):
    leftovers = code("\ndef triton_kernel_backward(given, x, w):\n"
                     "    return scaled(given, w), torch.empty(4, 8, device='cuda')\n")
    assert text(world(leftovers, poison="nan").errorClass) == "nonfinite"


def test_a_kernel_of_its_name_is_no_entry(world):
    kernel = code("\n@triton.jit\ndef triton_kernel_backward(x):\n    pass\n")
    found = world(kernel)
    assert text(found.errorClass) == "no_gradient" and "define triton_kernel_backward" in text(found.error)


def test_the_marker_lies_between_both_functions(world):
    marked = RIGHT.replace("return scaled(given, w)", "return scaled(given, w) * (order == ['forward', 'marker'])")
    found = world(code(marked + MARKED, FORWARD.replace("scaled(x, w)", "noted('forward', scaled(x, w))")))
    assert found.right, text(found.error)
