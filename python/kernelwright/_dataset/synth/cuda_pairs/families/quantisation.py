"""Floats to 8-bit integers and back."""

from ..draw import COLUMNS, ROWS
from ..expressions import Leaf, words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import block_reduction, name_of, typed
from .maps import replaced


def quantize(draw):
    """Rows to 8-bit integers with the scale of a row, or of the tensor."""
    draw.dtype = "float32"  # ties between two integers are frequent in float16, and no rounding of them is wrong
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    dynamic = draw.chance(0.6)
    if dynamic:
        tree = draw.chance(0.4)
        cuda = Side(
            fill("""
            const int row = blockIdx.x;
            float peak = 0.0f;
            for (int col = threadIdx.x; col < n_cols; col += blockDim.x) {
              peak = fmaxf(peak, fabsf(LOAD(x, row * n_cols + col)));
            }
            peak = block_reduce_max(peak);
            const float inverse = 127.0f / fmaxf(peak, 1e-8f);
            for (int col = threadIdx.x; col < n_cols; col += blockDim.x) {
              const float v = rintf(LOAD(x, row * n_cols + col) * inverse);
              q[row * n_cols + col] = static_cast<signed char>(v);
            }
            if (threadIdx.x == 0) scales[row] = fmaxf(peak, 1e-8f) / 127.0f;
            """),
            ("n_rows",),
            "Symmetric quantisation: one block per row finds the largest magnitude, then rounds the row.",
            block_reduction("max", tree),
        )
        triton = Side(
            fill("""
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            mask = cols < n_cols
            v = LOAD(x, row * n_cols + cols, mask=mask, other=0.0)
            peak = tl.maximum(tl.max(tl.abs(v), axis=0), 1e-8)
            rounded = libdevice.rint(v * (127.0 / peak))
            STORE(q, row * n_cols + cols, rounded.to(tl.int8), mask=mask)
            STORE(scales, row, peak / 127.0)
            """),
            ("n_rows",),
            "One program per row.",
            constants={"BLOCK": "triton.next_power_of_2(n_cols)"},
        )
        return Program(
            "quantize_rows_int8",
            [Tensor("x", (rows, cols), draw.dtype)],
            [Output("q", "(n_rows, n_cols)", "int8"), Output("scales", "(n_rows,)", "float32")],
            ("n_rows", "n_cols"),
            ["n_rows, n_cols = x.shape"],
            [
                "peak = x.abs().amax(dim=-1).clamp(min=1e-8)",
                "q = torch.round(x * (127.0 / peak)[:, None]).to(torch.int8)",
                "return q, peak / 127.0",
            ],
            cuda,
            triton,
        )
    scale, zero = draw.pick((0.05, 0.02, 0.1)), draw.pick((0, 3, -5))
    cuda = Side(
        fill(
            """
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) {
          const float v = rintf(LOAD(x, i) * $factorf) + $zerof;
          q[i] = static_cast<signed char>(fminf(fmaxf(v, -128.0f), 127.0f));
        }
        """,
            factorf=f"{1 / scale}f",
            zerof=f"{float(zero)}f",
        ),
        ("cdiv(numel, THREADS)",),
        "Affine quantisation with a constant scale and zero point; saturates at the range of int8.",
    )
    triton = Side(
        fill(
            """
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < numel
        scaled = LOAD(x, offs, mask=mask, other=0.0) * $factor
        v = libdevice.rint(scaled) + $zero
        STORE(q, offs, tl.minimum(tl.maximum(v, -128.0), 127.0).to(tl.int8), mask=mask)
        """,
            factor=1 / scale,
            zero=float(zero),
        ),
        ("cdiv(numel, BLOCK)",),
        "",
        constants={"BLOCK": draw.block},
    )
    return Program(
        "quantize_affine_int8",
        [Tensor("x", (rows, cols), draw.dtype)],
        [Output("q", "x.shape", "int8")],
        ("numel",),
        ["numel = x.numel()"],
        [f"return torch.clamp(torch.round(x * {1 / scale}) + {float(zero)}, -128, 127).to(torch.int8)"],
        cuda,
        triton,
    )


def dequantize(draw):
    """8-bit integers to floats, with scales of rows, columns or groups, and an activation."""
    rows, groups, group = draw.pick(ROWS), draw.pick((2, 3, 4)), draw.pick((16, 32, 40))
    cols = groups * group
    kind = draw.pick(("row", "column", "group"))
    act = draw.chain("v", 0, 2)
    sizes, index, triton_index = {
        "row": ((rows,), "row", "row"),
        "column": ((cols,), "col", "cols, mask=mask"),
        "group": ((rows, groups), "row * (n_cols / GROUP) + col / GROUP", "row * (n_cols // GROUP) + cols // GROUP, mask=mask"),
    }[kind]
    inputs = [
        Tensor("q", (rows, cols), "int8", f"torch.randint(-128, 128, ({rows}, {cols}), dtype=torch.int8)"),
        Tensor("scale", sizes, "float32", f"torch.rand({', '.join(map(str, sizes))}) * 0.05"),
    ]
    lines, value = written(act, "cuda", ("v",))
    flat = draw.chance(0.5)
    inner = fill(
        """
        const float v = static_cast<float>(q[row * n_cols + col]) * scale[$index];
        $lines
        STORE(out, row * n_cols + col, $value);""",
        index=index,
        lines=lines,
        value=value,
    )
    constants = {"GROUP": group} if kind == "group" else {}
    cuda = (
        Side(
            fill(
                """
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n_rows * n_cols; i += gridDim.x * blockDim.x) {
          const int row = i / n_cols;
          const int col = i % n_cols;
          $inner
        }
        """,
                inner=inner,
            ),
            ("cdiv(n_rows * n_cols, THREADS)",),
            f"int8 to float with one scale per {kind}.",
            constants=constants,
        )
        if flat
        else Side(
            fill(
                """
        const int row = blockIdx.x;
        for (int col = threadIdx.x; col < n_cols; col += blockDim.x) {
          $inner
        }
        """,
                inner=inner,
            ),
            ("n_rows",),
            f"One block per row; one scale per {kind}.",
            constants=constants,
        )
    )
    lines, value = written(act, "triton", ("v",))
    triton = Side(
        fill(
            """
        row = tl.program_id(0)
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        v = tl.load(q_ptr + row * n_cols + cols, mask=mask, other=0).to(tl.float32) * tl.load(scale_ptr + $index)
        $lines
        STORE(out, row * n_cols + cols, $value, mask=mask)
        """,
            index=triton_index,
            lines=lines,
            value=value,
        ),
        ("n_rows",),
        draw.say("One program per row.", f"One scale per {kind}."),
        constants={**constants, "BLOCK": "triton.next_power_of_2(n_cols)"},
    )
    expanded = {"row": "scale[:, None]", "column": "scale", "group": f"scale.repeat_interleave({group}, dim=1)"}[kind]
    lines, text = written(replaced(act, "v", "h"), "torch", ("h",))
    half = draw.dtype == "float16"
    value = f"q.float() * {expanded}"
    body = (
        [f"return {typed(draw, value)}"] if isinstance(act, Leaf) else [f"h = {value}", *lines, f"return {typed(draw, text)}"]
    )
    return Program(
        name_of("dequantize", kind, words_of(act)),
        inputs,
        [Output("out", "q.shape", "float16" if half else "float32")],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = q.shape"],
        body,
        cuda,
        triton,
    )


FAMILIES = (quantize, dequantize)
