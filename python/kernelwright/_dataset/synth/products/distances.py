"""All pairs of rows of two tables: distances, similarities, kernels of machine learning, covariances."""

from .draw import HEIGHTS, name_of
from .text import Input, Kernel, Product, fill, in_type
from .tiles import programs

PAIRS = """
$lines
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
$sums
for start in range(0, K, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    x_tile = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
    y_tile = tl.load($y, mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
    acc = tl.dot(x_tile, y_tile, acc$precision)
    $squares
mask = (rows[:, None] < M) & (cols[None, :] < N)
$finish
tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)
"""
NEAREST = """
rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
ks = tl.arange(0, BLOCK_K)
x = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
best = tl.full((BLOCK_M,), float("inf"), dtype=tl.float32)
$index
for first in range(0, N, BLOCK_N):
    cols = first + tl.arange(0, BLOCK_N)
    y = tl.load(y_ptr + cols[:, None] * K + ks[None, :], mask=(cols[:, None] < N) & (ks[None, :] < K), other=0.0)
    distance = tl.sum(y * y, axis=1)[None, :] - 2.0 * tl.dot(x, tl.trans(y)$precision)
    distance = tl.where(cols[None, :] < N, distance, float("inf"))
    least = tl.min(distance, axis=1)
    $update
    best = tl.minimum(best, least)
$store
"""
COVARIANCE = """
$lines
$means
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
for start in range(0, K, BLOCK_K):
    ks = start + tl.arange(0, BLOCK_K)
    left = tl.load(x_ptr + ks[None, :] * M + rows[:, None], mask=(ks[None, :] < K) & (rows[:, None] < M), other=0.0)
    right = tl.load($right, mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
    $centre
    acc = tl.dot(left, right, acc$precision)
mask = (rows[:, None] < M) & (cols[None, :] < N)
$finish
tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)
"""


def pair_distances(draw):
    """A value for each pair of rows, the nearest row of a table, or a covariance of columns."""
    return draw.pick((pairs, pairs, nearest, covariance))(draw)


