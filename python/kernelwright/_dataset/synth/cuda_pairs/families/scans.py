"""Scans of rows, and the largest element of a row."""

from ..draw import COLUMNS, ROWS
from ..expressions import BY_WORD, Leaf, words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import name_of, typed
from .maps import replaced
from .reductions import TRITON_IDENTITY

# Of elements without ties.
SIGNED = tuple(BY_WORD[word] for word in ("sin", "square", "scale", "cauchy"))


def arg_reduce(draw):
    """The index of a row's largest or smallest element."""
    largest = draw.chance(0.6)
    word, better, start = ("argmax", ">", "-CUDART_INF_F") if largest else ("argmin", "<", "CUDART_INF_F")
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    node = draw.pick((Leaf("v"), draw.apply(SIGNED, "v")))
    lines, value = written(node, "cuda", ("v",))
    step = fill(
        """
        const float v = LOAD(x, row * n_cols + col);
        $lines
        const float candidate = $value;
        if (candidate $better best) {
          best = candidate;
          best_col = col;
        }""",
        lines=lines,
        value=value,
        better=better,
    )
    tie = f"other {better} best || (other == best && other_col < best_col)"
    if draw.chance(0.5):
        body = fill(
            """
            const int lane = threadIdx.x % 32;
            const int row = blockIdx.x * WARPS + threadIdx.x / 32;
            if (row >= n_rows) return;
            float best = $start;
            int best_col = 0;
            for (int col = lane; col < n_cols; col += 32) {
              $step
            }
            // The smaller index wins among equal values.
            for (int offset = 16; offset > 0; offset >>= 1) {
              const float other = __shfl_down_sync(0xffffffff, best, offset);
              const int other_col = __shfl_down_sync(0xffffffff, best_col, offset);
              if ($tie) {
                best = other;
                best_col = other_col;
              }
            }
            if (lane == 0) out[row] = best_col;
            """,
            start=start,
            step=step,
            tie=tie,
        )
        cuda = Side(
            body,
            ("cdiv(n_rows, WARPS)",),
            "One warp per row; value and index travel together in the shuffles.",
            block=("32 * WARPS",),
            constants={"WARPS": draw.pick((4, 8))},
        )
    else:
        body = fill(
            """
            __shared__ float values[THREADS];
            __shared__ int indices[THREADS];
            const int row = blockIdx.x;
            float best = $start;
            int best_col = 0;
            for (int col = threadIdx.x; col < n_cols; col += THREADS) {
              $step
            }
            values[threadIdx.x] = best;
            indices[threadIdx.x] = best_col;
            __syncthreads();
            for (int stride = THREADS / 2; stride > 0; stride >>= 1) {
              if (threadIdx.x < stride) {
                const float other = values[threadIdx.x + stride];
                const int other_col = indices[threadIdx.x + stride];
                best = values[threadIdx.x];
                best_col = indices[threadIdx.x];
                // The smaller index wins among equal values.
                if ($tie) {
                  values[threadIdx.x] = other;
                  indices[threadIdx.x] = other_col;
                }
              }
              __syncthreads();
            }
            if (threadIdx.x == 0) out[row] = indices[0];
            """,
            start=start,
            step=step,
            tie=tie,
        )
        cuda = Side(body, ("n_rows",), "One block per row; pairs of value and index are reduced in shared memory.")
    lines, value = written(node, "triton", ("v",))
    identity = TRITON_IDENTITY["max" if largest else "min"]
    triton = Side(
        fill(
            """
        row = tl.program_id(0)
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        v = LOAD(x, row * n_cols + cols, mask=mask, other=0.0)
        $lines
        STORE(out, row, tl.$word(tl.where(mask, $value, $identity), axis=0))
        """,
            lines=lines,
            value=value,
            word=word,
            identity=identity,
        ),
        ("n_rows",),
        draw.say("One program per row.", ""),
        constants={"BLOCK": "triton.next_power_of_2(n_cols)"},
    )
    lines, text = written(replaced(node, "v", "x"), "torch", ("x",))
    # Scattered distinct values: no ties, so that the index is unique.
    maker = f"torch.randperm({rows * cols}).reshape({rows}, {cols}).float() / {rows * cols} - 0.4999"
    return Program(
        name_of(words_of(node), "row", word),
        [Tensor("x", (rows, cols), "float32", maker)],
        [Output("out", "(n_rows,)", "int64")],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = x.shape"],
        [*lines, f"return torch.{word}({text}, dim=-1)"],
        cuda,
        triton,
    )


