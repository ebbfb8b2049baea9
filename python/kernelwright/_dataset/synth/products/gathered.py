"""Products whose operands are chosen by indices, and convolutions as products of gathered values."""

from .draw import HEIGHTS, WIDTHS, name_of
from .text import Input, Kernel, Named, Product, fill, in_type

EXPERTS = """
$lines
cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
$expert
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
for start in range(0, K, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    x_tile = tl.load(x_ptr + $x * K + ks[None, :], mask=($row_mask) & (ks[None, :] < K), other=0.0)
    w_tile = tl.load(weight_ptr + $w, mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
    acc = tl.dot(x_tile, w_tile, acc$precision)
mask = ($row_mask) & (cols[None, :] < N)
$finish
tl.store(out_ptr + $out * N + cols[None, :], acc, mask=mask)
"""
CONVOLUTION = """
rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
$positions
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
for start in range(0, K, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    $source
    w_tile = tl.load(weight_ptr + cols[None, :] * K + ks[:, None], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
    acc = tl.dot(x_tile, w_tile, acc$precision)
mask = (rows[:, None] < M) & (cols[None, :] < N)
$finish
tl.store(out_ptr + $out, acc, mask=mask)
"""


def expert_matmul(draw):
    """Rows with weights that an index chooses, gathered rows, or rows that are skipped."""
    kind = draw.pick(("grouped", "grouped", "gathered", "per_block", "scattered"))
    n, k, groups = draw.pick(WIDTHS), draw.pick((32, 45, 64)), draw.pick((3, 4))
    transposed = draw.chance(0.5)
    m = draw.pick((33, 48)) if kind != "per_block" else 96
    end, cast = (".transpose(-2, -1)" if transposed else ""), (".float()" if draw.half else "")
    act, act_torch, words = draw.activation("acc", 0, 1)
    blocks = draw.blocks()
    blocks["BLOCK_M"] = 32
    matrix = (n, k) if transposed else (k, n)
    tile = "cols[None, :] * K + ks[:, None]" if transposed else "ks[:, None] * N + cols[None, :]"
    rows = ["rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)"]
    row_mask, x, out, expert, finish = "rows[:, None] < M", "rows[:, None]", "rows[:, None]", [], []
    grid, scalars, before = ("triton.cdiv(M, BLOCK_M)", "triton.cdiv(N, BLOCK_N)"), {}, []
    sizes = ["M, K = x.shape", f"N = weight.shape[{-2 if transposed else -1}]"]
    made = "out = torch.empty((M, N), device=x.device, dtype=x.dtype)"
    if kind == "grouped":
        inputs = [
            Input("x", (groups, m, k), draw.dtype),
            Input("weight", (experts := Named(5, "EXPERTS"), *matrix), draw.dtype),
            Input("expert", (groups,), "int64", f"torch.randint(0, {experts}, ({groups},))"),
        ]
        expert = ["group = tl.program_id(2)", "chosen = tl.load(expert_ptr + group)"]
        x, out, tile = "(group * M + rows[:, None])", "(group * M + rows[:, None])", "chosen * K * N + " + tile
        reference = [f"acc = x{cast} @ weight[expert]{cast}{end}"]
        grid = (*grid, "expert.shape[0]")
        sizes = ["M, K = x.shape[1:]", sizes[1]]
        made = "out = torch.empty((x.shape[0], M, N), device=x.device, dtype=x.dtype)"
        comment = "Each program computes a tile of one group; an index chooses the weights of the group."
    elif kind == "gathered":
        inputs = [
            Input("x", (sources := Named(40, "ROWS"), k), draw.dtype),
            Input("weight", matrix, draw.dtype),
            Input("index", (m,), "int64", f"torch.randint(0, {sources}, ({m},))"),
        ]
        expert = ["sources = tl.load(index_ptr + rows, mask=rows < M, other=0)"]
        x = "sources[:, None]"
        reference = [f"acc = x[index]{cast} @ weight{cast}{end}"]
        sizes = ["K = x.shape[1]", "M = index.shape[0]", sizes[1]]
        comment = "Each program gathers BLOCK_M rows by their index as it multiplies them."
    elif kind == "per_block":
        block = draw.pick((16, 32))
        blocks["BLOCK_M"] = block
        inputs = [
            Input("x", (m, k), draw.dtype),
            Input("weight", (experts := Named(4, "EXPERTS"), *matrix), draw.dtype),
            Input("expert", (m // block,), "int64", f"torch.randint(0, {experts}, ({m // block},))"),
        ]
        expert = ["chosen = tl.load(expert_ptr + tl.program_id(0))"]
        tile = "chosen * K * N + " + tile
        reference = [
            f"blocks = x{cast}.view(expert.shape[0], {block}, x.shape[1])",
            f"acc = (blocks @ weight[expert]{cast}{end}).flatten(0, 1)",
        ]
        comment = "Rows are sorted by expert and padded: each block of BLOCK_M rows has the weights of one expert."
    else:
        inputs = [
            Input("x", (m, k), draw.dtype),
            Input("weight", matrix, draw.dtype),
            Input("keep", (m,), "bool", f"torch.rand({m}) < 0.6"),
        ]
        expert = ["keep = tl.load(keep_ptr + rows, mask=rows < M, other=0) != 0"]
        finish = ["acc = tl.where(keep[:, None], acc, 0.0)"]
        reference = [f"acc = x{cast} @ weight{cast}{end}"]
        act_torch = [*act_torch, "acc = torch.where(keep[:, None], acc, 0.0)"]
        comment = "Rows that are not kept are neither loaded nor multiplied; their result is 0."
        before = ["keep[:, None]"]
    gate = draw.chance(0.4) and kind in ("gathered", "per_block")
    if gate:
        inputs.append(Input("gate", (m,), draw.dtype))
        act = [
            *act,
            "gate = tl.load(gate_ptr + rows, mask=rows < M, other=0.0)" + (".to(tl.float32)" if draw.half else ""),
            "acc *= gate[:, None]",
        ]
        act_torch = [*act_torch, "acc = acc * gate[:, None]"]
    body = fill(
        EXPERTS,
        lines=rows,
        expert=expert,
        x=x,
        w=tile,
        out=out,
        row_mask=row_mask,
        finish=[*act, *finish],
        precision=draw.precision,
    )
    if before:
        body = body.replace(f"mask=({row_mask}) & (ks[None, :] < K)", f"mask={before[0]} & (ks[None, :] < K)")
    lines = [*reference, *act_torch]
    value = lines[-1].removeprefix("acc = ")
    return Product(
        name_of(
            kind if kind != "scattered" else "kept_rows", "gated" if gate else "", "matmul", "nt" if transposed else "", words
        ),
        inputs,
        [*lines[:-1], "return " + in_type(draw, value)],
        sizes,
        [made],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {"M": "M", "N": "N", "K": "K", **scalars},
                blocks,
                comment,
                body,
                grid,
            )
        ],
    )


