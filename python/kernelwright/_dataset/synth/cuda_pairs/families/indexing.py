"""Computations through indices: gather, embedding, scatter by atomics, histogram, quantisation."""

from ..draw import COLUMNS, ROWS
from ..expressions import Leaf, words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import name_of, typed
from .maps import replaced


def index_tensor(draw, name, count, below):
    """Indices as 64-bit or 32-bit integers."""
    dtype = draw.pick(("int64", "int64", "int32"))
    rest = ", dtype=torch.int32" if dtype == "int32" else ""
    return Tensor(name, (count,), dtype, f"torch.randint(0, {below}, ({count},){rest})")


def embedding(draw):
    """Rows of a table, by their indices, with a scale or a position's embedding."""
    vocabulary, dim, tokens = draw.pick((50, 64, 100)), draw.pick((48, 64, 96, 130)), draw.pick((20, 33, 40))
    kind = draw.pick(("plain", "scaled", "positions", "padding"))
    ids = draw.pick(("tokens", "ids", "indices"))
    scale = draw.pick((0.5, 2.0, 8.0, 11.3))
    inputs = [index_tensor(draw, ids, tokens, vocabulary), Tensor("table", (vocabulary, dim), draw.dtype)]
    value = "LOAD(table, {0} * dim + {1})"
    extra_cuda, extra_triton, reference = "{v}", "{v}", f"table[{ids}]"
    if kind == "scaled":
        extra_cuda, extra_triton, reference = f"{{v}} * {scale}f", f"{{v}} * {scale}", f"table[{ids}] * {scale}"
    elif kind == "positions":
        inputs.append(Tensor("positions", (tokens, dim), draw.dtype))
        extra_cuda = "{v} + LOAD(positions, token * dim + col)"
        extra_triton = "{v} + LOAD(positions, token * dim + cols, mask=mask, other=0.0)"
        reference = f"table[{ids}] + positions"
    elif kind == "padding":
        extra_cuda, extra_triton, reference = (
            "index == 0 ? 0.0f : {v}",
            "tl.where(index == 0, 0.0, {v})",
            f"table[{ids}] * ({ids} != 0)[:, None]",
        )
    integer = "const long long" if inputs[0].dtype == "int64" else "const int"
    if draw.chance(0.5):
        cuda = Side(
            fill(
                """
            const int token = blockIdx.x;
            $integer index = $ids[token];
            for (int col = threadIdx.x; col < dim; col += blockDim.x) {
              STORE(out, token * dim + col, $value);
            }
            """,
                integer=integer,
                ids=ids,
                value=extra_cuda.format(v=value.format("index", "col")),
            ),
            ("n_tokens",),
            "One block copies the row of one token.",
        )
    else:
        cuda = Side(
            fill(
                """
            for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n_tokens * dim; i += gridDim.x * blockDim.x) {
              const int token = i / dim;
              const int col = i % dim;
              $integer index = $ids[token];
              STORE(out, i, $value);
            }
            """,
                integer=integer,
                ids=ids,
                value=extra_cuda.format(v=value.format("index", "col")),
            ),
            ("cdiv(n_tokens * dim, THREADS)",),
            "Grid-stride loop over tokens and columns.",
        )
    if draw.chance(0.6):
        triton = Side(
            fill(
                """
            token = tl.program_id(0)
            index = tl.load(${ids}_ptr + token)
            cols = tl.arange(0, BLOCK)
            mask = cols < dim
            v = LOAD(table, index * dim + cols, mask=mask, other=0.0)
            STORE(out, token * dim + cols, $value, mask=mask)
            """.replace("${ids}", ids),
                value=extra_triton.format(v="v"),
            ),
            ("n_tokens",),
            "One program per token.",
            constants={"BLOCK": "triton.next_power_of_2(dim)"},
        )
    else:
        value = extra_triton.format(v="v").replace("index == 0", "index[:, None] == 0").replace("token * dim + cols", "offs")
        triton = Side(
            fill(
                """
            token = tl.program_id(0) * BLOCK_TOKENS + tl.arange(0, BLOCK_TOKENS)
            cols = tl.arange(0, BLOCK_DIM)
            index = tl.load(${ids}_ptr + token, mask=token < n_tokens, other=0)
            mask = (token[:, None] < n_tokens) & (cols[None, :] < dim)
            offs = token[:, None] * dim + cols[None, :]
            v = LOAD(table, index[:, None] * dim + cols[None, :], mask=mask, other=0.0)
            STORE(out, offs, $value, mask=mask)
            """.replace("${ids}", ids),
                value=value,
            ),
            ("cdiv(n_tokens, BLOCK_TOKENS)",),
            "A program gathers the rows of BLOCK_TOKENS tokens.",
            constants={"BLOCK_TOKENS": draw.pick((4, 8, 16)), "BLOCK_DIM": "triton.next_power_of_2(dim)"},
        )
    return Program(
        name_of([] if kind == "plain" else kind, "embedding"),
        inputs,
        [Output("out", "(n_tokens, dim)", draw.dtype)],
        ("n_tokens", "dim"),
        [f"n_tokens, dim = {ids}.shape[0], table.shape[1]"],
        [f"return {typed(draw, reference)}"],
        cuda,
        triton,
        copies=kind in ("plain", "padding"),
    )


