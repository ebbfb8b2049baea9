"""Products of two matrices: tiles with epilogues, batches, and sums over the inner dimension by several programs."""

from .draw import DEPTHS, HEIGHTS, WIDTHS, name_of
from .text import Input, Kernel, Product, fill, returned
from .tiles import Operand, epilogue, inner_loop, programs

NAMES = (("a", "b"), ("x", "weight"), ("lhs", "rhs"), ("hidden", "weight"), ("features", "projection"))
LAYOUTS = {"": (False, False), "nt": (False, True), "tn": (True, False)}


def operands(draw, layouts, base=("", "")):
    """Two matrices in one of some layouts, and the word for it."""
    first, second = draw.pick(NAMES)
    layout = draw.pick(layouts)
    strided = draw.chance(0.4) and first[0] != second[0]
    a, b = (
        Operand(name, axes, transposed, strided, offset)
        for name, axes, transposed, offset in zip((first, second), ("MK", "KN"), LAYOUTS[layout], base)
    )
    return a, b, layout


def size_lines(a, b):
    """The lines of the launcher that name M, N and K."""
    depth = f"N = {b.name}.shape[{0 if b.transposed else 1}]"
    return [f"{'K, M' if a.transposed else 'M, K'} = {a.name}.shape", depth]


def scalars(a, b):
    """The parameters with sizes and strides."""
    return {"M": "M", "N": "N", "K": "K", **(a.scalars() if a.strided else {}), **(b.scalars() if b.strided else {})}


def tiled_matmul(draw):
    """One product with an epilogue; tiles in one of three orders, layouts of both operands, functions of the first operand."""
    m, n, k = draw.pick(HEIGHTS), draw.pick(WIDTHS), draw.pick(DEPTHS)
    a, b, layout = operands(draw, ("", "nt", "nt", "tn"))
    before, first, words = draw.activation("a_tile", 1, 1) if draw.chance(0.2) and not draw.half else ([], [], [])
    if before:  # a function of 0 need not be 0: the loaded zeros beyond K have to stay
        before = [*before, "a_tile = tl.where(ks[None, :] < K, a_tile, 0.0)"]
    last = epilogue(draw, m, n)
    lines, grid, constants, sentence = programs(draw)
    body = [
        *lines,
        inner_loop(draw, a, b, before=before),
        "mask = (rows[:, None] < M) & (cols[None, :] < N)",
        *last.triton,
        "tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)",
    ]
    left = a.torch()
    reference = [line.replace("a_tile", a.name) for line in first]
    if layout == "nt" and draw.chance(0.6):
        reference += [f"y = F.linear({left}, {b.name})"]
    else:
        reference += [f"y = {left} @ {b.torch()}"]
    tensors = [Input(a.name, a.sizes(M=m, K=k), draw.dtype), Input(b.name, b.sizes(K=k, N=n), draw.dtype), *last.inputs]
    return Product(
        name_of(words, "matmul", layout, last.words),
        tensors,
        returned([*reference, *last.torch]),
        size_lines(a, b),
        [f"out = torch.empty((M, N), device={a.name}.device, dtype={a.name}.dtype)"],
        [
            Kernel(
                [*(each.name for each in tensors), "out"],
                scalars(a, b),
                {**draw.blocks(), **constants},
                "Each program computes a BLOCK_M x BLOCK_N tile of the product and adds up in float32." + sentence,
                "\n".join(body),
                grid,
            )
        ],
    )


