"""Results that are as near to float64 as the reference's own are right."""
import pytest
import torch
from oracle_world import module, request, session, tried  # noqa

PRODUCTS = module("return x @ y + z @ y", "[torch.randn(shape).bfloat16() for shape in ((64, 4096), (64, 4096), (4096, 64))]",
                  parameters="self, x, z, y")


def in_one_sum(x, z, y):
    return (x.double() @ y.double() + z.double() @ y.double()).bfloat16()


def with_short_operands(x, z, y):
    return ((x * 1.0).to(torch.float8_e4m3fn).double() @ y.double() + z.double() @ y.double()).bfloat16()


def off_at_one_place(x, z, y):
    found = in_one_sum(x, z, y)
    found[3, 5] += 8.0
    return found


@pytest.mark.parametrize("function, right", [(in_one_sum, True), (with_short_operands, False), (off_at_one_place, False)])
def test_a_sum_that_is_rounded_once_is_right(session, function, right):
    session.prepare(request(), PRODUCTS)
    found = tried(session, lambda inputs, _: function(*inputs))
    assert found.right == right
    assert any("as near to float64" in each for each in found.findings) == right
