"""Computations on windows: stencils, convolutions of one channel, pooling."""

from ..draw import COLUMNS
from ..expressions import words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import name_of, typed

WEIGHTS = (
    (0.25, 0.5, 0.25),
    (-1.0, 2.0, -1.0),
    (-0.5, 0.0, 0.5),
    (0.1, 0.2, 0.4, 0.2, 0.1),
    (0.2, 0.6, 0.2),
    (1.0, -4.0, 6.0, -4.0, 1.0),
)


def guarded_tap(offset, weight):
    """One term of a stencil in CUDA, where the neighbour is in the row."""
    if not offset:
        return f"acc += {weight}f * LOAD(x, i);"
    step = f"{'-' if offset < 0 else '+'} {abs(offset)}"
    return f"if (col {step} {'>= 0' if offset < 0 else '< n_cols'}) acc += {weight}f * LOAD(x, i {step});"


def stencil_1d(draw):
    """A weighted sum of neighbours along rows; outside is zero."""
    rows, cols = draw.pick((3, 6, 12)), draw.pick(COLUMNS)
    weights = draw.pick(WEIGHTS)
    radius = len(weights) // 2
    act = draw.chain("acc", 0, 1)
    lines, value = written(act, "cuda", ("acc",))
    taps = [(offset, weight) for offset, weight in zip(range(-radius, radius + 1), weights, strict=True) if weight]
    if draw.chance(0.6):
        terms = [f"acc += {weight}f * tile[threadIdx.x + {radius + offset}];" for offset, weight in taps]
        cuda = Side(
            fill(
                """
            __shared__ float tile[THREADS + 2 * RADIUS];
            const int row = blockIdx.y;
            const int first = blockIdx.x * THREADS;
            // The tile has RADIUS elements more on each side; outside of the row they are zero.
            for (int k = threadIdx.x; k < THREADS + 2 * RADIUS; k += THREADS) {
              const int col = first + k - RADIUS;
              tile[k] = col >= 0 && col < n_cols ? LOAD(x, row * n_cols + col) : 0.0f;
            }
            __syncthreads();
            const int col = first + threadIdx.x;
            if (col >= n_cols) return;
            float acc = 0.0f;
            $terms
            $lines
            STORE(out, row * n_cols + col, $value);
            """,
                terms=terms,
                lines=lines,
                value=value,
            ),
            ("cdiv(n_cols, THREADS)", "n_rows"),
            f"{len(weights)}-point stencil with a tile and its halo in shared memory.",
            constants={"RADIUS": radius},
        )
    else:
        terms = [guarded_tap(offset, weight) for offset, weight in taps]
        cuda = Side(
            fill(
                """
            const int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i >= n_rows * n_cols) return;
            const int col = i % n_cols;
            float acc = 0.0f;
            $terms
            $lines
            STORE(out, i, $value);
            """,
                terms=terms,
                lines=lines,
                value=value,
            ),
            ("cdiv(n_rows * n_cols, THREADS)",),
            "One thread per output; neighbouring threads share loads through the cache.",
        )
    lines, value = written(act, "triton", ("acc",))
    terms = []
    for offset, weight in taps:
        col = f"cols {'-' if offset < 0 else '+'} {abs(offset)}" if offset else "cols"
        guard = f"mask & ({col} >= 0)" if offset < 0 else f"{col} < n_cols" if offset else "mask"
        terms.append(f"acc {'+=' if terms else '='} {weight} * LOAD(x, row * n_cols + {col}, mask={guard}, other=0.0)")
    triton = Side(
        fill(
            """
        row = tl.program_id(1)
        cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = cols < n_cols
        $terms
        $lines
        STORE(out, row * n_cols + cols, $value, mask=mask)
        """,
            terms=terms,
            lines=lines,
            value=value,
        ),
        ("cdiv(n_cols, BLOCK)", "n_rows"),
        "Shifted loads of the same block; loads outside of the row give zero.",
        constants={"BLOCK": draw.pick((64, 128))},
    )
    body = [
        f"kernel = torch.tensor([[{list(weights)}]], device=x.device)",
        f"acc = F.conv1d(x[:, None, :], kernel, padding={radius})[:, 0, :]",
    ]
    lines, text = written(act, "torch", ("acc",))
    return Program(
        name_of(f"stencil_{len(weights)}_point", words_of(act)),
        [Tensor("x", (rows, cols), draw.dtype)],
        [Output("out", "", draw.dtype, like="x")],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = x.shape"],
        [*body, *lines, f"return {typed(draw, text)}"],
        cuda,
        triton,
    )


PLANES = (
    ("laplace", ((0, 1, 0), (1, -4, 1), (0, 1, 0))),
    ("blur", ((1, 2, 1), (2, 4, 2), (1, 2, 1))),
    ("sobel", ((-1, 0, 1), (-2, 0, 2), (-1, 0, 1))),
    ("sharpen", ((0, -1, 0), (-1, 5, -1), (0, -1, 0))),
    ("box", ((1, 1, 1), (1, 1, 1), (1, 1, 1))),
    ("cross", ((0, 1, 0), (1, 1, 1), (0, 1, 0))),
)


