"""Computations that move elements: transposition, concatenation, padding, upsampling, rotation, rotary embedding."""

from ..draw import COLUMNS, ROWS
from ..expressions import Leaf, words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import name_of, typed
from .maps import replaced


def transpose(draw):
    """A transposed matrix, or batch of matrices, with operations on the way."""
    rows, cols, batch = draw.pick((33, 48, 60, 70, 100)), draw.pick((50, 70, 96, 130)), draw.pick((0, 0, 2, 3))
    node = draw.chain("v", 0, 2)
    lines, value = written(node, "cuda", ("v",))
    offset = "const int base = blockIdx.z * n_rows * n_cols;" if batch else ""
    base = "base + " if batch else ""
    cuda = Side(
        fill(
            """
        __shared__ float tile[TILE_DIM][TILE_DIM + 1];  // one column more, against bank conflicts
        $offset
        int col = blockIdx.x * TILE_DIM + threadIdx.x;
        int row = blockIdx.y * TILE_DIM + threadIdx.y;
        for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) {
          if (row + j < n_rows && col < n_cols) {
            tile[threadIdx.y + j][threadIdx.x] = LOAD(x, $base(row + j) * n_cols + col);
          }
        }
        __syncthreads();
        // The block writes the transposed tile, again with consecutive threads on consecutive addresses.
        col = blockIdx.y * TILE_DIM + threadIdx.x;
        row = blockIdx.x * TILE_DIM + threadIdx.y;
        for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) {
          if (row + j < n_cols && col < n_rows) {
            const float v = tile[threadIdx.x][threadIdx.y + j];
            $lines
            STORE(out, $base(row + j) * n_rows + col, $value);
          }
        }
        """,
            offset=offset,
            base=base,
            lines=lines,
            value=value,
        ),
        ("cdiv(n_cols, TILE_DIM)", "cdiv(n_rows, TILE_DIM)", *(("batch",) if batch else ())),
        "Tiled transpose through shared memory, so that reads and writes coalesce.",
        block=("TILE_DIM", "BLOCK_ROWS"),
        constants={"TILE_DIM": draw.pick((16, 32, 32)), "BLOCK_ROWS": draw.pick((4, 8))},
    )
    lines, value = written(node, "triton", ("v",))
    value = value if isinstance(node, Leaf) else f"({value})"
    offset = "base = tl.program_id(2) * n_rows * n_cols" if batch else ""
    triton = Side(
        fill(
            """
        rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        $offset
        mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
        v = LOAD(x, $baserows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
        $lines
        STORE(out, $basecols[:, None] * n_rows + rows[None, :], $transposed, mask=tl.trans(mask))
        """.replace("$base", base),
            offset=offset,
            lines=lines,
            transposed=f"tl.trans{value}" if value.startswith("(") else f"tl.trans({value})",
        ),
        ("cdiv(n_rows, BLOCK_M)", "cdiv(n_cols, BLOCK_N)", *(("batch",) if batch else ())),
        "Loads a tile, transposes it in registers and stores it.",
        constants={"BLOCK_M": draw.pick((16, 32, 64)), "BLOCK_N": draw.pick((16, 32, 64))},
    )
    sizes = (batch, rows, cols) if batch else (rows, cols)
    node = replaced(node, "v", "x")
    lines, text = written(node, "torch", ("x",))
    if not isinstance(node, Leaf):
        lines, text = [*lines, f"h = {text}"], "h"
    return Program(
        name_of(["batched"] if batch else [], words_of(node), "transpose"),
        [Tensor("x", sizes, draw.dtype)],
        [Output("out", "(batch, n_cols, n_rows)" if batch else "(n_cols, n_rows)", draw.dtype)],
        (("batch",) if batch else ()) + ("n_rows", "n_cols"),
        [f"{'batch, ' if batch else ''}n_rows, n_cols = x.shape"],
        [*lines, f"return {typed(draw, f'{text}.transpose(-2, -1).contiguous()')}"],
        cuda,
        triton,
        isinstance(node, Leaf),
    )


