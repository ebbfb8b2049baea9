"""Reductions and scans of rows and columns."""

from ..draw import COLUMNS, ROWS
from ..expressions import Leaf, words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import UPDATE, block_reduction, name_of, typed, warp_reduction
from .maps import replaced

# word, combination, term, what follows in CUDA and Triton, PyTorch
REDUCTIONS = (
    ("sum", "sum", "{0}", "{0}", "{0}", "{0}.sum(dim={d})"),
    ("mean", "sum", "{0}", "{0} / {n}", "{0} / {n}", "{0}.mean(dim={d})"),
    ("amax", "max", "{0}", "{0}", "{0}", "torch.amax({0}, dim={d})"),
    ("amin", "min", "{0}", "{0}", "{0}", "torch.amin({0}, dim={d})"),
    ("l2_norm", "sum", "{0} * {0}", "sqrtf({0})", "tl.sqrt({0})", "torch.sqrt(({0} * {0}).sum(dim={d}))"),
    ("l1_norm", "sum", "fabsf({0})", "{0}", "{0}", "{0}.abs().sum(dim={d})"),
    (
        "rms",
        "sum",
        "{0} * {0}",
        "sqrtf({0} / {n} + 1e-6f)",
        "tl.sqrt({0} / {n} + 1e-6)",
        "torch.sqrt(({0} * {0}).mean(dim={d}) + 1e-6)",
    ),
    ("absmax", "max", "fabsf({0})", "{0}", "{0}", "{0}.abs().amax(dim={d})"),
    ("sum_squares", "sum", "{0} * {0}", "{0}", "{0}", "({0} * {0}).sum(dim={d})"),
)
TRITON_TERM = {"fabsf({0})": "tl.abs({0})"}
TRITON_IDENTITY = {"sum": "0.0", "max": 'float("-inf")', "min": 'float("inf")'}
TRITON_COMBINE = {"sum": "{0} + {1}", "max": "tl.maximum({0}, {1})", "min": "tl.minimum({0}, {1})"}
ACCUMULATE = {"sum": "acc += {0}", "max": "acc = fmaxf(acc, {0})", "min": "acc = fminf(acc, {0})"}
START = {"sum": "0.0f", "max": "-CUDART_INF_F", "min": "CUDART_INF_F"}


def let_once(lines, text, language, name="term"):
    """A text that is used twice becomes a variable."""
    if text.replace("_", "").isalnum():
        return lines, text
    return [*lines, f"const float {name} = {text};" if language == "cuda" else f"{name} = {text}"], name


def row_reduce(draw):
    """A reduction of each row, with operations before it."""
    word, combine, term, after, triton_after, torch = draw.pick(REDUCTIONS)
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    two = draw.chance(0.35)
    node = draw.chain("v", 0, 2)
    if two:
        node = draw.binary(node, "w")
    operands = [("x", "v")] + ([(draw.pick(("other", "weights", "y")), "w")] if two else [])
    lines, value = written(node, "cuda", ("v", "w"))
    lines, value = let_once(lines, value, "cuda") if term.count("{0}") > 1 else (lines, value)
    loads = [f"const float {variable} = LOAD({tensor}, row * n_cols + col);" for tensor, variable in operands]
    values = {
        "loads": loads,
        "lines": lines,
        "accumulate": ACCUMULATE[combine].format(term.format(value)) + ";",
        "start": START[combine],
        "combine": combine,
        "result": after.format("acc", n="n_cols"),
    }
    style = draw.pick(("block", "tree", "warp", "thread"))
    cuda = {"block": block_rows, "tree": block_rows, "warp": warp_rows, "thread": thread_rows}[style](
        draw, combine, values, style
    )
    triton = triton_rows(draw, node, operands, combine, TRITON_TERM.get(term, term), triton_after)
    value = replaced(node, "v", "x") if not two else replaced(replaced(node, "v", "x"), "w", operands[1][0])
    lines, text = written(value, "torch", ("x",))
    if not isinstance(value, Leaf):
        lines, text = [*lines, f"h = {text}"], "h"
    inputs = [Tensor(tensor, (rows, cols), draw.dtype) for tensor, _ in operands]
    return Program(
        name_of(words_of(node), "row", word),
        inputs,
        [Output("out", "(n_rows,)", draw.dtype)],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = x.shape"],
        [*lines, f"return {typed(draw, torch.format(text, d=-1))}"],
        cuda,
        triton,
    )


def block_rows(draw, combine, values, style):
    """A block for each row."""
    body = fill(
        """
        const int row = blockIdx.x;
        float acc = $start;
        for (int col = threadIdx.x; col < n_cols; col += blockDim.x) {
          $loads
          $lines
          $accumulate
        }
        acc = block_reduce_$combine(acc);
        if (threadIdx.x == 0) STORE(out, row, $result);
        """,
        **values,
    )
    comment = draw.say(
        "One block per row.",
        "Each block reduces one row; its threads stride over the columns.",
        "blockIdx.x is the row. Partial results of the threads are combined at the end.",
    )
    return Side(body, ("n_rows",), comment, block_reduction(combine, style == "tree"))