def stencil_2d(draw):
    """A 3x3 stencil of an image; outside is zero."""
    height, width = draw.pick((24, 33, 48)), draw.pick((40, 50, 70))
    word, grid = draw.pick(PLANES)
    scale = {"blur": 0.0625, "box": 0.125, "cross": 0.2}.get(word, draw.pick((1.0, 0.5)))
    act = draw.chain("acc", 0, 1)
    lines, value = written(act, "cuda", ("acc",))
    taps = [(dy, dx, scale * grid[dy + 1][dx + 1]) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if grid[dy + 1][dx + 1]]
    if draw.chance(0.6):
        terms = [f"acc += {weight}f * tile[threadIdx.y + {dy + 1}][threadIdx.x + {dx + 1}];" for dy, dx, weight in taps]
        cuda = Side(
            fill(
                """
            __shared__ float tile[TILE_Y + 2][TILE_X + 2];
            const int left = blockIdx.x * TILE_X - 1;
            const int top = blockIdx.y * TILE_Y - 1;
            // All threads load the tile and its border of one element together.
            for (int k = threadIdx.y * TILE_X + threadIdx.x; k < (TILE_Y + 2) * (TILE_X + 2); k += TILE_X * TILE_Y) {
              const int row = top + k / (TILE_X + 2);
              const int col = left + k % (TILE_X + 2);
              const bool inside = row >= 0 && row < height && col >= 0 && col < width;
              tile[k / (TILE_X + 2)][k % (TILE_X + 2)] = inside ? LOAD(x, row * width + col) : 0.0f;
            }
            __syncthreads();
            const int row = blockIdx.y * TILE_Y + threadIdx.y;
            const int col = blockIdx.x * TILE_X + threadIdx.x;
            if (row >= height || col >= width) return;
            float acc = 0.0f;
            $terms
            $lines
            STORE(out, row * width + col, $value);
            """,
                terms=terms,
                lines=lines,
                value=value,
            ),
            ("cdiv(width, TILE_X)", "cdiv(height, TILE_Y)"),
            "3x3 stencil: a block stages its tile and a halo in shared memory.",
            block=("TILE_X", "TILE_Y"),
            constants={"TILE_X": draw.pick((16, 32)), "TILE_Y": draw.pick((4, 8))},
        )
    else:
        terms = [
            f"acc += {weight}f * at(x, row {'-+'[dy >= 0]} {abs(dy)}, col {'-+'[dx >= 0]} {abs(dx)}, height, width);".replace(
                "row + 0", "row"
            ).replace("col + 0", "col")
            for dy, dx, weight in taps
        ]
        pointer = "__half" if draw.dtype == "float16" else "float"
        helpers = fill(
            """
            __device__ __forceinline__ float at(const $pointer* x, int row, int col, int height, int width) {
              const bool inside = row >= 0 && row < height && col >= 0 && col < width;
              return inside ? LOAD(x, row * width + col) : 0.0f;
            }""",
            pointer=pointer,
        )
        cuda = Side(
            fill(
                """
            const int col = blockIdx.x * blockDim.x + threadIdx.x;
            const int row = blockIdx.y * blockDim.y + threadIdx.y;
            if (row >= height || col >= width) return;
            float acc = 0.0f;
            $terms
            $lines
            STORE(out, row * width + col, $value);
            """,
                terms=terms,
                lines=lines,
                value=value,
            ),
            ("cdiv(width, TILE_X)", "cdiv(height, TILE_Y)"),
            "One thread per pixel; the cache serves the shared neighbours.",
            helpers,
            block=("TILE_X", "TILE_Y"),
            constants={"TILE_X": 32, "TILE_Y": draw.pick((4, 8))},
        )
    lines, value = written(act, "triton", ("acc",))
    row, col = "rows", "cols"
    terms = []
    for dy, dx, weight in taps:
        y = f"{row} {'-+'[dy > 0]} 1" if dy else row
        z = f"{col} {'-+'[dx > 0]} 1" if dx else col
        guard = " & ".join(
            ["mask"]
            + ([f"({y} >= 0)" if dy < 0 else f"({y} < height)"] if dy else [])
            + ([f"({z} >= 0)" if dx < 0 else f"({z} < width)"] if dx else [])
        )
        index = f"({y}) * width + {z}" if dy else f"{y} * width + {z}"
        terms.append(f"acc {'+=' if terms else '='} {weight} * LOAD(x, {index}, mask={guard}, other=0.0)")
    triton = Side(
        fill(
            """
        rows = tl.program_id(0) * BLOCK_Y + tl.arange(0, BLOCK_Y)[:, None]
        cols = tl.program_id(1) * BLOCK_X + tl.arange(0, BLOCK_X)[None, :]
        mask = (rows < height) & (cols < width)
        $terms
        $lines
        STORE(out, rows * width + cols, $value, mask=mask)
        """,
            terms=terms,
            lines=lines,
            value=value,
        ),
        ("cdiv(height, BLOCK_Y)", "cdiv(width, BLOCK_X)"),
        "A tile of the image per program; shifted loads reach the neighbours.",
        constants={"BLOCK_Y": draw.pick((8, 16)), "BLOCK_X": draw.pick((16, 32, 64))},
    )
    rows = [[scale * each for each in line] for line in grid]
    body = [f"kernel = torch.tensor([[{rows}]], device=x.device)", "acc = F.conv2d(x[None, None], kernel, padding=1)[0, 0]"]
    lines, text = written(act, "torch", ("acc",))
    return Program(
        name_of(word, "3x3", words_of(act)).replace("3x3", "stencil"),
        [Tensor("x", (height, width), draw.dtype)],
        [Output("out", "", draw.dtype, like="x")],
        ("height", "width"),
        ["height, width = x.shape"],
        [*body, *lines, f"return {typed(draw, text)}"],
        cuda,
        triton,
    )


FAMILIES = (stencil_1d, stencil_2d)
