"""Products with 8-bit and 4-bit integers: weights that the kernel dequantises, and integer products."""

from ..cuda_pairs.families.common import grouped
from .draw import HEIGHTS, WIDTHS, name_of
from .text import Input, Kernel, Product, fill, in_type, returned
from .tiles import programs

WEIGHT = """
$lines
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
for start in range(0, K, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    $loads
    acc = tl.dot(x_tile, w_tile, acc$precision)
mask = (rows[:, None] < M) & (cols[None, :] < N)
$finish
tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)
"""
X_TILE = "x_tile = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)"
INTEGERS = """
$lines
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
for start in range(0, K, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    x_tile = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0)
    w_tile = tl.load(w_ptr + $w, mask=(ks[:, None] < K) & (cols[None, :] < N), other=0)
    acc = tl.dot(x_tile, w_tile, acc, out_dtype=tl.int32)
mask = (rows[:, None] < M) & (cols[None, :] < N)
value = acc.to(tl.float32)
$finish
tl.store(out_ptr + rows[:, None] * N + cols[None, :], value, mask=mask)
"""
PACKED = """
$lines
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
for start in range(0, K // 2, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    x_mask = (rows[:, None] < M) & (ks[None, :] < K // 2)
    w_mask = (ks[:, None] < K // 2) & (cols[None, :] < N)
    low_x = tl.load(x_ptr + rows[:, None] * K + $low, mask=x_mask, other=0.0)
    high_x = tl.load(x_ptr + rows[:, None] * K + $high, mask=x_mask, other=0.0)
    packed = tl.load(w_ptr + ks[:, None] * N + cols[None, :], mask=w_mask, other=0)
    low = $low_w
    high = $high_w
    acc = tl.dot(low_x, low, acc$precision)
    acc = tl.dot(high_x, high, acc$precision)
mask = (rows[:, None] < M) & (cols[None, :] < N)
$finish
tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)
"""


def bytes_input(name, *sizes, unsigned=False):
    """A tensor of 8-bit integers."""
    low, high, dtype = (0, 256, "uint8") if unsigned else (-127, 128, "int8")
    return Input(name, sizes, dtype, f"torch.randint({low}, {high}, {sizes}, dtype=torch.{dtype})")


def scales(name, *sizes):
    """Positive factors of quantised values."""
    return Input(name, sizes, "float32", f"torch.rand({', '.join(map(str, sizes))}) * 0.01 + 0.001")


def narrowed(text, conversion):
    """An expression in the type of the other operand; unchanged if that is float32."""
    return grouped(text) + conversion if conversion else text


def finished(draw, variable):
    """An optional bias and activation of the result: Triton, PyTorch, inputs (of N elements), words."""
    triton, torch, words = draw.activation(variable, 0, 1)
    if draw.chance(0.5):
        cast = ".to(tl.float32)" if draw.half else ""
        triton = [f"bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0){cast}", f"{variable} += bias[None, :]", *triton]
        return triton, ["acc = acc + bias", *torch], True, ["bias", *words]
    return triton, torch, False, words


def quantised_matmul(draw):
    """One of four: int8 weights with a scale for a column or for groups of rows, int8 products, packed 4-bit weights."""
    return draw.pick((by_column, by_group, integers, packed))(draw)


def sizes_of(draw):
    """Three different sizes."""
    return draw.pick(HEIGHTS), draw.pick(WIDTHS), draw.pick((64, 80, 96, 128))


def product(draw, words, inputs, reference, weights, body, grid, constants, comment, scalars=(), made_of="x"):
    """The pair of one kernel; `weights` is the dimension of the weights that has N elements."""
    dtype = "x.dtype" if made_of == "x" else "torch.float32"
    names = [each.name for each in inputs]
    return Product(
        name_of(*words),
        inputs,
        reference,
        ["M, K = x.shape", f"N = w.shape[{weights}]"],
        [f"out = torch.empty((M, N), device=x.device, dtype={dtype})"],
        [Kernel([*names, "out"], {"M": "M", "N": "N", "K": "K", **dict(scalars)}, constants, comment, body, grid)],
    )


