"""Products whose rows are reduced in the same kernel: softmax, normalisations, losses, nearest entries."""

from .draw import HEIGHTS, name_of
from .text import Input, Kernel, Named, Product, fill, in_type, returned

WHOLE = """
rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
cols = tl.arange(0, BLOCK_N)
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
for start in range(0, K, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    x_tile = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
    w_tile = tl.load(weight_ptr + $w, mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
    acc = tl.dot(x_tile, w_tile, acc$precision)
$reduce
"""
ONLINE = """
rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
$before
for first in range(0, N, BLOCK_N):
    cols = first + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        x_tile = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        w_tile = tl.load(weight_ptr + $w, mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(x_tile, w_tile, acc$precision)
    $scale
    $step
$after
"""
MASK = "mask = (rows[:, None] < M) & (cols[None, :] < N)"
STORE = "tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)"
HIDE = 'acc = tl.where(cols[None, :] < N, acc, -float("inf"))'
# A word; lines of Triton, whose result is stored by rows ("row") or whole ("tile"); lines of PyTorch; extra inputs.
REDUCTIONS = (
    (
        "softmax",
        [HIDE, "acc = tl.exp(acc - tl.max(acc, axis=1)[:, None])", "acc /= tl.sum(acc, axis=1)[:, None]"],
        ["y = torch.softmax(y, dim=-1)"],
        "tile",
        (),
    ),
    (
        "log_softmax",
        [HIDE, "acc -= tl.max(acc, axis=1)[:, None]", "acc -= tl.log(tl.sum(tl.exp(acc), axis=1))[:, None]"],
        ["y = torch.log_softmax(y, dim=-1)"],
        "tile",
        (),
    ),
    (
        "layer_norm",
        [
            "mean = tl.sum(acc, axis=1) / N",
            "centred = tl.where(cols[None, :] < N, acc - mean[:, None], 0.0)",
            "rstd = tl.rsqrt(tl.sum(centred * centred, axis=1) / N + 1e-5)",
            "gamma = tl.load(gamma_ptr + cols, mask=cols < N, other=0.0)CAST",
            "beta = tl.load(beta_ptr + cols, mask=cols < N, other=0.0)CAST",
            "acc = centred * rstd[:, None] * gamma[None, :] + beta[None, :]",
        ],
        ["y = F.layer_norm(y, y.shape[-1:], gamma, beta)"],
        "tile",
        ("gamma", "beta"),
    ),
    (
        "rms_norm",
        [
            "rstd = tl.rsqrt(tl.sum(acc * acc, axis=1) / N + 1e-6)",
            "gamma = tl.load(gamma_ptr + cols, mask=cols < N, other=0.0)CAST",
            "acc = acc * rstd[:, None] * gamma[None, :]",
        ],
        ["rms = torch.sqrt((y * y).mean(dim=-1, keepdim=True) + 1e-6)", "y = y / rms * gamma"],
        "tile",
        ("gamma",),
    ),
    (
        "normalize",
        ["norm = tl.sqrt(tl.sum(acc * acc, axis=1))", "acc /= tl.maximum(norm, 1e-12)[:, None]"],
        ["y = F.normalize(y, dim=-1)"],
        "tile",
        (),
    ),
    ("amax", [HIDE, "result = tl.max(acc, axis=1)"], ["y = torch.amax(y, dim=-1)"], "row", ()),
    ("squares", ["result = tl.sum(acc * acc, axis=1)"], ["y = (y * y).sum(dim=-1)"], "row", ()),
    (
        "mean",
        ["acc = tl.where(cols[None, :] < N, acc, 0.0)", "result = tl.sum(acc, axis=1) / N"],
        ["y = y.mean(dim=-1)"],
        "row",
        (),
    ),
    (
        "logsumexp",
        [HIDE, "peak = tl.max(acc, axis=1)", "result = peak + tl.log(tl.sum(tl.exp(acc - peak[:, None]), axis=1))"],
        ["y = torch.logsumexp(y, dim=-1)"],
        "row",
        (),
    ),
    (
        "weighted",
        ["v = tl.load(v_ptr + cols, mask=cols < N, other=0.0)CAST", "result = tl.sum(acc * v[None, :], axis=1)"],
        ["y = y @ v"],
        "row",
        ("v",),
    ),
)