def warp_rows(draw, combine, values, style):
    """A warp for each row."""
    del style
    body = fill(
        """
        const int lane = threadIdx.x % 32;
        const int row = blockIdx.x * WARPS + threadIdx.x / 32;
        if (row >= n_rows) return;  // the whole warp leaves together
        float acc = $start;
        for (int col = lane; col < n_cols; col += 32) {
          $loads
          $lines
          $accumulate
        }
        acc = warp_reduce_$combine(acc);
        if (lane == 0) STORE(out, row, $result);
        """,
        **values,
    )
    return Side(
        body,
        ("cdiv(n_rows, WARPS)",),
        draw.say("One warp per row, WARPS rows per block.", "A warp reduces a row with shuffles; no shared memory."),
        warp_reduction(combine, draw.chance(0.5)),
        block=("32 * WARPS",),
        constants={"WARPS": draw.pick((4, 8))},
    )


def thread_rows(draw, combine, values, style):
    """A block for each row, with the tree in the kernel."""
    del style
    merged = UPDATE[combine].format("partial[threadIdx.x]", "partial[threadIdx.x + stride]")
    body = fill(
        """
        __shared__ float partial[THREADS];
        const int row = blockIdx.x;
        float acc = $start;
        for (int col = threadIdx.x; col < n_cols; col += THREADS) {
          $loads
          $lines
          $accumulate
        }
        partial[threadIdx.x] = acc;
        __syncthreads();
        // Halve the number of active threads in every step.
        for (int stride = THREADS / 2; stride > 0; stride >>= 1) {
          if (threadIdx.x < stride) $merged
          __syncthreads();
        }
        if (threadIdx.x == 0) {
          acc = partial[0];
          STORE(out, row, $result);
        }
        """,
        merged=merged,
        **values,
    )
    return Side(
        body, ("n_rows",), draw.say("One block per row, reduced by a tree in shared memory.", "Row reduction in shared memory.")
    )


def triton_rows(draw, node, operands, combine, term, after):
    """Rows whole, in pieces, or several at a time."""
    style = draw.pick(("whole", "loop", "tile"))
    reduce = f"tl.{combine}"
    other = ", other=0.0"
    lines, value = written(node, "triton", ("v", "w"))
    lines, value = let_once(lines, value, "triton") if term.count("{0}") > 1 else (lines, value)
    value = term.format(value)
    if style == "whole":
        loads = [f"{variable} = LOAD({tensor}, row * n_cols + cols, mask=mask{other})" for tensor, variable in operands]
        # A masked element must not change the result.
        body = fill(
            """
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            mask = cols < n_cols
            $loads
            $lines
            acc = $reduce(tl.where(mask, $value, $identity), axis=0)
            STORE(out, row, $result)
            """,
            loads=loads,
            lines=lines,
            value=value,
            identity=TRITON_IDENTITY[combine],
            reduce=reduce,
            result=after.format("acc", n="n_cols"),
        )
        return Side(
            body,
            ("n_rows",),
            draw.say("One program per row; BLOCK covers all columns.", "A program reduces one row."),
            constants={"BLOCK": "triton.next_power_of_2(n_cols)"},
        )
    if style == "loop":
        loads = [f"{variable} = LOAD({tensor}, row * n_cols + cols, mask=mask{other})" for tensor, variable in operands]
        body = fill(
            """
            row = tl.program_id(0)
            partial = tl.full((BLOCK,), $identity, dtype=tl.float32)
            for start in range(0, n_cols, BLOCK):
                cols = start + tl.arange(0, BLOCK)
                mask = cols < n_cols
                $loads
                $lines
                partial = $combined
            acc = $reduce(partial, axis=0)
            STORE(out, row, $result)
            """,
            loads=loads,
            lines=lines,
            identity=TRITON_IDENTITY[combine],
            reduce=reduce,
            combined=TRITON_COMBINE[combine].format("partial", f"tl.where(mask, {value}, {TRITON_IDENTITY[combine]})"),
            result=after.format("acc", n="n_cols"),
        )
        return Side(
            body,
            ("n_rows",),
            draw.say("A program walks over one row in blocks of columns.", "Accumulates column blocks, then reduces once."),
            constants={"BLOCK": draw.pick((64, 128))},
        )
    loads = [
        f"{variable} = LOAD({tensor}, rows[:, None] * n_cols + cols[None, :], mask=mask{other})"
        for tensor, variable in operands
    ]
    body = fill(
        """
        rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
        cols = tl.arange(0, BLOCK_COLS)
        mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
        $loads
        $lines
        acc = $reduce(tl.where(mask, $value, $identity), axis=1)
        STORE(out, rows, $result, mask=rows < n_rows)
        """,
        loads=loads,
        lines=lines,
        value=value,
        identity=TRITON_IDENTITY[combine],
        reduce=reduce,
        result=after.format("acc", n="n_cols"),
    )
    return Side(
        body,
        ("cdiv(n_rows, BLOCK_ROWS)",),
        draw.say("Each program reduces BLOCK_ROWS whole rows.", "Several short rows per program."),
        constants={"BLOCK_ROWS": draw.pick((2, 4, 8)), "BLOCK_COLS": "triton.next_power_of_2(n_cols)"},
    )


FAMILIES = (row_reduce,)