def concat(draw):
    """Two matrices beside or below each other."""
    rows, first, second = draw.pick(ROWS), draw.pick(COLUMNS), draw.pick((40, 75, 120, 160))
    names = draw.pick((("x", "y"), ("a", "b"), ("left", "right")))
    act = draw.chain("v", 0, 1)
    lines, value = written(act, "cuda", ("v",))
    row_wise = draw.chance(0.5)
    a, b = names
    if row_wise:
        cuda = Side(
            fill(
                """
            const int row = blockIdx.x;
            const int width = a_cols + b_cols;
            for (int col = threadIdx.x; col < width; col += blockDim.x) {
              const float v = col < a_cols ? LOAD($a, row * a_cols + col) : LOAD($b, row * b_cols + col - a_cols);
              $lines
              STORE(out, row * width + col, $value);
            }
            """,
                a=a,
                b=b,
                lines=lines,
                value=value,
            ),
            ("n_rows",),
            "One block per output row: the columns of the first input, then those of the second.",
        )
    else:
        cuda = Side(
            fill(
                """
            const int width = a_cols + b_cols;
            for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n_rows * width; i += gridDim.x * blockDim.x) {
              const int row = i / width;
              const int col = i % width;
              const float v = col < a_cols ? LOAD($a, row * a_cols + col) : LOAD($b, row * b_cols + col - a_cols);
              $lines
              STORE(out, i, $value);
            }
            """,
                a=a,
                b=b,
                lines=lines,
                value=value,
            ),
            ("cdiv(n_rows * (a_cols + b_cols), THREADS)",),
            "Grid-stride loop over the output; the column decides which input an element comes from.",
        )
    lines, value = written(act, "triton", ("v",))
    if draw.chance(0.5):
        triton = Side(
            fill(
                """
            row = tl.program_id(0)
            cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
            width = a_cols + b_cols
            from_a = cols < a_cols
            from_b = (cols >= a_cols) & (cols < width)
            # A lane reads one of the two inputs; the other load is masked.
            v = LOAD($a, row * a_cols + cols, mask=from_a, other=0.0)
            v += LOAD($b, row * b_cols + cols - a_cols, mask=from_b, other=0.0)
            $lines
            STORE(out, row * width + cols, $value, mask=cols < width)
            """,
                a=a,
                b=b,
                lines=lines,
                value=value,
            ),
            ("n_rows", "cdiv(a_cols + b_cols, BLOCK)"),
            "",
            constants={"BLOCK": draw.pick((64, 128))},
        )
    else:
        offs = "cols"
        triton = Side(
            fill(
                """
            row = tl.program_id(0)
            width = a_cols + b_cols
            cols = tl.arange(0, BLOCK)
            v = LOAD($a, row * a_cols + cols, mask=cols < a_cols)
            $lines
            STORE(out, row * width + $offs, $value, mask=cols < a_cols)
            v = LOAD($b, row * b_cols + cols, mask=cols < b_cols)
            $lines
            STORE(out, row * width + a_cols + $offs, $value, mask=cols < b_cols)
            """,
                a=a,
                b=b,
                lines=lines,
                value=value,
                offs=offs,
            ),
            ("n_rows",),
            "One program per row copies both parts.",
            constants={"BLOCK": "triton.next_power_of_2(max(a_cols, b_cols))"},
        )
    lines, text = written(replaced(act, "v", "joined"), "torch", ("joined",))
    joined = f"torch.cat([{a}, {b}], dim=-1)"
    body = (
        [f"return {typed(draw, joined)}"]
        if isinstance(act, Leaf)
        else [f"joined = {joined}", *lines, f"return {typed(draw, text)}"]
    )
    return Program(
        name_of("concat", words_of(act)),
        [Tensor(a, (rows, first), draw.dtype), Tensor(b, (rows, second), draw.dtype)],
        [Output("out", "(n_rows, a_cols + b_cols)", draw.dtype)],
        ("n_rows", "a_cols", "b_cols"),
        [f"n_rows, a_cols = {a}.shape", f"b_cols = {b}.shape[1]"],
        body,
        cuda,
        triton,
        isinstance(act, Leaf),
    )