def row_matmul(draw):
    """A product and a reduction of its rows: all columns in one tile, or tiles one after another with running values."""
    return online(draw) if draw.chance(0.4) else whole(draw)


def parts_of(draw, width):
    """Sizes, the address of a weight tile, the inputs and the reference's product."""
    m, n, k = draw.pick(HEIGHTS), width, draw.pick((32, 45, 64, 80))
    transposed = draw.chance(0.5)
    w = "cols[None, :] * K + ks[:, None]" if transposed else "ks[:, None] * N + cols[None, :]"
    inputs = [Input("x", (m, k), draw.dtype), Input("weight", (n, k) if transposed else (k, n), draw.dtype)]
    first = "F.linear(x, weight)" if transposed else "x @ weight"
    if draw.half:
        first = f"(x @ weight{'.t()' if transposed else ''}).float()"
    return m, n, w, inputs, [f"y = {first}"], ["M, K = x.shape", f"N = weight.shape[{0 if transposed else 1}]"]


def whole(draw):
    """All columns of a row in one tile."""
    m, n, w, inputs, torch, sizes = parts_of(draw, draw.pick((40, 56, 72, 100)))
    word, triton, more, form, extra = draw.pick(REDUCTIONS)
    cast = ".to(tl.float32)" if draw.half else ""
    act, act_torch, words = draw.activation("acc", 0, 1)
    bias = draw.chance(0.5)
    body = []
    if bias:
        body += [f"bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0){cast}", "acc += bias[None, :]"]
        torch += ["y = y + bias"]
        inputs.append(Input("bias", (n,), draw.dtype))
    body += act
    if form == "row" and act and word in ("squares",) or word in ("layer_norm", "rms_norm", "normalize") and (act or bias):
        body += ["acc = tl.where(cols[None, :] < N, acc, 0.0)"]
    body += [line.replace("CAST", cast) for line in triton]
    torch += [line.replace("acc", "y") for line in act_torch]
    for name in extra:
        inputs.append(Input(name, (n,), draw.dtype))
    torch += [
        line.replace("gamma", "gamma.float()" if draw.half else "gamma")
        .replace("beta", "beta.float()" if draw.half else "beta")
        .replace("@ v", "@ v.float()" if draw.half else "@ v")
        for line in more
    ]
    if form == "tile":
        body += [MASK, STORE]
        shape = "(M, N)"
    else:
        body += ["tl.store(out_ptr + rows, result, mask=rows < M)"]
        shape = "(M,)"
    value = torch[-1].removeprefix("y = ")
    torch = [*torch[:-1], "return " + in_type(draw, value)]
    constants = {"BLOCK_M": draw.pick((16, 32)), "BLOCK_N": "triton.next_power_of_2(N)", "BLOCK_K": draw.pick((32, 64))}
    return Product(
        name_of("linear", "bias" if bias else "", words, word),
        inputs,
        torch,
        sizes,
        [f"out = torch.empty({shape}, device=x.device, dtype=x.dtype)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {each: each for each in "MNK"},
                constants,
                "Each program computes BLOCK_M whole rows of the product, so that it can reduce them.",
                fill(WHOLE, w=w, precision=draw.precision, reduce=body),
                ("triton.cdiv(M, BLOCK_M)",),
            )
        ],
    )


