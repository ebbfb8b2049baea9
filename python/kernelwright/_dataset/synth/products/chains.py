"""Several products in one kernel: gates, sums of two products, low-rank updates, chains and two layers."""

from .draw import HEIGHTS, TAME, WIDTHS, name_of
from .text import Input, Kernel, Product, fill, in_type, weights
from .tiles import programs

TWO = """
$lines
$zeros
for start in range(0, K, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    x_tile = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
    w_mask = (ks[:, None] < K) & (cols[None, :] < N)
    $products
mask = (rows[:, None] < M) & (cols[None, :] < N)
$finish
tl.store(out_ptr + rows[:, None] * N + cols[None, :], $value, mask=mask)
"""
CELL = """
$lines
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
for start in range(0, K, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    x_tile = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
    w_tile = tl.load(w_x_ptr + $w_x, mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
    acc = tl.dot(x_tile, w_tile, acc$precision)
for start in range(0, H, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    h_tile = tl.load(h_ptr + rows[:, None] * H + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < H), other=0.0)
    w_tile = tl.load(w_h_ptr + $w_h, mask=(ks[:, None] < H) & (cols[None, :] < N), other=0.0)
    acc = tl.dot(h_tile, w_tile, acc$precision)
mask = (rows[:, None] < M) & (cols[None, :] < N)
$finish
tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)
"""
LOW_RANK = """
$lines
rs = tl.arange(0, BLOCK_R)
$acc
inner = tl.zeros((BLOCK_M, BLOCK_R), dtype=tl.float32)
for start in range(0, K, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    x_tile = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
    $first
    a_tile = tl.load(a_ptr + $a, mask=(ks[:, None] < K) & (rs[None, :] < R), other=0.0)
    inner = tl.dot(x_tile, a_tile, inner$precision)
$between
b_tile = tl.load(b_ptr + $b, mask=(rs[:, None] < R) & (cols[None, :] < N), other=0.0)
$second
mask = (rows[:, None] < M) & (cols[None, :] < N)
$finish
tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)
"""
LAYERS = """
rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
cols = tl.arange(0, BLOCK_N)
ks = tl.arange(0, BLOCK_K)
x = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
for start in range(0, H, BLOCK_H):
    hs = start + tl.arange(0, BLOCK_H)
    w1 = tl.load(w1_ptr + $w1, mask=(ks[:, None] < K) & (hs[None, :] < H), other=0.0)
    hidden = tl.dot(x, w1$precision)
    $hidden
    w2 = tl.load(w2_ptr + $w2, mask=(hs[:, None] < H) & (cols[None, :] < N), other=0.0)
    acc = tl.dot(hidden$narrow, w2, acc$precision)
mask = (rows[:, None] < M) & (cols[None, :] < N)
$finish
tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)
"""
GATES = (
    ("silu", "gate * tl.sigmoid(gate) * up", "F.silu(gate) * up"),
    ("gelu", "0.5 * gate * (1.0 + tl.erf(gate * 0.70710678)) * up", "F.gelu(gate) * up"),
    ("relu", "tl.maximum(gate, 0.0) * up", "torch.relu(gate) * up"),
    ("sigmoid", "tl.sigmoid(gate) * up", "torch.sigmoid(gate) * up"),
    ("mul", "gate * up", "gate * up"),
    ("squared_relu", "tl.maximum(gate, 0.0) * tl.maximum(gate, 0.0) * up", "torch.relu(gate) ** 2 * up"),
    (
        "highway",
        "tl.sigmoid(gate) * up + (1.0 - tl.sigmoid(gate)) * skip",
        "torch.sigmoid(gate) * up + (1.0 - torch.sigmoid(gate)) * skip",
    ),
)


def weight_of(draw, inner, outer, transposed):
    """The address of a tile of a weight matrix: inner index down, outer across."""
    (i, size_i), (o, size_o) = inner, outer
    return f"{o}[None, :] * {size_i} + {i}[:, None]" if transposed else f"{i}[:, None] * {size_o} + {o}[None, :]"


