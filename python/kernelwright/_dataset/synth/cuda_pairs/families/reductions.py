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
    ("rms", "sum", "{0} * {0}", "sqrtf({0} / {n} + 1e-6f)", "tl.sqrt({0} / {n} + 1e-6)",
     "torch.sqrt(({0} * {0}).mean(dim={d}) + 1e-6)"),
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
    values = {"loads": loads, "lines": lines, "accumulate": ACCUMULATE[combine].format(term.format(value)) + ";",
              "start": START[combine], "combine": combine, "result": after.format("acc", n="n_cols")}
    style = draw.pick(("block", "tree", "warp", "thread"))
    cuda = {"block": block_rows, "tree": block_rows, "warp": warp_rows, "thread": thread_rows}[style](draw, combine, values, style)
    triton = triton_rows(draw, node, operands, combine, TRITON_TERM.get(term, term), triton_after)
    value = replaced(node, "v", "x") if not two else replaced(replaced(node, "v", "x"), "w", operands[1][0])
    lines, text = written(value, "torch", ("x",))
    if not isinstance(value, Leaf):
        lines, text = [*lines, f"h = {text}"], "h"
    inputs = [Tensor(tensor, (rows, cols), draw.dtype) for tensor, _ in operands]
    return Program(name_of(words_of(node), "row", word), inputs, [Output("out", "(n_rows,)", draw.dtype)], ("n_rows", "n_cols"),
                   ["n_rows, n_cols = x.shape"], [*lines, f"return {typed(draw, torch.format(text, d=-1))}"], cuda, triton)


def block_rows(draw, combine, values, style):
    """A block for each row."""
    body = fill("""
        const int row = blockIdx.x;
        float acc = $start;
        for (int col = threadIdx.x; col < n_cols; col += blockDim.x) {
          $loads
          $lines
          $accumulate
        }
        acc = block_reduce_$combine(acc);
        if (threadIdx.x == 0) STORE(out, row, $result);
        """, **values)
    comment = draw.say("One block per row.", "Each block reduces one row; its threads stride over the columns.",
                       "blockIdx.x is the row. Partial results of the threads are combined at the end.")
    return Side(body, ("n_rows",), comment, block_reduction(combine, style == "tree"))


def warp_rows(draw, combine, values, style):
    """A warp for each row."""
    del style
    body = fill("""
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
        """, **values)
    return Side(body, ("cdiv(n_rows, WARPS)",), draw.say("One warp per row, WARPS rows per block.", "A warp reduces a row with shuffles; no shared memory."),
                warp_reduction(combine, draw.chance(0.5)), block=("32 * WARPS",), constants={"WARPS": draw.pick((4, 8))})


def thread_rows(draw, combine, values, style):
    """A block for each row, with the tree in the kernel."""
    del style
    merged = UPDATE[combine].format("partial[threadIdx.x]", "partial[threadIdx.x + stride]")
    body = fill("""
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
        """, merged=merged, **values)
    return Side(body, ("n_rows",), draw.say("One block per row, reduced by a tree in shared memory.", "Row reduction in shared memory."))


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
        body = fill("""
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            mask = cols < n_cols
            $loads
            $lines
            acc = $reduce(tl.where(mask, $value, $identity), axis=0)
            STORE(out, row, $result)
            """, loads=loads, lines=lines, value=value, identity=TRITON_IDENTITY[combine], reduce=reduce,
                    result=after.format("acc", n="n_cols"))
        return Side(body, ("n_rows",), draw.say("One program per row; BLOCK covers all columns.", "A program reduces one row."),
                    constants={"BLOCK": "triton.next_power_of_2(n_cols)"})
    if style == "loop":
        loads = [f"{variable} = LOAD({tensor}, row * n_cols + cols, mask=mask{other})" for tensor, variable in operands]
        body = fill("""
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
            """, loads=loads, lines=lines, identity=TRITON_IDENTITY[combine], reduce=reduce,
                    combined=TRITON_COMBINE[combine].format("partial", f"tl.where(mask, {value}, {TRITON_IDENTITY[combine]})"),
                    result=after.format("acc", n="n_cols"))
        return Side(body, ("n_rows",), draw.say("A program walks over one row in blocks of columns.", "Accumulates column blocks, then reduces once."),
                    constants={"BLOCK": draw.pick((64, 128))})
    loads = [f"{variable} = LOAD({tensor}, rows[:, None] * n_cols + cols[None, :], mask=mask{other})" for tensor, variable in operands]
    body = fill("""
        rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
        cols = tl.arange(0, BLOCK_COLS)
        mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
        $loads
        $lines
        acc = $reduce(tl.where(mask, $value, $identity), axis=1)
        STORE(out, rows, $result, mask=rows < n_rows)
        """, loads=loads, lines=lines, value=value, identity=TRITON_IDENTITY[combine], reduce=reduce,
                result=after.format("acc", n="n_cols"))
    return Side(body, ("cdiv(n_rows, BLOCK_ROWS)",), draw.say("Each program reduces BLOCK_ROWS whole rows.", "Several short rows per program."),
                constants={"BLOCK_ROWS": draw.pick((2, 4, 8)), "BLOCK_COLS": "triton.next_power_of_2(n_cols)"})


