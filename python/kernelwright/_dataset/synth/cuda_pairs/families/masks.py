"""Pointwise computations with masks and gates."""

from ..draw import COLUMNS, ROWS
from ..expressions import words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import grouped, name_of, typed
from .maps import GRID_STRIDE, ONE_EACH, TRITON, replaced


def masked_fill(draw):
    """A constant where a mask is set."""
    rows, cols, constant = draw.pick(ROWS), draw.pick(COLUMNS), draw.pick((-1e4, -100.0, 0.0, 1.0))
    scale = draw.pick((0.0, 0.125, 0.5, 2.0))
    inputs = [
        Tensor("x", (rows, cols), draw.dtype),
        Tensor("mask", (rows, cols), "bool", f"torch.rand({rows}, {cols}) < {draw.pick((0.2, 0.5))}"),
    ]
    kept, kept_cuda = (f"{scale} * v", f"{scale}f * v") if scale else ("v", "v")
    stride = draw.chance(0.6)
    body = GRID_STRIDE if stride else ONE_EACH
    cuda = Side(
        fill(body, loads=["const float v = LOAD(x, i);"], lines=[], value=f"mask[i] ? {constant}f : {kept_cuda}"),
        ("cdiv(numel, THREADS)",),
        draw.say("Replaces the elements whose mask is set.", "out = mask ? constant : x, elementwise."),
    )
    triton = Side(
        fill(
            TRITON,
            loads=["v = LOAD(x, offs, mask=mask)", "fill = LOAD(drop, offs, mask=mask, other=0)"],
            lines=[],
            value=f"tl.where(fill != 0, {constant}, {kept})",
        ),
        ("cdiv(numel, BLOCK)",),
        constants={"BLOCK": draw.block},
    )
    triton.body = (
        triton.body.replace("LOAD(drop,", "LOAD(mask,")
        .replace("mask = offs < numel", "in_range = offs < numel")
        .replace("mask=mask", "mask=in_range")
    )
    value = f"({scale} * x).masked_fill(mask, {constant})" if scale else f"x.masked_fill(mask, {constant})"
    return Program(
        "scaled_masked_fill" if scale else "masked_fill",
        inputs,
        [Output("out", "", draw.dtype, like="x")],
        ("numel",),
        ["numel = x.numel()"],
        [f"return {typed(draw, value)}"],
        cuda,
        triton,
    )


def dropout(draw):
    """Dropout by a given mask, with a residual or an activation."""
    p = draw.pick((0.1, 0.2, 0.25, 0.5))
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    residual = draw.chance(0.5)
    node = draw.chain("v", 0, 1)
    inputs = [Tensor("x", (rows, cols), draw.dtype), Tensor("keep", (rows, cols), "bool", f"torch.rand({rows}, {cols}) >= {p}")]
    inputs += [Tensor("residual", (rows, cols), draw.dtype)] if residual else []
    lines, text = written(node, "cuda", ("v", "kept"))
    value = "kept + LOAD(residual, i)" if residual else "kept"
    body = fill(
        GRID_STRIDE if draw.chance(0.6) else ONE_EACH,
        loads=["const float v = LOAD(x, i);"],
        lines=[*lines, f"const float kept = keep[i] ? {grouped(text)} * SCALE : 0.0f;"],
        value=value,
    )
    helpers = (
        f"// Kept elements are scaled, so that the expectation does not change.\nconstexpr float SCALE = 1.0f / (1.0f - {p}f);"
    )
    cuda = Side(
        body,
        ("cdiv(numel, THREADS)",),
        draw.say("Dropout with a precomputed mask.", "Inverted dropout: the mask is an input."),
        helpers,
    )
    lines, text = written(node, "triton", ("v", "kept"))
    triton = Side(
        fill(
            TRITON,
            loads=["v = LOAD(x, offs, mask=mask)", "keep = tl.load(keep_ptr + offs, mask=mask, other=0)"],
            lines=[
                *lines,
                f"kept = tl.where(keep != 0, {grouped(text)} * SCALE, 0.0)",
                *(["res = LOAD(residual, offs, mask=mask)"] if residual else []),
            ],
            value="kept + res" if residual else "kept",
        ),
        ("cdiv(numel, BLOCK)",),
        constants={"SCALE": f"1.0 / (1.0 - {p})", "BLOCK": draw.block},
    )
    lines, text = written(replaced(node, "v", "x"), "torch", ("x",))
    value = f"{grouped(text)} * keep / (1.0 - {p})" + (" + residual" if residual else "")
    return Program(
        name_of("dropout", words_of(node), ["residual"] if residual else []),
        inputs,
        [Output("out", "", draw.dtype, like="x")],
        ("numel",),
        ["numel = x.numel()"],
        [*lines, f"return {typed(draw, value)}"],
        cuda,
        triton,
    )