def result(draw, lines, value):
    """The reference's lines with the returned value."""
    return [*lines, "return " + in_type(draw, value)]


def bias_lines(draw, name, target):
    """A bias of the columns, added to a variable."""
    cast = ".to(tl.float32)" if draw.half else ""
    return [f"{name} = tl.load({name}_ptr + cols, mask=cols < N, other=0.0){cast}", f"{target} += {name}[None, :]"]


def gated_matmul(draw):
    """Two products of one input that gate each other; the weights are two matrices, or the halves of one."""
    m, n, k = draw.pick(HEIGHTS), draw.pick(WIDTHS), draw.pick((32, 45, 64, 80))
    word, triton, torch = draw.pick(GATES)
    transposed, packed, bias = draw.chance(0.5), draw.chance(0.4), draw.chance(0.4)
    lines, grid, constants, sentence = programs(draw)
    tile = weight_of(draw, ("ks", "K"), ("cols", "N"), transposed)
    x = "x.float()" if draw.half else "x"
    cast = ".float()" if draw.half else ""
    inputs = [Input("x", (m, k), draw.dtype)]
    if packed:
        half = {True: "N * K + ", False: "N + "}[transposed]
        tile = tile if transposed else "ks[:, None] * 2 * N + cols[None, :]"
        inputs.append(Input("weight", (2 * n, k) if transposed else (k, 2 * n), draw.dtype))
        pointers = ("weight_ptr + ", f"weight_ptr + {half}")
        half_width = f"weight.shape[{0 if transposed else 1}] // 2"
        reference = [f"gate, up = ({x} @ weight{cast}{'.t()' if transposed else ''}).split({half_width}, dim=-1)"]
        sizes = ["M, K = x.shape", f"N = weight.shape[{0 if transposed else 1}] // 2"]
    else:
        inputs += [Input(name, (n, k) if transposed else (k, n), draw.dtype) for name in ("w_gate", "w_up")]
        pointers = ("w_gate_ptr + ", "w_up_ptr + ")
        reference = [f"{side} = {x} @ w_{side}{cast}{'.t()' if transposed else ''}" for side in ("gate", "up")]
        sizes = ["M, K = x.shape", f"N = w_gate.shape[{0 if transposed else 1}]"]
    products = []
    for side, pointer in zip(("gate", "up"), pointers):
        products += [
            f"{side}_tile = tl.load({pointer}{tile}, mask=w_mask, other=0.0)",
            f"{side} = tl.dot(x_tile, {side}_tile, {side}{draw.precision})",
        ]
    finish = []
    if bias:
        for side in ("gate", "up"):
            inputs.append(Input(f"b_{side}", (n,), draw.dtype))
            finish += bias_lines(draw, f"b_{side}", side)
            reference.append(f"{side} = {side} + b_{side}")
    if word == "highway":
        inputs.append(Input("skip", (m, n), draw.dtype))
        finish.append(
            "skip = tl.load(skip_ptr + rows[:, None] * N + cols[None, :], mask=mask, other=0.0)"
            + (".to(tl.float32)" if draw.half else "")
        )
    body = fill(
        TWO,
        lines=lines,
        zeros=[f"{side} = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)" for side in ("gate", "up")],
        products=products,
        finish=finish,
        value=triton,
    )
    return Product(
        name_of("packed" if packed else "", word, "gated", "bias" if bias else "", "nt" if transposed else "", "matmul"),
        inputs,
        result(draw, reference, torch),
        sizes,
        ["out = torch.empty((M, N), device=x.device, dtype=x.dtype)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {each: each for each in "MNK"},
                {**draw.blocks(), **constants},
                "Each program computes both products of a tile, so that neither is stored." + sentence,
                body,
                grid,
            )
        ],
    )