def by_column(draw):
    """Int8 weights with one scale, and possibly one zero point, for each output column."""
    m, n, k = sizes_of(draw)
    transposed, zero, late = draw.chance(0.5), draw.chance(0.4), draw.chance(0.6)
    lines, grid, constants, sentence = programs(draw)
    w = "cols[None, :] * K + ks[:, None]" if transposed else "ks[:, None] * N + cols[None, :]"
    column = "" if not transposed else "[:, None]"
    loads = [X_TILE, f"w_int = tl.load(w_ptr + {w}, mask=(ks[:, None] < K) & (cols[None, :] < N), other=0)"]
    lines = [*lines, "scale = tl.load(scale_ptr + cols, mask=cols < N, other=0.0)"]
    value, torch = "w_int.to(tl.float32)", "w.float()"
    inputs = [Input("x", (m, k), draw.dtype), bytes_input("w", *((n, k) if transposed else (k, n))), scales("scale", n)]
    if zero:
        lines += ["zero = tl.load(zero_ptr + cols, mask=cols < N, other=0).to(tl.float32)"]
        value, torch = f"{value} - zero[None, :]", f"({torch} - zero{column})"
        inputs.append(Input("zero", (n,), "int8", f"torch.randint(-20, 21, ({n},), dtype=torch.int8)"))
    kind = ".to(x_tile.dtype)" if draw.half else ""
    finish, after, bias, words = finished(draw, "acc")
    if late:
        loads += [f"w_tile = {narrowed(value, kind)}"]
        finish = ["acc *= scale[None, :]", *finish]
    else:
        loads += [f"w_tile = {narrowed(f'{grouped(value)} * scale[None, :]', kind)}"]
    if bias:
        inputs.append(Input("bias", (n,), draw.dtype))
    x = "x.float()" if draw.half else "x"
    weights = [f"weight = {torch} * scale{column}"]
    reference = [*weights, f"acc = {x} @ weight{'.t()' if transposed else ''}", *after]
    reference = [*reference[:-1], "return " + in_type(draw, reference[-1].removeprefix("acc = "))]
    body = fill(WEIGHT, lines=lines, loads=loads, finish=finish, precision=draw.precision)
    return product(
        draw,
        ("int8", "weight", "zero_point" if zero else "", "matmul", words),
        inputs,
        reference,
        0 if transposed else 1,
        body,
        grid,
        {**draw.blocks(), **constants},
        "Weights are int8 with a scale for each output column; a tile of them is dequantised before its product." + sentence,
    )