def online(draw):
    """Tiles of columns one after another: the product is never stored."""
    draw.dtype = draw.pick(("float32", "float32", "float16"))
    m, n, w, inputs, torch, sizes = parts_of(draw, draw.pick((150, 200, 260)))
    kind = draw.pick(("logsumexp", "cross_entropy", "amax", "argmax", "squares", "relu_sum"))
    scale = draw.pick(("", "", "acc *= 0.5", "acc *= 0.25"))
    factor = scale.removeprefix("acc *= ")
    if factor:
        torch += [f"y = y * {factor}"]
    hide = 'acc = tl.where(cols[None, :] < N, acc, -float("inf"))'
    running = ['peak = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)', "total = tl.zeros((BLOCK_M,), dtype=tl.float32)"]
    update = [
        hide,
        "new_peak = tl.maximum(peak, tl.max(acc, axis=1))",
        "total = total * tl.exp(peak - new_peak) + tl.sum(tl.exp(acc - new_peak[:, None]), axis=1)",
        "peak = new_peak",
    ]
    dtype = "x.dtype"
    if kind == "logsumexp":
        before, step, result = running, update, "peak + tl.log(total)"
        torch += ["y = torch.logsumexp(y, dim=-1)"]
    elif kind == "cross_entropy":
        before = [
            *running,
            "picked = tl.zeros((BLOCK_M,), dtype=tl.float32)",
            "target = tl.load(target_ptr + rows, mask=rows < M, other=0)",
        ]
        step = [*update, "picked += tl.sum(tl.where(cols[None, :] == target[:, None], acc, 0.0), axis=1)"]
        result = "peak + tl.log(total) - picked"
        torch += ['y = F.cross_entropy(y, target, reduction="none")']
        classes = Named(n, "CLASSES")
        inputs[1].sizes = tuple(classes if each == n else each for each in inputs[1].sizes)
        inputs.append(Input("target", (m,), "int64", f"torch.randint(0, {classes}, ({m},))"))
    elif kind == "amax":
        before, step, result = running[:1], [hide, "peak = tl.maximum(peak, tl.max(acc, axis=1))"], "peak"
        torch += ["y = torch.amax(y, dim=-1)"]
    elif kind == "argmax":
        draw.dtype, dtype = "float32", "torch.int64"
        inputs[0].dtype = inputs[1].dtype = "float32"
        torch[0] = torch[0].replace("(x @", "x @").replace(").float()", "")
        before = [running[0], "best = tl.zeros((BLOCK_M,), dtype=tl.int32)"]
        step = [
            hide,
            "tile_peak = tl.max(acc, axis=1)",
            "tile_best = first + tl.argmax(acc, axis=1)",
            "best = tl.where(tile_peak > peak, tile_best, best)",
            "peak = tl.maximum(peak, tile_peak)",
        ]
        result = "best"
        torch += ["y = torch.argmax(y, dim=-1)"]
    else:
        before = running[1:]
        inner = {"squares": "acc * acc", "relu_sum": "tl.maximum(acc, 0.0)"}[kind]
        step, result = [f"total += tl.sum({inner}, axis=1)"], "total"
        torch += ["y = (y * y).sum(dim=-1)" if kind == "squares" else "y = torch.relu(y).sum(dim=-1)"]
    if draw.half and kind != "argmax":
        torch[-1] += ".to(torch.float16)"
    after = f"tl.store(out_ptr + rows, {result}, mask=rows < M)"
    body = fill(ONLINE, w=w, precision=draw.precision, before=before, step=step, after=after, scale=scale)
    return Product(
        name_of("linear", "scaled" if factor else "", kind),
        inputs,
        returned(torch),
        sizes,
        [f"out = torch.empty((M,), device=x.device, dtype={dtype})"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {each: each for each in "MNK"},
                {"BLOCK_M": draw.pick((16, 32)), "BLOCK_N": 64, "BLOCK_K": draw.pick((32, 64))},
                "Each program walks the columns of BLOCK_M rows tile by tile; the product is never stored.",
                body,
                ("triton.cdiv(M, BLOCK_M)",),
            )
        ],
    )


FAMILIES = (row_matmul,)