def scan(draw):
    """An inclusive scan of each row."""
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    node = draw.chain("v", 0, 2)
    last = draw.chance(0.3)  # the reverse scan
    lines, value = written(node, "cuda", ("v",))
    index = "row * n_cols + n_cols - 1 - col" if last else "row * n_cols + col"
    if draw.chance(0.5):
        body = fill(
            """
            __shared__ float scratch[THREADS];
            const int row = blockIdx.x;
            float carry = 0.0f;
            for (int first = 0; first < n_cols; first += THREADS) {
              const int col = first + threadIdx.x;
              float term = 0.0f;
              if (col < n_cols) {
                const float v = LOAD(x, $index);
                $lines
                term = $value;
              }
              scratch[threadIdx.x] = term;
              __syncthreads();
              // Hillis-Steele: after step k an element holds the sum of up to 2^k elements.
              for (int distance = 1; distance < THREADS; distance *= 2) {
                const float before = threadIdx.x >= distance ? scratch[threadIdx.x - distance] : 0.0f;
                __syncthreads();
                scratch[threadIdx.x] += before;
                __syncthreads();
              }
              if (col < n_cols) STORE(out, $index, carry + scratch[threadIdx.x]);
              carry += scratch[THREADS - 1];
              __syncthreads();  // everyone has read the total
            }
            """,
            index=index,
            lines=lines,
            value=value,
        )
        cuda = Side(body, ("n_rows",), "One block per row, which scans THREADS columns at a time and carries the total over.")
    else:
        body = fill(
            """
            const int lane = threadIdx.x % 32;
            const int row = blockIdx.x * WARPS + threadIdx.x / 32;
            if (row >= n_rows) return;
            float carry = 0.0f;
            for (int first = 0; first < n_cols; first += 32) {
              const int col = first + lane;
              float total = 0.0f;
              if (col < n_cols) {
                const float v = LOAD(x, $index);
                $lines
                total = $value;
              }
              for (int distance = 1; distance < 32; distance *= 2) {
                const float before = __shfl_up_sync(0xffffffff, total, distance);
                if (lane >= distance) total += before;
              }
              total += carry;
              if (col < n_cols) STORE(out, $index, total);
              carry = __shfl_sync(0xffffffff, total, 31);
            }
            """,
            index=index,
            lines=lines,
            value=value,
        )
        cuda = Side(
            body,
            ("cdiv(n_rows, WARPS)",),
            "One warp per row: a shuffle scan of 32 columns at a time, with a carry.",
            block=("32 * WARPS",),
            constants={"WARPS": draw.pick((4, 8))},
        )
    lines, value = written(node, "triton", ("v",))
    index = index.replace("col", "cols").replace("n_colss", "n_cols")
    if draw.chance(0.6):
        triton = Side(
            fill(
                """
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            mask = cols < n_cols
            v = LOAD(x, $index, mask=mask, other=0.0)
            $lines
            STORE(out, $index, tl.cumsum($value, axis=0), mask=mask)
            """,
                index=index,
                lines=lines,
                value=value,
            ),
            ("n_rows",),
            "One program scans one row.",
            constants={"BLOCK": "triton.next_power_of_2(n_cols)"},
        )
    else:
        triton = Side(
            fill(
                """
            row = tl.program_id(0)
            carry = 0.0
            for start in range(0, n_cols, BLOCK):
                cols = start + tl.arange(0, BLOCK)
                mask = cols < n_cols
                v = LOAD(x, $index, mask=mask, other=0.0)
                $lines
                terms = tl.where(mask, $value, 0.0)
                STORE(out, $index, carry + tl.cumsum(terms, axis=0), mask=mask)
                carry += tl.sum(terms, axis=0)
            """,
                index=index,
                lines=lines,
                value=value,
            ),
            ("n_rows",),
            "Scans a row in blocks and carries the sum of earlier blocks.",
            constants={"BLOCK": draw.pick((32, 64, 128))},
        )
    lines, text = written(replaced(node, "v", "x"), "torch", ("x",))
    expression = f"torch.cumsum({text}, dim=-1)"
    if last:
        lines, expression = [*lines, f"h = {text}"], "h.flip(-1).cumsum(dim=-1).flip(-1)"
    return Program(
        name_of(words_of(node), "reverse" if last else "row", "cumsum"),
        [Tensor("x", (rows, cols), draw.dtype)],
        [Output("out", "", draw.dtype, like="x")],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = x.shape"],
        [*lines, f"return {typed(draw, expression)}"],
        cuda,
        triton,
    )


FAMILIES = (arg_reduce, scan)