def glu(draw):
    """Gated units: the two halves of a row."""
    rows, half = draw.pick(ROWS), draw.pick((40, 64, 75, 96, 130))
    word, cuda_gate, triton_gate, torch_gate = draw.pick(
        (
            ("swiglu", "gate / (1.0f + expf(-gate))", "gate * tl.sigmoid(gate)", "F.silu(gate)"),
            ("glu", "1.0f / (1.0f + expf(-gate))", "tl.sigmoid(gate)", "torch.sigmoid(gate)"),
            (
                "geglu",
                "0.5f * gate * (1.0f + erff(gate * 0.70710678f))",
                "0.5 * gate * (1.0 + tl.erf(gate * 0.70710678))",
                "F.gelu(gate)",
            ),
            ("reglu", "fmaxf(gate, 0.0f)", "tl.maximum(gate, 0.0)", "torch.relu(gate)"),
        )
    )
    swap = draw.chance(0.5)
    up, gate = ("dim", "0") if swap else ("0", "dim")

    def at(row, part, col):
        return f"{row} * 2 * dim" + (" + dim" if part == "dim" else "") + f" + {col}"

    if draw.chance(0.5):
        body = fill(
            """
            const int row = blockIdx.x;
            for (int col = threadIdx.x; col < dim; col += blockDim.x) {
              const float gate = LOAD(x, $gate);
              const float up = LOAD(x, $up);
              const float act = $act;
              STORE(out, row * dim + col, act * up);
            }""",
            gate=at("row", gate, "col"),
            up=at("row", up, "col"),
            act=cuda_gate,
        )
        grid = ("n_rows",)
    else:
        body = fill(
            """
            const int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i >= n_rows * dim) return;
            const int row = i / dim;
            const int col = i % dim;
            const float gate = LOAD(x, $gate);
            const float up = LOAD(x, $up);
            const float act = $act;
            STORE(out, i, act * up);""",
            gate=at("row", gate, "col"),
            up=at("row", up, "col"),
            act=cuda_gate,
        )
        grid = ("cdiv(n_rows * dim, THREADS)",)
    halves = (
        "the gate in its first half and the value in its second"
        if gate == "0"
        else "the value in its first half and the gate in its second"
    )
    comment = f"A row of x has {halves}, dim elements each."
    triton = Side(
        fill(
            """
        row = tl.program_id(0)
        cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        mask = cols < dim
        gate = LOAD(x, $gate, mask=mask, other=0.0)
        up = LOAD(x, $up, mask=mask, other=0.0)
        act = $act
        STORE(out, row * dim + cols, act * up, mask=mask)
        """,
            gate=at("row", gate, "cols"),
            up=at("row", up, "cols"),
            act=triton_gate,
        ),
        ("n_rows", "cdiv(dim, BLOCK)"),
        comment,
        constants={"BLOCK": draw.pick((64, 128))},
    )
    names = "gate, up" if gate == "0" else "up, gate"
    return Program(
        word,
        [Tensor("x", (rows, 2 * half), draw.dtype)],
        [Output("out", "(n_rows, dim)", draw.dtype)],
        ("n_rows", "dim"),
        ["n_rows, dim = x.shape[0], x.shape[1] // 2"],
        [f"{names} = x.chunk(2, dim=-1)", f"return {typed(draw, f'{torch_gate} * up')}"],
        Side(body, grid, comment),
        triton,
    )


FAMILIES = (masked_fill, dropout, glu)