def convolution(draw):
    """A convolution as a product: rows are positions of the result, the inner dimension is channels and window."""
    return draw.pick((over_line, over_image, pointwise))(draw)


def finished(draw, n):
    """An optional bias and an activation: Triton, PyTorch, words, and whether there is a bias."""
    act, act_torch, words = draw.activation("acc", 0, 1)
    bias = draw.chance(0.6)
    if bias:
        cast = ".to(tl.float32)" if draw.half else ""
        act = [f"bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0){cast}", "acc += bias[None, :]", *act]
    return act, act_torch, words, bias


def over_line(draw):
    """A convolution along one dimension, with stride, padding and dilation, or causal."""
    draw.dtype = draw.pick(("float32", "float32", "float16"))
    batch, channels, length, n = 2, draw.pick((8, 12, 20)), draw.pick((40, 50, 64)), draw.pick((24, 33, 48))
    width, stride, dilation = draw.pick((3, 4, 5)), draw.pick((1, 1, 2)), draw.pick((1, 1, 2))
    causal = draw.chance(0.3)
    stride = 1 if causal else stride
    padding = (width - 1) * dilation if causal else draw.pick((0, 1, 2))
    act, act_torch, words, bias = finished(draw, n)
    positions = ["item = rows // OUT_LENGTH", "first = (rows % OUT_LENGTH) * STRIDE - PADDING"]
    source = [
        "channels = ks // WIDTH",
        "at = first[:, None] + (ks % WIDTH)[None, :] * DILATION",
        "inside = (rows[:, None] < M) & (ks[None, :] < K) & (at >= 0) & (at < LENGTH)",
        "x_ptrs = x_ptr + (item[:, None] * CHANNELS + channels[None, :]) * LENGTH + at",
        "x_tile = tl.load(x_ptrs, mask=inside, other=0.0)",
    ]
    inputs = [Input("x", (batch, channels, length), draw.dtype), Input("weight", (n, channels, width), draw.dtype)]
    inputs += [Input("bias", (n,), draw.dtype)] if bias else []
    last = ", bias" if bias else ""
    options = f"stride={stride}, padding={padding}, dilation={dilation}"
    if causal:
        reference = [f"padded = F.pad(x, ({padding}, 0))", f"acc = F.conv1d(padded, weight{last}, dilation={dilation})"]
        out_length = "LENGTH"
    else:
        reference = [f"acc = F.conv1d(x, weight{last}, {options})"]
        out_length = "(LENGTH + 2 * PADDING - DILATION * (WIDTH - 1) - 1) // STRIDE + 1"
    reference += act_torch
    body = fill(
        CONVOLUTION,
        positions=positions,
        source=source,
        finish=act,
        precision=draw.precision,
        out="(item[:, None] * N + cols[None, :]) * OUT_LENGTH + (rows % OUT_LENGTH)[:, None]",
    )
    value = reference[-1].removeprefix("acc = ")
    scalars = {each: each for each in ("M", "N", "K", "CHANNELS", "LENGTH", "OUT_LENGTH")}
    return Product(
        name_of("causal" if causal else "", "conv1d", "bias" if bias else "", "dilated" if dilation > 1 else "", words),
        inputs,
        [*reference[:-1], f"return {value}"],
        [
            "batch, CHANNELS, LENGTH = x.shape",
            "N, _, WIDTH = weight.shape",
            f"STRIDE, PADDING, DILATION = {stride}, {padding}, {dilation}",
            f"OUT_LENGTH = {out_length}",
            "M, K = batch * OUT_LENGTH, CHANNELS * WIDTH",
        ],
        ["out = torch.empty((batch, N, OUT_LENGTH), device=x.device, dtype=x.dtype)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                scalars,
                {"WIDTH": "WIDTH", "STRIDE": "STRIDE", "PADDING": "PADDING", "DILATION": "DILATION", **draw.blocks()},
                "An implicit product: a row is a position of the result, and K runs over channels and the window.",
                body,
                ("triton.cdiv(M, BLOCK_M)", "triton.cdiv(N, BLOCK_N)"),
            )
        ],
    )