def cell(draw):
    """The sum of two products of two inputs, as in a recurrent cell."""
    m, n, k, h = draw.pick(HEIGHTS), draw.pick((40, 56, 72)), draw.pick((32, 45, 64)), draw.pick((80, 96))
    act, act_torch, words = draw.activation("acc", 0, 2)
    transposed, bias = draw.chance(0.5), draw.chance(0.7)
    lines, grid, constants, sentence = programs(draw)
    shapes = ((n, k), (n, h)) if transposed else ((k, n), (h, n))
    inputs = [
        Input("x", (m, k), draw.dtype),
        Input("h", (m, h), draw.dtype),
        Input("w_x", shapes[0], draw.dtype),
        Input("w_h", shapes[1], draw.dtype),
    ]
    end, cast = (".t()" if transposed else ""), (".float()" if draw.half else "")
    reference = [f"acc = x{cast} @ w_x{cast}{end} + h{cast} @ w_h{cast}{end}"]
    finish = []
    if bias:
        inputs.append(Input("bias", (n,), draw.dtype))
        finish += bias_lines(draw, "bias", "acc")
        reference += ["acc = acc + bias"]
    lines_torch = [*reference, *act_torch]
    body = fill(
        CELL,
        lines=lines,
        w_x=weight_of(draw, ("ks", "K"), ("cols", "N"), transposed),
        w_h=weight_of(draw, ("ks", "H"), ("cols", "N"), transposed),
        precision=draw.precision,
        finish=[*finish, *act],
    )
    return Product(
        name_of("two_products", "bias" if bias else "", words),
        inputs,
        result(draw, lines_torch[:-1], lines_torch[-1].removeprefix("acc = ")),
        ["M, K = x.shape", "H = h.shape[1]", f"N = w_x.shape[{0 if transposed else 1}]"],
        ["out = torch.empty((M, N), device=x.device, dtype=x.dtype)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {each: each for each in "MNKH"},
                {**draw.blocks(), **constants},
                "Each program adds two products in one accumulator." + sentence,
                body,
                grid,
            )
        ],
    )


def low_rank(draw):
    """A chain x A B through a small rank, alone or added to a full product, with functions between and after."""
    m, n, k, r = draw.pick(HEIGHTS), draw.pick(WIDTHS), draw.pick((45, 64, 80)), draw.pick((4, 8, 16, 20))
    added, transposed = draw.chance(0.55), draw.chance(0.5)
    between, between_torch, words = draw.activation("inner", 0, 1) if not added else ([], [], [])
    if between:
        between = [*between, "inner = tl.where(rs[None, :] < R, inner, 0.0)"]
    act, act_torch, more = draw.activation("acc", 0, 1)
    factor = draw.pick((0.25, 0.5, 2.0))
    lines, grid, constants, sentence = programs(draw)
    inputs = [Input("x", (m, k), draw.dtype)]
    end, cast = (".t()" if transposed else ""), (".float()" if draw.half else "")
    if added:
        inputs.append(weights(draw, "weight", (n, k) if transposed else (k, n), k))
    inputs += [weights(draw, "a", (r, k) if transposed else (k, r), k), weights(draw, "b", (n, r) if transposed else (r, n), r)]
    inner = f"x{cast} @ a{cast}{end}"
    narrow = ".to(b_tile.dtype)" if draw.half else ""
    if added:
        w = weight_of(draw, ("ks", "K"), ("cols", "N"), transposed)
        first = [
            f"w_tile = tl.load(weight_ptr + {w}, mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)",
            f"acc = tl.dot(x_tile, w_tile, acc{draw.precision})",
        ]
        second = [f"acc += scaling * tl.dot(inner{narrow}, b_tile{draw.precision})"]
        reference = [f"acc = x{cast} @ weight{cast}{end} + {factor} * ({inner} @ b{cast}{end})"]
    else:
        first, second = [], [f"acc = tl.dot(inner{narrow}, b_tile{draw.precision})"]
        reference = [f"inner = {inner}", *between_torch, f"acc = inner @ b{cast}{end}"]
    finish = []
    if draw.chance(0.4):
        inputs.append(Input("bias", (n,), draw.dtype))
        finish += bias_lines(draw, "bias", "acc")
        reference += ["acc = acc + bias"]
    reference += act_torch
    body = fill(
        LOW_RANK,
        lines=lines,
        first=first,
        second=second,
        between=between,
        finish=[*finish, *act],
        acc=["acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)"] if added else [],
        a=weight_of(draw, ("ks", "K"), ("rs", "R"), transposed),
        b=weight_of(draw, ("rs", "R"), ("cols", "N"), transposed),
        precision=draw.precision,
    )
    place = (0, 1) if transposed else (1, 0)
    return Product(
        name_of("lora" if added else "low_rank", words, "matmul", more),
        inputs,
        result(draw, reference[:-1], reference[-1].removeprefix("acc = ")),
        ["M, K = x.shape", f"R, N = a.shape[{place[0]}], b.shape[{place[0]}]"],
        ["out = torch.empty((M, N), device=x.device, dtype=x.dtype)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {"M": "M", "N": "N", "K": "K", "R": "R", "scaling": str(factor)},
                {**draw.blocks(), "BLOCK_R": "max(16, triton.next_power_of_2(R))", **constants},
                "The product with the low-rank factor stays in registers; BLOCK_R covers the rank." + sentence,
                body,
                grid,
            )
        ],
    )