def gather(draw):
    """Elements of each row by a matrix of indices, with operations."""
    rows, cols, picked = draw.pick(ROWS), draw.pick(COLUMNS), draw.pick((20, 33, 50))
    act = draw.chain("v", 0, 2)
    index = Tensor("index", (rows, picked), "int64", f"torch.randint(0, {cols}, ({rows}, {picked}))")
    lines, value = written(act, "cuda", ("v",))
    stride = draw.chance(0.5)
    cuda = Side(
        fill(
            """
        $head
          const int row = i / n_picked;
          const long long col = index[i];
          const float v = LOAD(x, row * n_cols + col);
          $lines
          STORE(out, i, $value);
        }
        """,
            head="for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n_rows * n_picked; i += gridDim.x * blockDim.x) {"
            if stride
            else "const int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n_rows * n_picked) {",
            lines=lines,
            value=value,
        ),
        ("cdiv(n_rows * n_picked, THREADS)",),
        "out[row][k] is made of x[row][index[row][k]].",
    )
    lines, value = written(act, "triton", ("v",))
    triton = Side(
        fill(
            """
        row = tl.program_id(0)
        k = tl.arange(0, BLOCK)
        mask = k < n_picked
        col = tl.load(index_ptr + row * n_picked + k, mask=mask, other=0)
        v = LOAD(x, row * n_cols + col, mask=mask, other=0.0)
        $lines
        STORE(out, row * n_picked + k, $value, mask=mask)
        """,
            lines=lines,
            value=value,
        ),
        ("n_rows",),
        draw.say("One program per row; the loads are gathered by pointers.", "A row per program."),
        constants={"BLOCK": "triton.next_power_of_2(n_picked)"},
    )
    lines, text = written(replaced(act, "v", "picked"), "torch", ("picked",))
    reference = "torch.gather(x, 1, index)"
    body = (
        [f"return {typed(draw, reference)}"]
        if isinstance(act, Leaf)
        else [f"picked = {reference}", *lines, f"return {typed(draw, text)}"]
    )
    return Program(
        name_of("gather", words_of(act)),
        [Tensor("x", (rows, cols), draw.dtype), index],
        [Output("out", "(n_rows, n_picked)", draw.dtype)],
        ("n_rows", "n_cols", "n_picked"),
        ["n_rows, n_cols = x.shape", "n_picked = index.shape[1]"],
        body,
        cuda,
        triton,
        isinstance(act, Leaf),
    )