def column_reduce(draw):
    """A reduction of each column."""
    word, combine, term, after, triton_after, torch = draw.pick(REDUCTIONS)
    rows, cols = draw.pick(ROWS) + draw.pick((0, 40, 80)), draw.pick(COLUMNS)
    node = draw.chain("v", 0, 2)
    lines, value = written(node, "cuda", ("v",))
    lines, value = let_once(lines, value, "cuda") if term.count("{0}") > 1 else (lines, value)
    values = {"lines": lines, "accumulate": ACCUMULATE[combine].format(term.format(value)) + ";", "start": START[combine],
              "result": after.format("acc", n="n_rows")}
    if draw.chance(0.5):
        body = fill("""
            const int col = blockIdx.x * blockDim.x + threadIdx.x;
            if (col >= n_cols) return;
            float acc = $start;
            for (int row = 0; row < n_rows; ++row) {
              const float v = LOAD(x, row * n_cols + col);
              $lines
              $accumulate
            }
            STORE(out, col, $result);
            """, **values)
        cuda = Side(body, ("cdiv(n_cols, THREADS)",), "One thread per column: neighbouring threads read neighbouring columns of a row, "
                    "so the loads coalesce.")
        cuda.constants = {}
    else:
        merged = ACCUMULATE[combine].format("partial[y][threadIdx.x]")
        body = fill("""
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
            """, merged=merged, **values)
        cuda = Side(body, ("cdiv(n_cols, 32)",), "A block handles 32 columns with TILE_ROWS threads for each, which take every "
                    "TILE_ROWS-th row.", block=("32", "TILE_ROWS"), constants={"TILE_ROWS": draw.pick((4, 8, 16))})
    lines, value = written(node, "triton", ("v",))
    term = TRITON_TERM.get(term, term)
    lines, value = let_once(lines, value, "triton") if term.count("{0}") > 1 else (lines, value)
    values = {"lines": lines, "value": term.format(value), "identity": TRITON_IDENTITY[combine], "reduce": f"tl.{combine}",
              "result": triton_after.format("acc", n="n_rows")}
    if draw.chance(0.5):
        body = fill("""
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
            """, combined=TRITON_COMBINE[combine].format("partial", f"tl.where(mask, {values['value']}, {values['identity']})"), **values)
        triton = Side(body, ("cdiv(n_cols, BLOCK_COLS)",), "A program owns BLOCK_COLS columns and walks down the rows in tiles.",
                      constants={"BLOCK_ROWS": draw.pick((8, 16, 32)), "BLOCK_COLS": draw.pick((32, 64))})
    else:
        body = fill("""
            cols = tl.program_id(0) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
            rows = tl.arange(0, BLOCK_ROWS)
            mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
            v = LOAD(x, rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
            $lines
            acc = $reduce(tl.where(mask, $value, $identity), axis=0)
            STORE(out, cols, $result, mask=cols < n_cols)
            """, **values)
        triton = Side(body, ("cdiv(n_cols, BLOCK_COLS)",), "Few rows: a program loads its columns whole and reduces over axis 0.",
                      constants={"BLOCK_ROWS": "triton.next_power_of_2(n_rows)", "BLOCK_COLS": draw.pick((16, 32))})
    value = replaced(node, "v", "x")
    lines, text = written(value, "torch", ("x",))
    if not isinstance(value, Leaf):
        lines, text = [*lines, f"h = {text}"], "h"
    return Program(name_of(words_of(node), "column", word), [Tensor("x", (rows, cols), draw.dtype)],
                   [Output("out", "(n_cols,)", draw.dtype)], ("n_rows", "n_cols"), ["n_rows, n_cols = x.shape"],
                   [*lines, f"return {typed(draw, torch.format(text, d=0))}"], cuda, triton)