def batched_matmul(draw):
    """A product for each batch or head; the second matrix may be shared; scaled, masked, or added to another tensor."""
    m, n, k, heads = draw.pick(HEIGHTS), draw.pick(WIDTHS), draw.pick(DEPTHS), draw.pick((2, 3))
    lead = (2, heads) if draw.chance(0.35) else (heads,)
    shared = draw.chance(0.3)
    bases = ("batch * M * K + ", "" if shared else "batch * K * N + ")
    first, second = draw.pick((("a", "b"), ("q", "k"), ("x", "weight"), ("lhs", "rhs")))
    transposed = second == "k" or draw.chance(0.4)
    a = Operand(first, "MK", False, False, bases[0])
    b = Operand(second, "KN", transposed, False, bases[1])
    kind = draw.pick(("plain", "scaled", "added", "lower", "activated", "bias"))
    inputs = [Input(first, (*lead, m, k), draw.dtype), Input(second, (() if shared else lead) + b.sizes(K=k, N=n), draw.dtype)]
    torch = [f"y = {first} @ {second}.transpose(-2, -1)" if transposed else f"y = {first} @ {second}"]
    cast = ".to(tl.float32)" if draw.half else ""
    triton, parameters, words = [], {}, [kind if kind not in ("plain", "activated") else ""]
    offset = "batch * M * N + rows[:, None] * N + cols[None, :]"
    if kind == "scaled":
        triton, torch = ["acc *= scale"], [torch[0].replace("y = ", "y = (") + f") / {first}.shape[-1] ** 0.5"]
        parameters = {"scale": "K**-0.5"}
    elif kind == "added":
        weight = draw.pick((0.1, 0.5, 0.7))
        triton = [f"c = tl.load(c_ptr + {offset}, mask=mask, other=0.0){cast}", f"acc = {weight} * acc + c"]
        torch += [f"y = c + {weight} * y"]
        inputs.append(Input("c", (*lead, m, n), draw.dtype))
    elif kind == "lower":
        triton, torch = ["acc = tl.where(rows[:, None] >= cols[None, :], acc, 0.0)"], [*torch, "y = torch.tril(y)"]
    elif kind == "bias":
        triton = [f"bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0){cast}", "acc += bias[None, :]"]
        torch += ["y = y + bias"]
        inputs.append(Input("bias", (n,), draw.dtype))
    more, more_torch, more_words = draw.activation("acc", 1 if kind == "activated" else 0, 2 if kind == "activated" else 1)
    torch += [line.replace("acc", "y") for line in more_torch]
    lines, grid, constants, sentence = programs(draw, batch=True)
    body = [
        *lines,
        inner_loop(draw, a, b),
        "mask = (rows[:, None] < M) & (cols[None, :] < N)",
        *triton,
        *more,
        f"tl.store(out_ptr + {offset}, acc, mask=mask)",
    ]
    sizes = [
        f"{'n_batches' if len(lead) == 1 else '*batches'}, M, K = {first}.shape",
        f"N = {second}.shape[{-2 if transposed else -1}]",
    ]
    shape = "n_batches, M, N"
    if len(lead) == 2:
        sizes = [f"n_outer, n_heads, M, K = {first}.shape", sizes[1], "n_batches = n_outer * n_heads"]
        shape = "n_outer, n_heads, M, N"
    return Product(
        name_of("shared" if shared else "batched", "matmul", "nt" if transposed else "", words, more_words),
        inputs,
        returned(torch),
        sizes,
        [f"out = torch.empty(({shape}), device={first}.device, dtype={first}.dtype)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                {"M": "M", "N": "N", "K": "K", **parameters},
                {**draw.blocks(), **constants},
                "Each program computes a BLOCK_M x BLOCK_N tile of one batch's product." + sentence,
                "\n".join(body),
                grid,
            )
        ],
    )


SPLIT = """
rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
part = tl.program_id(2)
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
$loop
    a_tile = tl.load($a, mask=(rows[:, None] < M) & (ks[None, :] < $end), other=0.0)
    b_tile = tl.load($b, mask=(ks[:, None] < $end) & (cols[None, :] < N), other=0.0)
    acc = tl.dot(a_tile, b_tile, acc$precision)
mask = (rows[:, None] < M) & (cols[None, :] < N)
$store
"""
SUM = """
offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
mask = offsets < M * N
acc = tl.zeros((BLOCK,), dtype=tl.float32)
for part in range(SPLIT_K):
    acc += tl.load(partial_ptr + part * M * N + offsets, mask=mask, other=0.0)
$finish
tl.store(out_ptr + offsets, acc, mask=mask)
"""