def pairs(draw):
    """A function of the product of two rows, and possibly of their squared lengths."""
    m, n, k = draw.pick(HEIGHTS), draw.pick((40, 56, 72)), draw.pick((32, 45, 64, 80))
    same = draw.chance(0.25)
    kind = draw.pick(
        ("squared", "euclidean", "gaussian", "cosine", "polynomial", "sigmoid", "cauchy", "laplace_like", "angular")
    )
    lines, grid, constants, sentence = programs(draw)
    gamma = draw.pick((0.005, 0.01, 0.02))
    cast = ".float()" if draw.half else ""
    other = "x" if same else "y"
    dot = f"x{cast} @ {other}{cast}.t()"
    needs_lengths = kind not in ("polynomial", "sigmoid")
    y = "x_ptr + cols[None, :] * K + ks[:, None]" if same else "y_ptr + cols[None, :] * K + ks[:, None]"
    wide = ".to(tl.float32)" if draw.half else ""
    sums, squares = [], []
    if needs_lengths:
        sums = ["x_sq = tl.zeros((BLOCK_M,), dtype=tl.float32)", "y_sq = tl.zeros((BLOCK_N,), dtype=tl.float32)"]
        if wide:
            squares = [
                "x_wide = x_tile.to(tl.float32)",
                "y_wide = y_tile.to(tl.float32)",
                "x_sq += tl.sum(x_wide * x_wide, axis=1)",
                "y_sq += tl.sum(y_wide * y_wide, axis=0)",
            ]
        else:
            squares = ["x_sq += tl.sum(x_tile * x_tile, axis=1)", "y_sq += tl.sum(y_tile * y_tile, axis=0)"]
    distance = "acc = tl.maximum(x_sq[:, None] + y_sq[None, :] - 2.0 * acc, 0.0)"
    lengths = [f"x_sq = (x{cast} * x{cast}).sum(dim=1)", f"y_sq = ({other}{cast} * {other}{cast}).sum(dim=1)"]
    measured = [*lengths, f"distance = torch.clamp(x_sq[:, None] + y_sq - 2.0 * ({dot}), min=0.0)"]
    power = draw.pick((2, 3))
    triton, torch, value = {
        "squared": ([distance], measured, "distance"),
        "euclidean": ([distance, "acc = tl.sqrt(acc + 1e-6)"], measured, "torch.sqrt(distance + 1e-6)"),
        "gaussian": ([distance, "acc = tl.exp(-gamma * acc)"], measured, f"torch.exp(-{gamma} * distance)"),
        "cauchy": ([distance, "acc = 1.0 / (1.0 + gamma * acc)"], measured, f"1.0 / (1.0 + {gamma} * distance)"),
        "laplace_like": (
            [distance, "acc = tl.exp(-gamma * tl.sqrt(acc + 1e-6))"],
            measured,
            f"torch.exp(-{gamma} * torch.sqrt(distance + 1e-6))",
        ),
        "cosine": (
            ["acc *= tl.rsqrt(x_sq[:, None] * y_sq[None, :] + 1e-8)"],
            lengths,
            f"({dot}) * torch.rsqrt(x_sq[:, None] * y_sq + 1e-8)",
        ),
        "angular": (
            ["acc *= tl.rsqrt(x_sq[:, None] * y_sq[None, :] + 1e-8)", "acc = 0.5 - 0.5 * acc"],
            lengths,
            f"0.5 - 0.5 * ({dot}) * torch.rsqrt(x_sq[:, None] * y_sq + 1e-8)",
        ),
        "polynomial": (
            ["acc = gamma * acc + 1.0", "acc = acc * acc" + (" * acc" if power == 3 else "")],
            [],
            f"({gamma} * ({dot}) + 1.0) ** {power}",
        ),
        "sigmoid": (["acc = tl.sigmoid(gamma * acc + 0.5)"], [], f"torch.sigmoid({gamma} * ({dot}) + 0.5)"),
    }[kind]
    if same and kind == "euclidean":  # a root of almost 0 on the diagonal is not exact
        kind, triton, value = "squared", triton[:1], "distance"
    inputs = [Input("x", (m, k), draw.dtype)] + ([] if same else [Input("y", (n, k), draw.dtype)])
    body = fill(PAIRS, lines=lines, sums=sums, y=y, squares=squares, precision=draw.precision, finish=triton)
    sizes = ["M, K = x.shape", "N = M" if same else "N = y.shape[0]"]
    return Product(
        name_of("self" if same else "", kind, "similarity" if kind in ("cosine", "sigmoid", "polynomial") else "distances"),
        inputs,
        [*torch, "return " + in_type(draw, value)],
        sizes,
        ["out = torch.empty((M, N), device=x.device, dtype=x.dtype)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {"M": "M", "N": "N", "K": "K", "gamma": str(gamma)},
                {**draw.blocks(), **constants},
                "Each program compares BLOCK_M rows with BLOCK_N rows by their products"
                + (", and adds up the squares on the way." if needs_lengths else ".")
                + sentence,
                body,
                grid,
            )
        ],
    )


def nearest(draw):
    """The nearest row of a table: its place or its distance."""
    draw.dtype = "float32"
    m, n, k = draw.pick(HEIGHTS), draw.pick((100, 130, 150)), draw.pick((20, 32, 45))
    place = draw.chance(0.5)
    index = ["best_at = tl.zeros((BLOCK_M,), dtype=tl.int32)"] if place else []
    update = ["best_at = tl.where(least < best, first + tl.argmin(distance, axis=1), best_at)"] if place else []
    store = (
        ["tl.store(out_ptr + rows, best_at, mask=rows < M)"]
        if place
        else ["best += tl.sum(x * x, axis=1)", "tl.store(out_ptr + rows, best, mask=rows < M)"]
    )
    reference = [
        "distance = (x * x).sum(dim=1, keepdim=True) - 2.0 * (x @ y.t()) + (y * y).sum(dim=1)",
        f"return {'torch.argmin' if place else 'torch.amin'}(distance, dim=1)",
    ]
    body = fill(NEAREST, index=index, update=update, store=store, precision=draw.precision)
    return Product(
        name_of("nearest", "index" if place else "distance"),
        [Input("x", (m, k), draw.dtype), Input("y", (n, k), draw.dtype)],
        reference,
        ["M, K = x.shape", "N = y.shape[0]"],
        [f"out = torch.empty((M,), device=x.device, dtype={'torch.int64' if place else 'x.dtype'})"],
        [
            Kernel(
                ["x", "y", "out"],
                {each: each for each in "MNK"},
                {
                    "BLOCK_M": draw.pick((16, 32)),
                    "BLOCK_N": draw.pick((32, 64)),
                    "BLOCK_K": "max(16, triton.next_power_of_2(K))",
                },
                "Each program looks for the nearest row of the table for BLOCK_M rows. "
                "The length of x does not change the order, so it is left out of the search.",
                body,
                ("triton.cdiv(M, BLOCK_M)",),
            )
        ],
    )