def by_group(draw):
    """Int8 weights with a scale for each GROUP rows of a column."""
    m, n, k = sizes_of(draw)
    group = draw.pick((16, 32))
    k = k // 32 * 32
    lines, grid, constants, sentence = programs(draw)
    loads = [
        X_TILE,
        "w_mask = (ks[:, None] < K) & (cols[None, :] < N)",
        "w_int = tl.load(w_ptr + ks[:, None] * N + cols[None, :], mask=w_mask, other=0)",
        "scale = tl.load(scale_ptr + (ks[:, None] // GROUP) * N + cols[None, :], mask=w_mask, other=0.0)",
        f"w_tile = {narrowed('w_int.to(tl.float32) * scale', '.to(x_tile.dtype)' if draw.half else '')}",
    ]
    finish, after, bias, words = finished(draw, "acc")
    inputs = [Input("x", (m, k), draw.dtype), bytes_input("w", k, n), scales("scale", k // group, n)]
    if bias:
        inputs.append(Input("bias", (n,), draw.dtype))
    x = "x.float()" if draw.half else "x"
    expand = (
        f"torch.repeat_interleave(scale, {group}, dim=0)" if draw.chance(0.5) else f"scale.repeat_interleave({group}, dim=0)"
    )
    reference = [f"weight = w.float() * {expand}", f"acc = {x} @ weight", *after]
    last = reference[-1].removeprefix("acc = ")
    reference = [*reference[:-1], "return " + in_type(draw, last)]
    blocks = {**draw.blocks(), "BLOCK_K": 32, "GROUP": "K // scale.shape[0]", **constants}
    return product(
        draw,
        ("int8", "grouped", "weight", "matmul", words),
        inputs,
        reference,
        1,
        fill(WEIGHT, lines=lines, loads=loads, finish=finish, precision=draw.precision),
        grid,
        blocks,
        "Weights are int8; GROUP rows of a column share a scale." + sentence,
    )


def integers(draw):
    """A product of int8 matrices, added up in int32, with scales of rows and columns."""
    draw.dtype = "float32"
    m, n, k = sizes_of(draw)
    transposed, by_row = draw.chance(0.6), draw.chance(0.6)
    lines, grid, constants, sentence = programs(draw)
    w = "cols[None, :] * K + ks[:, None]" if transposed else "ks[:, None] * N + cols[None, :]"
    finish, after, bias, words = finished(draw, "value")
    inputs = [bytes_input("x", m, k), bytes_input("w", *((n, k) if transposed else (k, n)))]
    column = ["w_scale = tl.load(w_scale_ptr + cols, mask=cols < N, other=0.0)", "value *= w_scale[None, :]"]
    if by_row:
        finish = [
            "x_scale = tl.load(x_scale_ptr + rows, mask=rows < M, other=0.0)",
            "value *= x_scale[:, None]",
            *column,
            *finish,
        ]
        inputs += [scales("x_scale", m)]
    else:
        finish = ["value *= tl.load(x_scale_ptr)", *column, *finish]
        inputs += [scales("x_scale", 1)]
    inputs += [scales("w_scale", n)]
    if bias:
        inputs.append(Input("bias", (n,), "float32"))
    reference = [
        f"acc = x.float() @ w.float(){'.t()' if transposed else ''}",
        f"acc = acc * x_scale{'[:, None]' if by_row else ''} * w_scale",
        *(line.replace("value", "acc") for line in after),
    ]
    return product(
        draw,
        ("int8", "matmul", "row_scale" if by_row else "", words),
        inputs,
        returned(reference),
        0 if transposed else 1,
        fill(INTEGERS, lines=lines, w=w, finish=finish),
        grid,
        {**draw.blocks(), "BLOCK_K": 32, **constants},
        "Int8 products are added up in int32; the scales of both operands follow at the end." + sentence,
        made_of="float32",
    )


def packed(draw):
    """Weights of 4 bits, two in a byte: neighbours along K, or the two halves of K."""
    m, n, k = sizes_of(draw)
    neighbours, zero = draw.chance(0.5), draw.pick((8.0, 8.0, 7.5))
    lines, grid, constants, sentence = programs(draw)
    low, high = ("2 * ks[None, :]", "2 * ks[None, :] + 1") if neighbours else ("ks[None, :]", "K // 2 + ks[None, :]")
    kind = ".to(low_x.dtype)" if draw.half else ""
    finish, after, bias, words = finished(draw, "acc")
    finish = ["scale = tl.load(scale_ptr + cols, mask=cols < N, other=0.0)", "acc *= scale[None, :]", *finish]
    inputs = [Input("x", (m, k), draw.dtype), bytes_input("w", k // 2, n, unsigned=True), scales("scale", n)]
    if bias:
        inputs.append(Input("bias", (n,), draw.dtype))
    join = "torch.stack([w & 15, w >> 4], dim=1).flatten(0, 1)" if neighbours else "torch.cat([w & 15, w >> 4])"
    x = "x.float()" if draw.half else "x"
    reference = [f"codes = {join}", f"weight = (codes.float() - {zero}) * scale", f"acc = {x} @ weight", *after]
    last = reference[-1].removeprefix("acc = ")
    reference = [*reference[:-1], "return " + in_type(draw, last)]
    where = "even and odd rows of the weights" if neighbours else "the two halves of the weights' rows"
    return product(
        draw,
        ("int4", "interleaved" if neighbours else "halves", "matmul", words),
        inputs,
        reference,
        1,
        fill(
            PACKED,
            lines=lines,
            low=low,
            high=high,
            finish=finish,
            precision=draw.precision,
            low_w=narrowed(f"(packed & 0xF).to(tl.float32) - {zero}", kind),
            high_w=narrowed(f"(packed >> 4).to(tl.float32) - {zero}", kind),
        ),
        grid,
        {**draw.blocks(), **constants},
        f"A byte has two 4-bit weights: {where}. Each half has a product of its own." + sentence,
    )


FAMILIES = (quantised_matmul,)
