"""Reductions of columns."""

from ..draw import COLUMNS, ROWS
from ..expressions import Leaf, words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import name_of, typed
from .maps import replaced
from .reductions import ACCUMULATE, REDUCTIONS, START, TRITON_COMBINE, TRITON_IDENTITY, TRITON_TERM, let_once


def column_reduce(draw):
    """A reduction of each column."""
    word, combine, term, after, triton_after, torch = draw.pick(REDUCTIONS)
    rows, cols = draw.pick(ROWS) + draw.pick((0, 40, 80)), draw.pick(COLUMNS)
    node = draw.chain("v", 0, 2)
    lines, value = written(node, "cuda", ("v",))
    lines, value = let_once(lines, value, "cuda") if term.count("{0}") > 1 else (lines, value)
    values = {
        "lines": lines,
        "accumulate": ACCUMULATE[combine].format(term.format(value)) + ";",
        "start": START[combine],
        "result": after.format("acc", n="n_rows"),
    }
    if draw.chance(0.5):
        body = fill(
            """
            const int col = blockIdx.x * blockDim.x + threadIdx.x;
            if (col >= n_cols) return;
            float acc = $start;
            for (int row = 0; row < n_rows; ++row) {
              const float v = LOAD(x, row * n_cols + col);
              $lines
              $accumulate
            }
            STORE(out, col, $result);
            """,
            **values,
        )
        cuda = Side(
            body,
            ("cdiv(n_cols, THREADS)",),
            "One thread per column: neighbouring threads read neighbouring columns of a row, so the loads coalesce.",
        )
        cuda.constants = {}
    else:
        merged = ACCUMULATE[combine].format("partial[y][threadIdx.x]")
        body = fill(
            """
            __shared__ float partial[TILE_ROWS][32];
            const int col = blockIdx.x * 32 + threadIdx.x;
            float acc = $start;
            if (col < n_cols) {
              for (int row = threadIdx.y; row < n_rows; row += TILE_ROWS) {
                const float v = LOAD(x, row * n_cols + col);
                $lines
                $accumulate
              }
            }
            partial[threadIdx.y][threadIdx.x] = acc;
            __syncthreads();
            if (threadIdx.y == 0 && col < n_cols) {
              for (int y = 1; y < TILE_ROWS; ++y) $merged;
              STORE(out, col, $result);
            }
            """,
            merged=merged,
            **values,
        )
        cuda = Side(
            body,
            ("cdiv(n_cols, 32)",),
            "A block handles 32 columns with TILE_ROWS threads for each, which take every TILE_ROWS-th row.",
            block=("32", "TILE_ROWS"),
            constants={"TILE_ROWS": draw.pick((4, 8, 16))},
        )
    lines, value = written(node, "triton", ("v",))
    term = TRITON_TERM.get(term, term)
    lines, value = let_once(lines, value, "triton") if term.count("{0}") > 1 else (lines, value)
    values = {
        "lines": lines,
        "value": term.format(value),
        "identity": TRITON_IDENTITY[combine],
        "reduce": f"tl.{combine}",
        "result": triton_after.format("acc", n="n_rows"),
    }
    if draw.chance(0.5):
        body = fill(
            """
            cols = tl.program_id(0) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
            partial = tl.full((BLOCK_ROWS, BLOCK_COLS), $identity, dtype=tl.float32)
            for start in range(0, n_rows, BLOCK_ROWS):
                rows = start + tl.arange(0, BLOCK_ROWS)
                mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
                v = LOAD(x, rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
                $lines
                partial = $combined
            acc = $reduce(partial, axis=0)
            STORE(out, cols, $result, mask=cols < n_cols)
            """,
            combined=TRITON_COMBINE[combine].format("partial", f"tl.where(mask, {values['value']}, {values['identity']})"),
            **values,
        )
        triton = Side(
            body,
            ("cdiv(n_cols, BLOCK_COLS)",),
            "A program owns BLOCK_COLS columns and walks down the rows in tiles.",
            constants={"BLOCK_ROWS": draw.pick((8, 16, 32)), "BLOCK_COLS": draw.pick((32, 64))},
        )
    else:
        body = fill(
            """
            cols = tl.program_id(0) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
            rows = tl.arange(0, BLOCK_ROWS)
            mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
            v = LOAD(x, rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
            $lines
            acc = $reduce(tl.where(mask, $value, $identity), axis=0)
            STORE(out, cols, $result, mask=cols < n_cols)
            """,
            **values,
        )
        triton = Side(
            body,
            ("cdiv(n_cols, BLOCK_COLS)",),
            "Few rows: a program loads its columns whole and reduces over axis 0.",
            constants={"BLOCK_ROWS": "triton.next_power_of_2(n_rows)", "BLOCK_COLS": draw.pick((16, 32))},
        )
    value = replaced(node, "v", "x")
    lines, text = written(value, "torch", ("x",))
    if not isinstance(value, Leaf):
        lines, text = [*lines, f"h = {text}"], "h"
    return Program(
        name_of(words_of(node), "column", word),
        [Tensor("x", (rows, cols), draw.dtype)],
        [Output("out", "(n_cols,)", draw.dtype)],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = x.shape"],
        [*lines, f"return {typed(draw, torch.format(text, d=0))}"],
        cuda,
        triton,
    )


FAMILIES = (column_reduce,)