def covariance(draw):
    """Products of columns, added up over rows: second moments, covariances, cross-covariances, weight gradients."""
    draw.dtype = "float32"
    m, n, k = draw.pick((24, 33, 48)), draw.pick((40, 56, 72)), draw.pick((96, 130, 200))
    cross, centred = draw.chance(0.5), draw.chance(0.6)
    factor = draw.pick(("mean", "unbiased", "sum")) if not centred else draw.pick(("mean", "unbiased"))
    lines, grid, constants, sentence = programs(draw)
    right = "y_ptr + ks[:, None] * N + cols[None, :]" if cross else "x_ptr + ks[:, None] * M + cols[None, :]"
    means, centre, torch = [], [], []
    inputs = [Input("x", (k, m), draw.dtype)] + ([Input("y", (k, n), draw.dtype)] if cross else [])
    one, other = "x", "y" if cross else "x"
    if centred:
        inputs.append(Input("x_mean", (m,), draw.dtype))
        means = ["left_mean = tl.load(x_mean_ptr + rows, mask=rows < M, other=0.0)"]
        if cross:
            inputs.append(Input("y_mean", (n,), draw.dtype))
            means += ["right_mean = tl.load(y_mean_ptr + cols, mask=cols < N, other=0.0)"]
        else:
            means += ["right_mean = tl.load(x_mean_ptr + cols, mask=cols < N, other=0.0)"]
        centre = ["left = tl.where(ks[None, :] < K, left - left_mean[:, None], 0.0)", "right = right - right_mean[None, :]"]
        torch = ["x_centred = x - x_mean"] + (["y_centred = y - y_mean"] if cross else [])
        one, other = "x_centred", "y_centred" if cross else "x_centred"
    value = {
        "mean": f"{one}.t() @ {other} / x.shape[0]",
        "unbiased": f"{one}.t() @ {other} / (x.shape[0] - 1)",
        "sum": f"{one}.t() @ {other}",
    }
    finish = {"mean": ["acc /= K"], "unbiased": ["acc /= K - 1"], "sum": []}[factor]
    decay = draw.chance(0.4)
    result = value[factor]
    if decay:
        rate = draw.pick((0.9, 0.95, 0.99))
        inputs.append(Input("running", (m, n if cross else m), draw.dtype))
        finish = [
            *finish,
            "running = tl.load(running_ptr + rows[:, None] * N + cols[None, :], mask=mask, other=0.0)",
            f"acc = {rate} * running + {round(1 - rate, 2)} * acc",
        ]
        result = f"{rate} * running + {round(1 - rate, 2)} * ({result})"
    body = fill(COVARIANCE, lines=lines, means=means, right=right, centre=centre, precision=draw.precision, finish=finish)
    return Product(
        name_of("running" if decay else "", "cross" if cross else "", "covariance" if centred else "moment", factor),
        inputs,
        [*torch, f"return {result}"],
        ["K, M = x.shape", "N = y.shape[1]" if cross else "N = M"],
        ["out = torch.empty((M, N), device=x.device, dtype=x.dtype)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {each: each for each in "MNK"},
                {**draw.blocks(), **constants},
                "Each program adds up the outer products of all rows for a tile of pairs of columns." + sentence,
                body,
                grid,
            )
        ],
    )


FAMILIES = (pair_distances,)
