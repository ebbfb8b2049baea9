"""A small set of packages from which tests build a training set, and readers of a build's output."""
import csv
import hashlib
import io
import json
import tarfile
import textwrap
import zipfile
from pathlib import Path

MIT = """MIT License

Copyright (c) 2024 Someone

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""

SCALE = '''
import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK_SIZE: tl.constexpr):
    """Multiplies by a factor."""
    pid = tl.program_id(0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if factor > 0:
        x = x * factor
    else:
        x = x - factor
    tl.store(out_ptr + offsets, x, mask=mask)


def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=torch.float32, device=x.device)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, BLOCK),)](x, out, n, 2.0, BLOCK_SIZE=BLOCK)
    return out
'''

SOFTMAX = '''
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_rows_kernel(out_ptr, in_ptr, in_stride, out_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    values = tl.load(in_ptr + row * in_stride + cols, mask=cols < n_cols, other=-float("inf"))
    values = values - tl.max(values, axis=0)
    numerator = tl.exp(values)
    denominator = tl.sum(numerator, axis=0)
    tl.store(out_ptr + row * out_stride + cols, numerator / denominator, mask=cols < n_cols)


def softmax_rows(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_rows_kernel[(rows,)](out, x, x.stride(0), out.stride(0), cols, BLOCK=triton.next_power_of_2(cols))
    return out
'''

SOFTMAX_CUDA = '''
#include <cuda_runtime.h>
#include <cfloat>

__device__ float row_max(const float* row, int n_cols) {
  float best = -FLT_MAX;
  for (int i = 0; i < n_cols; ++i) best = fmaxf(best, row[i]);
  return best;
}

__global__ void softmax_rows_kernel(float* out, const float* in, int in_stride, int out_stride, int n_cols) {
  int row = blockIdx.x;
  const float* values = in + row * in_stride;
  float best = row_max(values, n_cols);
  float denominator = 0.f;
  for (int i = 0; i < n_cols; ++i) denominator += expf(values[i] - best);
  for (int i = threadIdx.x; i < n_cols; i += blockDim.x)
    out[row * out_stride + i] = expf(values[i] - best) / denominator;
}

void softmax_rows(float* out, const float* in, int rows, int n_cols) {
  softmax_rows_kernel<<<rows, 256>>>(out, in, n_cols, n_cols, n_cols);
}
'''

NOTES = '''
# How to add

```python
import triton
import triton.language as tl

@triton.jit
def add_from_the_notes(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = offsets < n
    total = tl.load(a_ptr + offsets, mask=keep) + tl.load(b_ptr + offsets, mask=keep)
    tl.store(c_ptr + offsets, total, mask=keep)
```
'''

BENCHMARK = '''
import torch
import torch.nn as nn


class Model(nn.Module):
    """Applies a gated projection, then centres every row."""

    def __init__(self, width, depth):
        super().__init__()
        self.gate = nn.Linear(width, depth)
        self.value = nn.Linear(width, depth)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x)) * self.value(x)
        centred = gate - gate.mean(dim=-1, keepdim=True)
        return centred / (centred.abs().amax(dim=-1, keepdim=True) + 1e-6)


width = 96
depth = 40


def get_inputs():
    return [torch.randn(16, width)]


def get_init_inputs():
    return [width, depth]
'''


def write(root, files):
    for name, text in files.items():
        path = Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Path(root)


def package(root):
    """A tree with an allowed licence, a twin pair, a document, a file under another licence, and one without kernels."""
    renamed = SCALE.replace("scale_kernel", "times_kernel").replace("factor", "amount").replace("offsets", "where")
    return write(root, {
        "LICENSE": MIT,
        "pack/__init__.py": "",
        "pack/scale.py": SCALE,
        "pack/softmax.py": SOFTMAX,
        "pack/copy_of_scale.py": SCALE.replace("\n", "\r\n"),
        "pack/renamed.py": renamed,
        "pack/nearly.py": SCALE.replace("scale_kernel", "scale_more_kernel").replace("x - factor", "x - factor - 1"),
        "pack/copyleft.py": "# SPDX-License-Identifier: GPL-3.0-only\n" + SCALE.replace("scale", "gpl_scale"),
        "pack/plain.py": "def nothing():\n    return 1\n",
        "csrc/softmax.cu": SOFTMAX_CUDA,
        "docs/notes.md": NOTES,
    })


def wheel(path, name="wheely", version="1.2", text=None):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}/kernels.py", text or SOFTMAX.replace("softmax_rows", "softmax_again"))
        archive.writestr(f"{name}-{version}.dist-info/METADATA",
                         f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nLicense: MIT\n")
        archive.writestr(f"{name}-{version}.dist-info/LICENSE", MIT)
    return path


def hostile_tar(path):
    """An archive with members that lead outside, links, a bomb and bytes that are not text."""
    with tarfile.open(path, "w:gz") as archive:
        def add(name, data, **fields):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for key, value in fields.items():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(data))
        add("../../bait/outside.py", SCALE.encode())
        add("/bait/absolute.py", SCALE.encode())
        add("link.py", b"", type=tarfile.SYMTYPE, linkname="../../bait/target.py")
        add("tree/latin.py", b"# caf\xe9\n" + SCALE.encode())
        add("tree/LICENSE", MIT.encode())
        add("tree/deep.py", ("x = " + "(" * 20_000 + ")" * 20_000 + "\n@triton.jit\ndef f(:\n").encode())
        add("tree/bomb.py", b"# @triton.jit __global__\n" + b" " * (64 << 20))
        add("tree/good.py", SCALE.replace("scale", "kept_scale").encode())
    return path


def rows(path):
    csv.field_size_limit(1 << 30)
    with open(path, newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def lines(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def digest(folder):
    """The bytes of every file of the set, except `.state`, which also has times."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(".state"):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def dedent(text):
    return textwrap.dedent(text)