def rotary(draw):
    """Rotary position embedding of (positions, heads, dim)."""
    positions, heads, half = draw.pick((12, 16, 24)), draw.pick((2, 3, 4)), draw.pick((16, 20, 32))
    pairs = draw.chance(0.4)  # neighbours are rotated together; else the two halves
    low, high = ("2 * j", "2 * j + 1") if pairs else ("j", "half_dim + j")
    cuda = Side(
        fill(
            """
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= positions * heads * half_dim) return;
        const int j = i % half_dim;
        const int position = i / (half_dim * heads);
        const int base = i / half_dim * 2 * half_dim;
        const float c = LOAD(cos, position * half_dim + j);
        const float s = LOAD(sin, position * half_dim + j);
        const float first = LOAD(x, base + $low);
        const float second = LOAD(x, base + $high);
        STORE(out, base + $low, first * c - second * s);
        STORE(out, base + $high, second * c + first * s);
        """,
            low=low,
            high=high,
        ),
        ("cdiv(positions * heads * half_dim, THREADS)",),
        "Rotary embedding. A thread rotates one pair of "
        + ("neighbouring elements." if pairs else "elements, one of each half of the head."),
    )
    if draw.chance(0.5):
        cuda = Side(
            fill(
                """
            const int position = blockIdx.x;
            for (int i = threadIdx.x; i < heads * half_dim; i += blockDim.x) {
              const int j = i % half_dim;
              const int base = (position * heads + i / half_dim) * 2 * half_dim;
              const float c = LOAD(cos, position * half_dim + j);
              const float s = LOAD(sin, position * half_dim + j);
              const float first = LOAD(x, base + $low);
              const float second = LOAD(x, base + $high);
              STORE(out, base + $low, first * c - second * s);
              STORE(out, base + $high, second * c + first * s);
            }
            """,
                low=low,
                high=high,
            ),
            ("positions",),
            "Rotary embedding: one block per position, a thread per rotated pair.",
        )
    triton = Side(
        fill(
            """
        position = tl.program_id(0)
        head = tl.program_id(1)
        j = tl.arange(0, BLOCK)
        mask = j < half_dim
        c = LOAD(cos, position * half_dim + j, mask=mask, other=0.0)
        s = LOAD(sin, position * half_dim + j, mask=mask, other=0.0)
        base = (position * heads + head) * 2 * half_dim
        first = LOAD(x, base + $low, mask=mask, other=0.0)
        second = LOAD(x, base + $high, mask=mask, other=0.0)
        STORE(out, base + $low, first * c - second * s, mask=mask)
        STORE(out, base + $high, second * c + first * s, mask=mask)
        """,
            low=low,
            high=high,
        ),
        ("positions", "heads"),
        "One program per position and head.",
        constants={"BLOCK": "triton.next_power_of_2(half_dim)"},
    )
    if draw.chance(0.5):
        triton = Side(
            fill(
                """
            position = tl.program_id(0)
            head = tl.arange(0, BLOCK_HEADS)
            j = tl.arange(0, BLOCK_HALF)
            angle_mask = j < half_dim
            c = LOAD(cos, position * half_dim + j, mask=angle_mask, other=0.0)[None, :]
            s = LOAD(sin, position * half_dim + j, mask=angle_mask, other=0.0)[None, :]
            mask = (head[:, None] < heads) & angle_mask[None, :]
            base = (position * heads + head[:, None]) * 2 * half_dim
            first = LOAD(x, base + $low, mask=mask, other=0.0)
            second = LOAD(x, base + $high, mask=mask, other=0.0)
            STORE(out, base + $low, first * c - second * s, mask=mask)
            STORE(out, base + $high, second * c + first * s, mask=mask)
            """,
                low=low.replace("j", "j[None, :]"),
                high=high.replace("j", "j[None, :]"),
            ),
            ("positions",),
            "A program rotates all heads of one position with the same angles.",
            constants={"BLOCK_HEADS": "triton.next_power_of_2(heads)", "BLOCK_HALF": "triton.next_power_of_2(half_dim)"},
        )
    parts = ["first, second = x[..., 0::2], x[..., 1::2]"] if pairs else ["first, second = x.chunk(2, dim=-1)"]
    parts += ["c, s = cos[:, None, :], sin[:, None, :]", "rotated = (first * c - second * s, second * c + first * s)"]
    joined = "torch.stack(rotated, dim=-1).flatten(-2)" if pairs else "torch.cat(rotated, dim=-1)"
    angles = [
        Tensor(
            name,
            (positions, half),
            draw.dtype,
            f"torch.{name}(torch.arange({positions})[:, None] * torch.logspace(0, -3, {half}))"
            + (".half()" if draw.dtype == "float16" else ""),
        )
        for name in ("cos", "sin")
    ]
    return Program(
        f"rotary_{'interleaved' if pairs else 'halves'}",
        [Tensor("x", (positions, heads, 2 * half), draw.dtype), *angles],
        [Output("out", "", draw.dtype, like="x")],
        ("positions", "heads", "half_dim"),
        ["positions, heads, half_dim = x.shape[0], x.shape[1], x.shape[2] // 2"],
        [*parts, f"return {typed(draw, joined)}"],
        cuda,
        triton,
    )


