"""A test suite of a kernel: pytest examples/pytest. The fixture is docs/python-api.md#pytest."""
import pytest
import torch
import triton
import triton.language as tl


def softmax_reference(x):
    return torch.softmax(x, dim=-1)


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n_cols + cols, e / tl.sum(e, axis=0), mask=mask)


def softmax(x):
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    softmax_kernel[(n_rows,)](x, y, n_cols, BLOCK=triton.next_power_of_2(n_cols))
    return y


def softmax_of_columns(x):
    return softmax(x.t().contiguous()).t()


def test_softmax(assert_kernel_correct):
    shapes = [{"x": (64, 250)}, {"x": (3, 128)}]
    assert_kernel_correct(softmax_reference, softmax, shapes, dtypes=["float32", "float16"])


def test_a_short_row(assert_kernel_correct):
    verdict, = assert_kernel_correct(softmax_reference, softmax, {"x": (5, 3)}, options=["--tolerance", "strict"])
    assert verdict.comparison["trials"] == 5


@pytest.mark.xfail(raises=AssertionError, strict=True, reason="shows a failure: the wrong dimension")
def test_softmax_of_columns(assert_kernel_correct):
    assert_kernel_correct(softmax_reference, softmax_of_columns, {"x": (64, 250)})