def arg_reduce(draw):
    """The index of a row's largest or smallest element."""
    largest = draw.chance(0.6)
    word, better, start = ("argmax", ">", "-CUDART_INF_F") if largest else ("argmin", "<", "CUDART_INF_F")
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    node = draw.pick((Leaf("v"), draw.apply(SIGNED, "v")))
    lines, value = written(node, "cuda", ("v",))
    step = fill("""
        const float v = LOAD(x, row * n_cols + col);
        $lines
        const float candidate = $value;
        if (candidate $better best) {
          best = candidate;
          best_col = col;
        }""", lines=lines, value=value, better=better)
    tie = f"other {better} best || (other == best && other_col < best_col)"
    if draw.chance(0.5):
        body = fill("""
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
            """, start=start, step=step, tie=tie)
        cuda = Side(body, ("cdiv(n_rows, WARPS)",), "One warp per row; value and index travel together in the shuffles.",
                    block=("32 * WARPS",), constants={"WARPS": draw.pick((4, 8))})
    else:
        body = fill("""
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
            """, start=start, step=step, tie=tie)
        cuda = Side(body, ("n_rows",), "One block per row; pairs of value and index are reduced in shared memory.")
    lines, value = written(node, "triton", ("v",))
    identity = TRITON_IDENTITY["max" if largest else "min"]
    triton = Side(fill("""
        row = tl.program_id(0)
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        v = LOAD(x, row * n_cols + cols, mask=mask, other=0.0)
        $lines
        STORE(out, row, tl.$word(tl.where(mask, $value, $identity), axis=0))
        """, lines=lines, value=value, word=word, identity=identity), ("n_rows",), draw.say("One program per row.", ""),
                  constants={"BLOCK": "triton.next_power_of_2(n_cols)"})
    lines, text = written(replaced(node, "v", "x"), "torch", ("x",))
    # Scattered distinct values: no ties, so that the index is unique.
    maker = f"torch.randperm({rows * cols}).reshape({rows}, {cols}).float() / {rows * cols} - 0.4999"
    return Program(name_of(words_of(node), "row", word), [Tensor("x", (rows, cols), "float32", maker)],
                   [Output("out", "(n_rows,)", "int64")], ("n_rows", "n_cols"), ["n_rows, n_cols = x.shape"],
                   [*lines, f"return torch.{word}({text}, dim=-1)"], cuda, triton)


def logsumexp(draw):
    """Log-sum-exp of each row, stable."""
    rows, cols, scale = draw.pick(ROWS), draw.pick(COLUMNS), draw.pick((1.0, 0.5, 2.0, 3.0))
    cuda_value, triton_value, torch_value = ("LOAD(x, {0})", "LOAD(x, {0})", "x") if scale == 1.0 else (
        f"{scale}f * LOAD(x, {{0}})", f"{scale} * LOAD(x, {{0}})", f"{scale} * x")
    if draw.chance(0.5):
        body = fill("""
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
            """, value=cuda_value.format("row * n_cols + col"))
        tree = draw.chance(0.5)
        helpers = "\n\n".join(block_reduction(word, tree) for word in ("max", "sum"))
        cuda = Side(body, ("n_rows",), "Two passes over a row: the maximum first, so that no exponential overflows.", helpers)
    else:
        body = fill("""
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
            """, value=cuda_value.format("row * n_cols + col"))
        helpers = "\n\n".join(warp_reduction(word) for word in ("max", "sum"))
        cuda = Side(body, ("cdiv(n_rows, WARPS)",), "One warp per row and one pass: the running sum is rescaled when the maximum grows.",
                    helpers, block=("32 * WARPS",), constants={"WARPS": draw.pick((4, 8))})
    if draw.chance(0.5):
        triton = Side(fill("""
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            mask = cols < n_cols
            v = tl.where(mask, $value, float("-inf"))
            peak = tl.max(v, axis=0)
            acc = tl.sum(tl.exp(v - peak), axis=0)
            STORE(out, row, peak + tl.log(acc))
            """, value=triton_value.format("row * n_cols + cols, mask=mask, other=0.0")), ("n_rows",), "One program per row.",
                      constants={"BLOCK": "triton.next_power_of_2(n_cols)"})
    else:
        triton = Side(fill("""
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
            """, value=triton_value.format("row * n_cols + cols, mask=mask, other=0.0")), ("n_rows",),
                      "Online log-sum-exp: one pass over the row in blocks.", constants={"BLOCK": draw.pick((32, 64, 128))})
    return Program(name_of("scaled" if scale != 1.0 else "row", "logsumexp"), [Tensor("x", (rows, cols), draw.dtype)],
                   [Output("out", "(n_rows,)", draw.dtype)], ("n_rows", "n_cols"), ["n_rows, n_cols = x.shape"],
                   [f"return {typed(draw, f'torch.logsumexp({torch_value}, dim=-1)')}"], cuda, triton)


