"""Log-sum-exp of rows, and sums of two vectors."""

from ..draw import COLUMNS, ROWS
from ..expressions import words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import block_reduction, name_of, typed, warp_reduction
from .maps import replaced


def logsumexp(draw):
    """Log-sum-exp of each row, stable."""
    rows, cols, scale = draw.pick(ROWS), draw.pick(COLUMNS), draw.pick((1.0, 0.5, 2.0, 3.0))
    cuda_value, triton_value, torch_value = (
        ("LOAD(x, {0})", "LOAD(x, {0})", "x")
        if scale == 1.0
        else (f"{scale}f * LOAD(x, {{0}})", f"{scale} * LOAD(x, {{0}})", f"{scale} * x")
    )
    if draw.chance(0.5):
        body = fill(
            """
            const int row = blockIdx.x;
            float peak = -CUDART_INF_F;
            for (int col = threadIdx.x; col < n_cols; col += blockDim.x) {
              peak = fmaxf(peak, $value);
            }
            peak = block_reduce_max(peak);
            float acc = 0.0f;
            for (int col = threadIdx.x; col < n_cols; col += blockDim.x) {
              acc += expf($value - peak);
            }
            acc = block_reduce_sum(acc);
            if (threadIdx.x == 0) STORE(out, row, peak + logf(acc));
            """,
            value=cuda_value.format("row * n_cols + col"),
        )
        tree = draw.chance(0.5)
        helpers = "\n\n".join(block_reduction(word, tree) for word in ("max", "sum"))
        cuda = Side(body, ("n_rows",), "Two passes over a row: the maximum first, so that no exponential overflows.", helpers)
    else:
        body = fill(
            """
            const int lane = threadIdx.x % 32;
            const int row = blockIdx.x * WARPS + threadIdx.x / 32;
            if (row >= n_rows) return;
            float peak = -CUDART_INF_F;
            float acc = 0.0f;
            for (int col = lane; col < n_cols; col += 32) {
              const float v = $value;
              const float new_peak = fmaxf(peak, v);
              acc = acc * expf(peak - new_peak) + expf(v - new_peak);
              peak = new_peak;
            }
            // Lanes rescale their sums to the maximum of the row.
            const float row_peak = warp_reduce_max(peak);
            acc = warp_reduce_sum(acc * expf(peak - row_peak));
            if (lane == 0) STORE(out, row, row_peak + logf(acc));
            """,
            value=cuda_value.format("row * n_cols + col"),
        )
        helpers = "\n\n".join(warp_reduction(word) for word in ("max", "sum"))
        cuda = Side(
            body,
            ("cdiv(n_rows, WARPS)",),
            "One warp per row and one pass: the running sum is rescaled when the maximum grows.",
            helpers,
            block=("32 * WARPS",),
            constants={"WARPS": draw.pick((4, 8))},
        )
    if draw.chance(0.5):
        triton = Side(
            fill(
                """
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            mask = cols < n_cols
            v = tl.where(mask, $value, float("-inf"))
            peak = tl.max(v, axis=0)
            acc = tl.sum(tl.exp(v - peak), axis=0)
            STORE(out, row, peak + tl.log(acc))
            """,
                value=triton_value.format("row * n_cols + cols, mask=mask, other=0.0"),
            ),
            ("n_rows",),
            "One program per row.",
            constants={"BLOCK": "triton.next_power_of_2(n_cols)"},
        )
    else:
        triton = Side(
            fill(
                """
            row = tl.program_id(0)
            peak = float("-inf")
            acc = 0.0
            for start in range(0, n_cols, BLOCK):
                cols = start + tl.arange(0, BLOCK)
                mask = cols < n_cols
                v = tl.where(mask, $value, float("-inf"))
                new_peak = tl.maximum(peak, tl.max(v, axis=0))
                acc = acc * tl.exp(peak - new_peak) + tl.sum(tl.exp(v - new_peak), axis=0)
                peak = new_peak
            STORE(out, row, peak + tl.log(acc))
            """,
                value=triton_value.format("row * n_cols + cols, mask=mask, other=0.0"),
            ),
            ("n_rows",),
            "Online log-sum-exp: one pass over the row in blocks.",
            constants={"BLOCK": draw.pick((32, 64, 128))},
        )
    return Program(
        name_of("scaled" if scale != 1.0 else "row", "logsumexp"),
        [Tensor("x", (rows, cols), draw.dtype)],
        [Output("out", "(n_rows,)", draw.dtype)],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = x.shape"],
        [f"return {typed(draw, f'torch.logsumexp({torch_value}, dim=-1)')}"],
        cuda,
        triton,
    )


def dot_product(draw):
    """A sum over all elements of two vectors, by atomics of the blocks."""
    length = draw.pick((3000, 4097, 5000, 6000))
    node = draw.pick((draw.binary("u", "v"), draw.chain(draw.binary("u", "v"), 1, 1)))
    names = draw.pick((("x", "y"), ("a", "b"), ("pred", "target")))
    lines, value = written(node, "cuda", ("u", "v"))
    loads = [f"const float u = LOAD({names[0]}, i);", f"const float v = LOAD({names[1]}, i);"]
    cuda = Side(
        fill(
            """
        float acc = 0.0f;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) {
          $loads
          $lines
          acc += $value;
        }
        acc = block_reduce_sum(acc);
        if (threadIdx.x == 0) ATOMIC_ADD(out, 0, acc);
        """,
            loads=loads,
            lines=lines,
            value=value,
        ),
        (f"min(cdiv(numel, THREADS), {draw.pick((8, 16, 64))})",),
        "Every block reduces its share and adds it to the result, which starts as zero.",
        block_reduction("sum", draw.chance(0.4)),
    )
    lines, value = written(node, "triton", ("u", "v"))
    triton = Side(
        fill(
            """
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < numel
        u = LOAD($a, offs, mask=mask, other=0.0)
        v = LOAD($b, offs, mask=mask, other=0.0)
        $lines
        partial = tl.sum(tl.where(mask, $value, 0.0), axis=0)
        ATOMIC_ADD(out, , partial)
        """,
            a=names[0],
            b=names[1],
            lines=lines,
            value=value,
        ),
        ("cdiv(numel, BLOCK)",),
        "Partial sums of the programs meet in one atomic.",
        constants={"BLOCK": draw.pick((256, 512, 1024))},
    )
    value = replaced(replaced(node, "u", names[0]), "v", names[1])
    lines, text = written(value, "torch", names)
    return Program(
        name_of(words_of(node), "total"),
        [Tensor(name, (length,), "float32") for name in names],
        [Output("out", "(1,)", "float32", fill="0")],
        ("numel",),
        [f"numel = {names[0]}.numel()"],
        [*lines, f"return {text if text.isidentifier() else f'({text})'}.sum().reshape(1)"],
        cuda,
        triton,
    )


FAMILIES = (logsumexp, dot_product)