def split_matmul(draw):
    """A long inner dimension that several programs share: atomic additions, or partial sums and a second kernel."""
    m, n, k = draw.pick(HEIGHTS), draw.pick(WIDTHS), draw.pick((160, 200, 256, 300))
    a, b, layout = operands(draw, ("", "nt", "tn", "tn"))
    interleaved, atomic = draw.chance(0.5), draw.chance(0.45) and not draw.half
    if interleaved:
        loop = ["for start in range(part * BLOCK_K, K, SPLIT_K * BLOCK_K):", "    ks = start + tl.arange(0, BLOCK_K)"]
        end = "K"
    else:
        loop = [
            "k_part = tl.cdiv(K, SPLIT_K)",
            "k_end = tl.minimum((part + 1) * k_part, K)",
            "for start in range(part * k_part, k_end, BLOCK_K):",
            "    ks = start + tl.arange(0, BLOCK_K)",
        ]
        end = "k_end"
    bias = draw.chance(0.4)
    store = "tl.atomic_add(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)"
    if atomic and bias:
        store = ["bias = tl.load(bias_ptr + cols, mask=(cols < N) & (part == 0), other=0.0)", "acc += bias[None, :]", store]
    if not atomic:
        store = "tl.store(partial_ptr + part * M * N + rows[:, None] * N + cols[None, :], acc, mask=mask)"
    body = fill(
        SPLIT, loop=loop, end=end, store=store, precision=draw.precision, a=a.address("rows", "ks"), b=b.address("ks", "cols")
    )
    inputs = [Input(a.name, a.sizes(M=m, K=k), draw.dtype), Input(b.name, b.sizes(K=k, N=n), draw.dtype)]
    torch = [f"y = {a.torch()} @ {b.torch()}"]
    more, more_torch, words = ([], [], []) if atomic else draw.activation("acc", 0, 2)
    if bias:
        inputs.append(Input("bias", (n,), draw.dtype))
        torch += ["y = y + bias"]
    torch += [line.replace("acc", "y") for line in more_torch]
    names = [each.name for each in inputs]
    how = "every SPLIT_K-th block" if interleaved else "one of SPLIT_K parts"
    comment = f"Each program multiplies {how} of the inner dimension for one tile, and "
    first = Kernel(
        [*names, "out"] if atomic else [*names[:2], "partial"],
        scalars(a, b),
        {**draw.blocks(), "SPLIT_K": (split := draw.pick((2, 3, 4)))},
        comment + ("adds the result to the output." if atomic else "stores a partial sum."),
        body,
        ("triton.cdiv(M, BLOCK_M)", "triton.cdiv(N, BLOCK_N)", "SPLIT_K"),
        "" if atomic else "_partial",
    )
    device = f"device={a.name}.device"
    made = [f"out = torch.{'zeros' if atomic else 'empty'}((M, N), {device}, dtype={a.name}.dtype)"]
    kernels, before = [first], {}
    if not atomic:
        cast = ".to(tl.float32)" if draw.half else ""
        finish = [f"acc += tl.load(bias_ptr + offsets % N, mask=mask, other=0.0){cast}"] if bias else []
        first.constants.pop("SPLIT_K")
        first.constants["SPLIT_K"] = "SPLIT_K"
        made += [f"SPLIT_K = {split}", f"partial = torch.empty((SPLIT_K, M, N), {device}, dtype=torch.float32)"]
        kernels.append(
            Kernel(
                ["partial", *names[2:], "out"],
                {"M": "M", "N": "N"},
                {"SPLIT_K": "SPLIT_K", "BLOCK": draw.pick((128, 256, 512))},
                "Adds up the partial sums of BLOCK elements.",
                fill(SUM, finish=[*finish, *more]),
                ("triton.cdiv(M * N, BLOCK)",),
                "_sum",
            )
        )
    return Product(
        name_of("split", "atomic" if atomic else "", "matmul", layout, "bias" if bias else "", words),
        inputs,
        returned(torch),
        size_lines(a, b),
        made,
        kernels,
        before=before,
    )


FAMILIES = (tiled_matmul, batched_matmul, split_matmul)