def scan(draw):
    """An inclusive scan of each row."""
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    node = draw.chain("v", 0, 2)
    last = draw.chance(0.3)  # the reverse scan
    lines, value = written(node, "cuda", ("v",))
    index = "row * n_cols + n_cols - 1 - col" if last else "row * n_cols + col"
    if draw.chance(0.5):
        body = fill("""
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
            """, index=index, lines=lines, value=value)
        cuda = Side(body, ("n_rows",), "One block per row, which scans THREADS columns at a time and carries the total over.")
    else:
        body = fill("""
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
            """, index=index, lines=lines, value=value)
        cuda = Side(body, ("cdiv(n_rows, WARPS)",), "One warp per row: a shuffle scan of 32 columns at a time, with a carry.",
                    block=("32 * WARPS",), constants={"WARPS": draw.pick((4, 8))})
    lines, value = written(node, "triton", ("v",))
    index = index.replace("col", "cols").replace("n_colss", "n_cols")
    if draw.chance(0.6):
        triton = Side(fill("""
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            mask = cols < n_cols
            v = LOAD(x, $index, mask=mask, other=0.0)
            $lines
            STORE(out, $index, tl.cumsum($value, axis=0), mask=mask)
            """, index=index, lines=lines, value=value), ("n_rows",), "One program scans one row.",
                      constants={"BLOCK": "triton.next_power_of_2(n_cols)"})
    else:
        triton = Side(fill("""
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
            """, index=index, lines=lines, value=value), ("n_rows",), "Scans a row in blocks and carries the sum of earlier blocks.",
                      constants={"BLOCK": draw.pick((32, 64, 128))})
    lines, text = written(replaced(node, "v", "x"), "torch", ("x",))
    expression = f"torch.cumsum({text}, dim=-1)"
    if last:
        lines, expression = [*lines, f"h = {text}"], "h.flip(-1).cumsum(dim=-1).flip(-1)"
    return Program(name_of(words_of(node), "reverse" if last else "row", "cumsum"), [Tensor("x", (rows, cols), draw.dtype)],
                   [Output("out", "", draw.dtype, like="x")], ("n_rows", "n_cols"), ["n_rows, n_cols = x.shape"],
                   [*lines, f"return {typed(draw, expression)}"], cuda, triton)


def dot_product(draw):
    """A sum over all elements of two vectors, by atomics of the blocks."""
    length = draw.pick((3000, 4097, 5000, 6000))
    node = draw.pick((draw.binary("u", "v"), draw.chain(draw.binary("u", "v"), 1, 1)))
    names = draw.pick((("x", "y"), ("a", "b"), ("pred", "target")))
    lines, value = written(node, "cuda", ("u", "v"))
    loads = [f"const float u = LOAD({names[0]}, i);", f"const float v = LOAD({names[1]}, i);"]
    cuda = Side(fill("""
        float acc = 0.0f;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) {
          $loads
          $lines
          acc += $value;
        }
        acc = block_reduce_sum(acc);
        if (threadIdx.x == 0) ATOMIC_ADD(out, 0, acc);
        """, loads=loads, lines=lines, value=value), (f"min(cdiv(numel, THREADS), {draw.pick((8, 16, 64))})",),
                "Every block reduces its share and adds it to the result, which starts as zero.",
                block_reduction("sum", draw.chance(0.4)))
    lines, value = written(node, "triton", ("u", "v"))
    triton = Side(fill("""
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < numel
        u = LOAD($a, offs, mask=mask, other=0.0)
        v = LOAD($b, offs, mask=mask, other=0.0)
        $lines
        partial = tl.sum(tl.where(mask, $value, 0.0), axis=0)
        ATOMIC_ADD(out, , partial)
        """, a=names[0], b=names[1], lines=lines, value=value), ("cdiv(numel, BLOCK)",), "Partial sums of the programs meet in one atomic.",
                  constants={"BLOCK": draw.pick((256, 512, 1024))})
    value = replaced(replaced(node, "u", names[0]), "v", names[1])
    lines, text = written(value, "torch", names)
    return Program(name_of(words_of(node), "total"), [Tensor(name, (length,), "float32") for name in names],
                   [Output("out", "(1,)", "float32", fill="0")], ("numel",), [f"numel = {names[0]}.numel()"],
                   [*lines, f"return {text if text.isidentifier() else f'({text})'}.sum().reshape(1)"], cuda, triton)


from ..expressions import BY_WORD  # noqa: E402

SIGNED = tuple(BY_WORD[word] for word in ("sin", "square", "scale", "cauchy"))

FAMILIES = (row_reduce, column_reduce, arg_reduce, logsumexp, scan, dot_product)