def scatter_add(draw):
    """Rows added into segments by atomics."""
    rows, cols, segments = draw.pick(ROWS) + 20, draw.pick((32, 50, 70, 96)), draw.pick((5, 8, 12))
    act = draw.chain("v", 0, 2)
    ids = draw.pick(("segment", "index", "bucket"))
    weighted = draw.chance(0.4)
    inputs = [Tensor("x", (rows, cols)), index_tensor(draw, ids, rows, segments)]
    inputs += [Tensor("weight", (rows,))] if weighted else []
    lines, value = written(act, "cuda", ("v",))
    value = f"weight[row] * {value if value.isidentifier() else f'({value})'}" if weighted else value
    by_row = draw.chance(0.5)
    inner = fill(
        """
        const float v = LOAD(x, row * n_cols + col);
        $lines
        ATOMIC_ADD(out, target * n_cols + col, $value);""",
        lines=lines,
        value=value,
    )
    integer = "const long long" if inputs[1].dtype == "int64" else "const int"
    cuda = (
        Side(
            fill(
                """
        const int row = blockIdx.x;
        $integer target = $ids[row];
        for (int col = threadIdx.x; col < n_cols; col += blockDim.x) {
          $inner
        }
        """,
                integer=integer,
                ids=ids,
                inner=inner,
            ),
            ("n_rows",),
            "One block adds one row to its segment; several blocks may meet in a segment, hence atomics.",
        )
        if by_row
        else Side(
            fill(
                """
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n_rows * n_cols; i += gridDim.x * blockDim.x) {
          const int row = i / n_cols;
          const int col = i % n_cols;
          $integer target = $ids[row];
          $inner
        }
        """,
                integer=integer,
                ids=ids,
                inner=inner,
            ),
            ("cdiv(n_rows * n_cols, THREADS)",),
            "A thread per element; out starts as zero.",
        )
    )
    lines, value = written(act, "triton", ("v",))
    value = f"tl.load(weight_ptr + row) * {value if value.isidentifier() else f'({value})'}" if weighted else value
    triton = Side(
        fill(
            """
        row = tl.program_id(0)
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        target = tl.load(${ids}_ptr + row)
        v = LOAD(x, row * n_cols + cols, mask=mask, other=0.0)
        $lines
        ATOMIC_ADD(out, target * n_cols + cols, $value, mask=mask)
        """.replace("${ids}", ids),
            lines=lines,
            value=value,
        ),
        ("n_rows",),
        draw.say("One program per row; the target row is updated atomically.", "out starts as zero."),
        constants={"BLOCK": "triton.next_power_of_2(n_cols)"},
    )
    lines, text = written(replaced(act, "v", "x"), "torch", ("x",))
    text = f"weight[:, None] * {text if text.isidentifier() else f'({text})'}" if weighted else text
    return Program(
        name_of(words_of(act), "weighted" if weighted else "segment", "scatter_add"),
        inputs,
        [Output("out", "(n_segments, n_cols)", fill="0")],
        ("n_rows", "n_cols", "n_segments"),
        ["n_rows, n_cols = x.shape", f"n_segments = {segments}"],
        [*lines, f"out = torch.zeros({segments}, x.shape[1], device=x.device)", f"return out.index_add_(0, {ids}, {text})"],
        cuda,
        triton,
    )