def layers(draw):
    """Two layers: a tile of the hidden layer is computed, and multiplied at once with its part of the second weights."""
    m, n, k, h = draw.pick(HEIGHTS), draw.pick((40, 56)), draw.pick((32, 45, 64)), draw.pick((96, 130, 160))
    first, second = draw.chance(0.5), draw.chance(0.5)
    act, act_torch, words = draw.both(draw.apply(TAME, "hidden"), "hidden")
    end, cast = {True: ".t()", False: ""}, (".float()" if draw.half else "")
    inputs = [
        Input("x", (m, k), draw.dtype),
        weights(draw, "w1", (h, k) if first else (k, h), k),
        weights(draw, "w2", (n, h) if second else (h, n), h),
    ]
    hidden, reference = [], [f"hidden = x{cast} @ w1{cast}{end[first]}"]
    if draw.chance(0.4):
        inputs.append(Input("b1", (h,), draw.dtype))
        hidden += [
            f"b1 = tl.load(b1_ptr + hs, mask=hs < H, other=0.0){'.to(tl.float32)' if draw.half else ''}",
            "hidden += b1[None, :]",
        ]
        reference += ["hidden = hidden + b1"]
    reference += [*act_torch, f"acc = hidden @ w2{cast}{end[second]}"]
    finish = []
    if draw.chance(0.4):
        inputs.append(Input("b2", (n,), draw.dtype))
        finish += bias_lines(draw, "b2", "acc")
        reference += ["acc = acc + b2"]
    body = fill(
        LAYERS,
        w1=weight_of(draw, ("ks", "K"), ("hs", "H"), first),
        w2=weight_of(draw, ("hs", "H"), ("cols", "N"), second),
        hidden=[*hidden, *act],
        finish=finish,
        precision=draw.precision,
        narrow=".to(w2.dtype)" if draw.half else "",
    )
    return Product(
        name_of("two_layers", words),
        inputs,
        result(draw, reference[:-1], reference[-1].removeprefix("acc = ")),
        ["M, K = x.shape", f"H, N = w1.shape[{0 if first else 1}], w2.shape[{0 if second else 1}]"],
        ["out = torch.empty((M, N), device=x.device, dtype=x.dtype)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {each: each for each in "MNKH"},
                {
                    "BLOCK_M": draw.pick((16, 32)),
                    "BLOCK_N": "triton.next_power_of_2(N)",
                    "BLOCK_K": "triton.next_power_of_2(K)",
                    "BLOCK_H": draw.pick((32, 64)),
                },
                "Each program walks the hidden layer tile by tile: a tile is used as soon as it is there.",
                body,
                ("triton.cdiv(M, BLOCK_M)",),
            )
        ],
    )


def chained_matmul(draw):
    """Two layers, or the sum of two products."""
    return draw.pick((layers, cell))(draw)


FAMILIES = (gated_matmul, low_rank, chained_matmul)