def over_image(draw):
    """A convolution of images."""
    draw.dtype = draw.pick(("float32", "float32", "float16"))
    channels, height, width, n = draw.pick((4, 6, 8)), draw.pick((9, 12)), draw.pick((10, 14)), draw.pick((16, 24, 33))
    window, stride, padding = draw.pick((2, 3)), draw.pick((1, 1, 2)), draw.pick((0, 1))
    act, act_torch, words, bias = finished(draw, n)
    positions = [
        "item = rows // (OUT_H * OUT_W)",
        "place = rows % (OUT_H * OUT_W)",
        "top = (place // OUT_W) * STRIDE - PADDING",
        "left = (place % OUT_W) * STRIDE - PADDING",
    ]
    source = [
        "channels = ks // (WINDOW * WINDOW)",
        "y = top[:, None] + (ks // WINDOW % WINDOW)[None, :]",
        "x = left[:, None] + (ks % WINDOW)[None, :]",
        "inside = (rows[:, None] < M) & (ks[None, :] < K)",
        "inside &= (y >= 0) & (y < HEIGHT) & (x >= 0) & (x < WIDTH)",
        "x_ptrs = x_ptr + ((item[:, None] * CHANNELS + channels[None, :]) * HEIGHT + y) * WIDTH + x",
        "x_tile = tl.load(x_ptrs, mask=inside, other=0.0)",
    ]
    inputs = [Input("x", (2, channels, height, width), draw.dtype), Input("weight", (n, channels, window, window), draw.dtype)]
    inputs += [Input("bias", (n,), draw.dtype)] if bias else []
    reference = [f"acc = F.conv2d(x, weight{', bias' if bias else ''}, stride={stride}, padding={padding})", *act_torch]
    body = fill(
        CONVOLUTION,
        positions=positions,
        source=source,
        finish=act,
        precision=draw.precision,
        out="(item[:, None] * N + cols[None, :]) * OUT_H * OUT_W + place[:, None]",
    )
    sizes = [
        "batch, CHANNELS, HEIGHT, WIDTH = x.shape",
        "N, _, WINDOW, _ = weight.shape",
        f"STRIDE, PADDING = {stride}, {padding}",
        "OUT_H = (HEIGHT + 2 * PADDING - WINDOW) // STRIDE + 1",
        "OUT_W = (WIDTH + 2 * PADDING - WINDOW) // STRIDE + 1",
        "M, K = batch * OUT_H * OUT_W, CHANNELS * WINDOW * WINDOW",
    ]
    names = ("M", "N", "K", "CHANNELS", "HEIGHT", "WIDTH", "OUT_H", "OUT_W")
    return Product(
        name_of("conv2d", "bias" if bias else "", "strided" if stride > 1 else "", words),
        inputs,
        [*reference[:-1], f"return {reference[-1].removeprefix('acc = ')}"],
        sizes,
        ["out = torch.empty((batch, N, OUT_H, OUT_W), device=x.device, dtype=x.dtype)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {each: each for each in names},
                {"WINDOW": "WINDOW", "STRIDE": "STRIDE", "PADDING": "PADDING", **draw.blocks()},
                "An implicit product: a row is a pixel of the result, and K runs over channels and the window.",
                body,
                ("triton.cdiv(M, BLOCK_M)", "triton.cdiv(N, BLOCK_N)"),
            )
        ],
    )