def reorder(draw):
    """Rows flipped, rolled, or cut to a triangle."""
    rows, cols, amount = draw.pick(ROWS), draw.pick(COLUMNS), draw.pick((1, 3, 7))
    kind = draw.pick(("flip", "roll", "tril", "triu"))
    act = draw.chain("v", 0, 2)
    name = {"flip": "flip", "roll": "roll", "tril": "tril", "triu": "triu"}[kind]
    source = {"flip": "n_cols - 1 - col", "roll": "(col + n_cols - SHIFT) % n_cols"}.get(kind, "col")
    keep = {"tril": "col <= row", "triu": "col >= row"}.get(kind)
    lines, value = written(act, "cuda", ("v",))
    store = f"{keep} ? {value} : 0.0f" if keep else value
    cuda = (
        Side(
            fill(
                """
        const int row = blockIdx.x;
        for (int col = threadIdx.x; col < n_cols; col += blockDim.x) {
          const float v = LOAD(x, row * n_cols + $source);
          $lines
          STORE(out, row * n_cols + col, $store);
        }
        """,
                source=source,
                lines=lines,
                store=store,
            ),
            ("n_rows",),
            "One block per row.",
        )
        if draw.chance(0.5)
        else Side(
            fill(
                """
        const int col = blockIdx.x * blockDim.x + threadIdx.x;
        const int row = blockIdx.y * blockDim.y + threadIdx.y;
        if (row >= n_rows || col >= n_cols) return;
        const float v = LOAD(x, row * n_cols + $source);
        $lines
        STORE(out, row * n_cols + col, $store);
        """,
                source=source,
                lines=lines,
                store=store,
            ),
            ("cdiv(n_cols, BLOCK_X)", "cdiv(n_rows, BLOCK_Y)"),
            "A two-dimensional grid; one thread per element.",
            block=("BLOCK_X", "BLOCK_Y"),
            constants={"BLOCK_X": 32, "BLOCK_Y": draw.pick((4, 8))},
        )
    )
    cuda.constants.update({"SHIFT": amount} if kind == "roll" else {})
    lines, value = written(act, "triton", ("v",))
    store = f"tl.where({keep.replace('col ', 'cols ')}, {value}, 0.0)" if keep else value
    triton = Side(
        fill(
            """
        row = tl.program_id(0)
        cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        mask = cols < n_cols
        v = LOAD(x, row * n_cols + $source, mask=mask, other=0.0)
        $lines
        STORE(out, row * n_cols + cols, $store, mask=mask)
        """,
            source=source.replace("n_cols", "N").replace("col", "cols").replace("N", "n_cols"),
            lines=lines,
            store=store,
        ),
        ("n_rows", "cdiv(n_cols, BLOCK)"),
        draw.say("A program handles BLOCK columns of one row.", ""),
        constants={**({"SHIFT": amount} if kind == "roll" else {}), "BLOCK": draw.pick((64, 128, 256))},
    )
    node = replaced(act, "v", "x")
    lines, text = written(node, "torch", ("x",))
    torch = {
        "flip": "torch.flip({0}, dims=(-1,))",
        "roll": f"torch.roll({{0}}, {amount}, dims=-1)",
        "tril": "torch.tril({0})",
        "triu": "torch.triu({0})",
    }[kind]
    return Program(
        name_of(words_of(act), name),
        [Tensor("x", (rows, cols), draw.dtype)],
        [Output("out", "", draw.dtype, like="x")],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = x.shape"],
        [*lines, f"return {typed(draw, torch.format(text))}"],
        cuda,
        triton,
        isinstance(act, Leaf),
    )


FAMILIES = (transpose, concat, rotary, reorder)
