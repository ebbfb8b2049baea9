"""Tasks that are too large for a machine without a GPU are judged at smaller sizes."""
import pytest

from . import program

pytestmark = pytest.mark.skipif(program.DEVICE != "cpu", reason="on a GPU sizes are not reduced")


def test_small_inputs_with_outputs_beyond_the_memory(verify, tmp_path):
    """A product of two vectors has 4 TiB: reference and kernel are called at smaller sizes."""
    (tmp_path / "reference.py").write_text("""
import torch

N = 1048576


class Model(torch.nn.Module):
    def forward(self, x, y):
        return x[:, None] * y[None, :]


def get_inputs():
    return [torch.randn(N), torch.randn(N)]
""", encoding="utf-8")
    (tmp_path / "kernel.py").write_text("""
import torch
import triton
import triton.language as tl


@triton.jit
def outer(x, y, out, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (row[:, None] < N) & (column[None, :] < N)
    product = tl.load(x + row, mask=row < N)[:, None] * tl.load(y + column, mask=column < N)[None, :]
    tl.store(out + row[:, None] * N + column[None, :], product, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty(len(x), len(y))
        outer[(triton.cdiv(len(x), 32), triton.cdiv(len(y), 1024))](x, y, out, len(x), ROWS=32, COLUMNS=1024)
        return out
""", encoding="utf-8")
    (verdict,) = verify(tmp_path / "reference.py", tmp_path / "kernel.py").verdicts
    assert (verdict["status"], verdict["shapes"]) == ("correct", "reduced"), verdict