def pointwise(draw):
    """A convolution with a window of one element: channels are mixed at each position."""
    batch, channels, length, n = draw.pick((2, 3)), draw.pick((32, 45, 64)), draw.pick((50, 70)), draw.pick(HEIGHTS)
    act, act_torch, words, bias = finished(draw, n)
    positions = ["item = rows // LENGTH", "place = rows % LENGTH"]
    source = [
        "x_ptrs = x_ptr + (item[:, None] * K + ks[None, :]) * LENGTH + place[:, None]",
        "x_tile = tl.load(x_ptrs, mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)",
    ]
    inputs = [Input("x", (batch, channels, length), draw.dtype), Input("weight", (n, channels), draw.dtype)]
    inputs += [Input("bias", (n,), draw.dtype)] if bias else []
    cast = ".float()" if draw.half else ""
    if draw.chance(0.5):
        reference = [f'acc = torch.einsum("oc,bcl->bol", weight{cast}, x{cast})']
    else:
        reference = [f"acc = weight{cast} @ x{cast}"]
    reference += ["acc = acc + bias[:, None]"] if bias else []
    reference += act_torch
    value = reference[-1].removeprefix("acc = ")
    body = fill(
        CONVOLUTION,
        positions=positions,
        source=source,
        finish=act,
        precision=draw.precision,
        out="(item[:, None] * N + cols[None, :]) * LENGTH + place[:, None]",
    )
    return Product(
        name_of("channel_mix", "bias" if bias else "", words),
        inputs,
        [*reference[:-1], "return " + in_type(draw, value)],
        ["batch, K, LENGTH = x.shape", "N = weight.shape[0]", "M = batch * LENGTH"],
        ["out = torch.empty((batch, N, LENGTH), device=x.device, dtype=x.dtype)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {each: each for each in ("M", "N", "K", "LENGTH")},
                draw.blocks(),
                "Each program mixes the channels of BLOCK_M positions.",
                body,
                ("triton.cdiv(M, BLOCK_M)", "triton.cdiv(N, BLOCK_N)"),
            )
        ],
    )


FAMILIES = (expert_matmul, convolution)