def histogram(draw):
    """Counts of values in bins, by atomics."""
    length, bins = draw.pick((2000, 3000, 4097)), draw.pick((16, 32, 50, 64))
    low, high = draw.pick(((-2.0, 2.0), (-3.0, 3.0), (0.0, 1.0)))
    integers = draw.chance(0.4)
    shared = draw.chance(0.6)
    if integers:
        source = Tensor("x", (length,), "int64", f"torch.randint(0, {bins}, ({length},))")
        bin_of, triton_lines, valid = "static_cast<int>(x[i])", ["bin = tl.load(x_ptr + offs, mask=mask, other=0)"], "true"
        reference = [f"return torch.bincount(x, minlength={bins})"]
    else:
        maker = f"torch.rand({length}) * {high - low + 1.0} + {low - 0.5}"
        source = Tensor("x", (length,), "float32", maker)
        factor = bins / (high - low)
        bin_of = f"static_cast<int>(floorf((x[i] - LOW) * {factor}f))"
        triton_lines = [
            "v = tl.load(x_ptr + offs, mask=mask, other=0.0)",
            f"bin = tl.floor((v - {low}) * {factor}).to(tl.int32)",
        ]
        valid = "bin >= 0 && bin < BINS"
        reference = [
            f"bin = torch.floor((x - {low}) * {factor}).long()",
            f"inside = (bin >= 0) & (bin < {bins})",
            f"return torch.bincount(bin[inside], minlength={bins})",
        ]
    bin_of = bin_of.replace("LOW", f"{low}f")
    add = "if ($valid) atomicAdd(&$where[bin], 1);" if valid != "true" else "atomicAdd(&$where[bin], 1);"
    if shared:
        body = fill(
            """
            __shared__ int local[BINS];
            for (int b = threadIdx.x; b < BINS; b += blockDim.x) local[b] = 0;
            __syncthreads();
            for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) {
              const int bin = $bin_of;
              $add
            }
            __syncthreads();
            for (int b = threadIdx.x; b < BINS; b += blockDim.x) {
              if (local[b] > 0) atomicAdd(&out[b], local[b]);
            }
            """,
            bin_of=bin_of,
            add=add.replace("$valid", valid).replace("$where", "local"),
        )
        cuda = Side(
            body,
            (f"min(cdiv(numel, THREADS), {draw.pick((4, 8, 32))})",),
            "Each block counts in shared memory and adds its counts once, so that global atomics are rare.",
            constants={"BINS": bins},
        )
    else:
        body = fill(
            """
            for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) {
              const int bin = $bin_of;
              $add
            }
            """,
            bin_of=bin_of,
            add=add.replace("$valid", valid).replace("$where", "out"),
        )
        cuda = Side(
            body,
            ("cdiv(numel, THREADS)",),
            "Counts with atomics in global memory; out starts as zero.",
            constants={} if valid == "true" else {"BINS": bins},
        )
    triton_valid = "mask" if valid == "true" else "mask & (bin >= 0) & (bin < BINS)"
    if draw.chance(0.5):
        triton = Side(
            fill(
                """
            offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            mask = offs < numel
            $lines
            tl.atomic_add(out_ptr + bin, 1, mask=$valid)
            """,
                lines=triton_lines,
                valid=triton_valid,
            ),
            ("cdiv(numel, BLOCK)",),
            "One atomic per element.",
            constants={**({} if valid == "true" else {"BINS": bins}), "BLOCK": draw.pick((128, 256, 512))},
        )
    else:
        triton = Side(
            fill(
                """
            offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            mask = offs < numel
            $lines
            bins = tl.arange(0, BINS_POWER)
            # Compares every element with every bin, and counts the matches of the block.
            hit = (bin[:, None] == bins[None, :]) & ($valid)[:, None]
            counts = tl.sum(hit.to(tl.int32), axis=0)
            tl.atomic_add(out_ptr + bins, counts, mask=bins < BINS)
            """,
                lines=triton_lines,
                valid=triton_valid,
            ),
            ("cdiv(numel, BLOCK)",),
            "Each program counts its block and adds BINS numbers atomically.",
            constants={"BINS": bins, "BINS_POWER": f"triton.next_power_of_2({bins})", "BLOCK": draw.pick((64, 128))},
        )
    return Program(
        "bincount" if integers else "histogram",
        [source],
        [Output("out", f"({bins},)", "int32", fill="0")],
        ("numel",),
        ["numel = x.numel()"],
        [*reference[:-1], reference[-1] + ".to(torch.int32)"],
        cuda,
        triton,
    )


FAMILIES = (embedding, gather, scatter_add, histogram)
