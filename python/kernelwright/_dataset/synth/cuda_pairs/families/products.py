"""Matrix products: matrix-vector, tiled products with epilogues, outer products, distances."""

from ..draw import ROWS
from ..expressions import Leaf, words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import block_reduction, name_of, typed, warp_reduction
from .maps import replaced


def matvec(draw):
    """A matrix times a vector, with a bias and an activation."""
    rows, cols = draw.pick(ROWS), draw.pick((64, 96, 130, 200, 256))
    bias = draw.chance(0.5)
    act = draw.chain("acc", 0, 2)
    inputs = [Tensor("matrix", (rows, cols), draw.dtype), Tensor("x", (cols,), draw.dtype)] + (
        [Tensor("bias", (rows,), draw.dtype)] if bias else []
    )
    lines, value = written(act, "cuda", ("acc",))
    finish = [*(["acc += LOAD(bias, row);"] if bias else []), *lines, f"STORE(out, row, {value});"]
    if draw.chance(0.5):
        cuda = Side(
            fill(
                """
            const int lane = threadIdx.x % 32;
            const int row = blockIdx.x * WARPS + threadIdx.x / 32;
            if (row >= n_rows) return;
            float acc = 0.0f;
            for (int k = lane; k < n_cols; k += 32) acc += LOAD(matrix, row * n_cols + k) * LOAD(x, k);
            acc = warp_reduce_sum(acc);
            if (lane == 0) {
              $finish
            }
            """,
                finish=finish,
            ),
            ("cdiv(n_rows, WARPS)",),
            "One warp per row of the matrix; its lanes read consecutive columns.",
            warp_reduction("sum"),
            block=("32 * WARPS",),
            constants={"WARPS": draw.pick((4, 8))},
        )
    else:
        cuda = Side(
            fill(
                """
            const int row = blockIdx.x;
            float acc = 0.0f;
            for (int k = threadIdx.x; k < n_cols; k += blockDim.x) acc += LOAD(matrix, row * n_cols + k) * LOAD(x, k);
            acc = block_reduce_sum(acc);
            if (threadIdx.x == 0) {
              $finish
            }
            """,
                finish=finish,
            ),
            ("n_rows",),
            "One block per row of the matrix.",
            block_reduction("sum", draw.chance(0.4)),
        )
    lines, value = written(act, "triton", ("acc",))
    triton = Side(
        fill(
            """
        rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
        acc = tl.zeros((BLOCK_ROWS,), dtype=tl.float32)
        for start in range(0, n_cols, BLOCK_COLS):
            cols = start + tl.arange(0, BLOCK_COLS)
            mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
            a = LOAD(matrix, rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
            b = LOAD(x, cols, mask=cols < n_cols, other=0.0)
            acc += tl.sum(a * b[None, :], axis=1)
        $bias
        $lines
        STORE(out, rows, $value, mask=rows < n_rows)
        """,
            bias="acc += LOAD(bias, rows, mask=rows < n_rows, other=0.0)" if bias else "",
            lines=lines,
            value=value,
        ),
        ("cdiv(n_rows, BLOCK_ROWS)",),
        "A program computes BLOCK_ROWS results and walks over the columns.",
        constants={"BLOCK_ROWS": draw.pick((4, 8, 16)), "BLOCK_COLS": draw.pick((32, 64))},
    )
    lines, text = written(act, "torch", ("acc",))
    reference = "matrix @ x" + (" + bias" if bias else "")
    body = (
        [f"return {typed(draw, reference)}"]
        if isinstance(act, Leaf)
        else [f"acc = {reference}", *lines, f"return {typed(draw, text)}"]
    )
    return Program(
        name_of("matvec", ["bias"] if bias else [], words_of(act)),
        inputs,
        [Output("out", "(n_rows,)", draw.dtype)],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = matrix.shape"],
        body,
        cuda,
        triton,
    )


def matmul(draw):
    """A tiled product, possibly of batches or with a transposed second matrix, with a bias, a residual and an activation."""
    m, n, k, batch = (
        draw.pick((33, 48, 60, 64)),
        draw.pick((40, 50, 64, 72)),
        draw.pick((24, 40, 64, 80)),
        draw.pick((0, 0, 0, 2, 3)),
    )
    transposed = draw.chance(0.4)
    extra = draw.pick(("", "bias", "residual")) if not batch else ""
    act = draw.chain("acc", 0, 1) if draw.chance(0.6) else Leaf("acc")
    a, b = draw.pick((("a", "b"), ("x", "weight"), ("lhs", "rhs")))
    index = "col * K + k" if transposed else "k * N + col"
    lead = (batch,) if batch else ()
    inputs = [Tensor(a, (*lead, m, k), draw.dtype), Tensor(b, (*lead, n, k) if transposed else (*lead, k, n), draw.dtype)]
    inputs += (
        [Tensor("bias", (n,), draw.dtype)] if extra == "bias" else [Tensor("residual", (m, n), draw.dtype)] if extra else []
    )
    add = {"": [], "bias": ["acc += LOAD(bias, col);"], "residual": ["acc += LOAD(residual, row * N + col);"]}[extra]
    lines, value = written(act, "cuda", ("acc",))
    offsets = (
        [
            "const int a_base = blockIdx.z * M * K;",
            "const int b_base = blockIdx.z * K * N;",
            "const int out_base = blockIdx.z * M * N;",
        ]
        if batch
        else []
    )
    pa, pb, po = ("a_base + ", "b_base + ", "out_base + ") if batch else ("", "", "")
    registers = not batch and draw.chance(0.4)
    b_of = {True: f"LOAD({b}, {pb}bcol * K + first + kk)", False: f"LOAD({b}, {pb}(first + kk) * N + bcol)"}[transposed]
    if registers:
        finish = [each.replace("acc +=", "value +=") for each in add]
        last, text = written(replaced(act, "acc", "value"), "cuda", ("value",))
        finish = ["float value = acc[r];", *finish, *last, f"STORE(out, row * N + col, {text});"]
        cuda = Side(
            fill(
                """
            __shared__ float a_tile[TILE][TILE + 1];
            __shared__ float b_tile[TILE][TILE + 1];
            const int col = blockIdx.x * TILE + threadIdx.x;
            float acc[PER_THREAD] = {};
            for (int first = 0; first < K; first += TILE) {
              for (int r = 0; r < PER_THREAD; ++r) {
                const int y = threadIdx.y + r * (TILE / PER_THREAD);
                const int row = blockIdx.y * TILE + y;
                a_tile[y][threadIdx.x] = row < M && first + threadIdx.x < K ? LOAD($a, row * K + first + threadIdx.x) : 0.0f;
                b_tile[y][threadIdx.x] = col < N && first + y < K ? LOAD($b, $b_index) : 0.0f;
              }
              __syncthreads();
              for (int k = 0; k < TILE; ++k) {
                const float b_value = b_tile[k][threadIdx.x];
                #pragma unroll
                for (int r = 0; r < PER_THREAD; ++r) {
                  acc[r] += a_tile[threadIdx.y + r * (TILE / PER_THREAD)][k] * b_value;
                }
              }
              __syncthreads();
            }
            for (int r = 0; r < PER_THREAD; ++r) {
              const int row = blockIdx.y * TILE + threadIdx.y + r * (TILE / PER_THREAD);
              if (row < M && col < N) {
                $finish
              }
            }
            """,
                a=a,
                b=b,
                b_index="col * K + first + y" if transposed else "(first + y) * N + col",
                finish=finish,
            ),
            ("cdiv(N, TILE)", "cdiv(M, TILE)"),
            "Tiles of both matrices lie in shared memory; a thread keeps PER_THREAD results in registers "
            "and reuses each value of b.",
            block=("TILE", "TILE / PER_THREAD"),
            constants={"TILE": 32, "PER_THREAD": draw.pick((4, 8))},
        )
        cuda.constants["TILE_Y"] = "TILE / PER_THREAD"
        cuda.block = ("TILE", "TILE_Y")
        cuda.body = cuda.body.replace("(TILE / PER_THREAD)", "TILE_Y")
    else:
        cuda = Side(
            fill(
                """
            __shared__ float a_tile[TILE][TILE];
            __shared__ float b_tile[TILE][TILE$skew];
            const int row = blockIdx.y * TILE + threadIdx.y;
            const int col = blockIdx.x * TILE + threadIdx.x;
            $offsets
            float acc = 0.0f;
            for (int first = 0; first < K; first += TILE) {
              a_tile[threadIdx.y][threadIdx.x] =
                  row < M && first + threadIdx.x < K ? LOAD($a, $parow * K + first + threadIdx.x) : 0.0f;
              $load_b
              __syncthreads();
              #pragma unroll
              for (int k = 0; k < TILE; ++k) acc += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
              __syncthreads();
            }
            if (row < M && col < N) {
              $finish
            }
            """.replace("$pa", pa),
                skew=" + 1" if transposed else "",
                a=a,
                offsets=offsets,
                finish=[*add, *lines, f"STORE(out, {po}row * N + col, {value});"],
                load_b=(
                    f"// b is stored by columns: consecutive threads read along K and store a column of the tile.\n"
                    f"const int b_col = blockIdx.x * TILE + threadIdx.y;\n"
                    f"b_tile[threadIdx.x][threadIdx.y] =\n"
                    f"    b_col < N && first + threadIdx.x < K ? LOAD({b}, {pb}b_col * K + first + threadIdx.x) : 0.0f;"
                )
                if transposed
                else f"b_tile[threadIdx.y][threadIdx.x] =\n"
                f"    first + threadIdx.y < K && col < N ? LOAD({b}, {pb}(first + threadIdx.y) * N + col) : 0.0f;",
            ),
            ("cdiv(N, TILE)", "cdiv(M, TILE)", *(("batch",) if batch else ())),
            "Tiled product: each block computes a TILE x TILE part of the result.",
            block=("TILE", "TILE"),
            constants={"TILE": draw.pick((16, 16, 32))},
        )
    del index, b_of
    lines, value = written(act, "triton", ("acc",))
    add = {
        "": [],
        "bias": ["acc += LOAD(bias, cols, mask=cols < N, other=0.0)[None, :]"],
        "residual": ["acc += LOAD(residual, rows[:, None] * N + cols[None, :], mask=mask, other=0.0)"],
    }[extra]
    precision = "" if draw.dtype == "float16" else ', input_precision="ieee"'
    offsets = ["pid_b = tl.program_id(2)"] if batch else []
    pa, pb, po = ("pid_b * M * K + ", "pid_b * K * N + ", "pid_b * M * N + ") if batch else ("", "", "")
    triton = Side(
        fill(
            """
        rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        $offsets
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, K, BLOCK_K):
            ks = start + tl.arange(0, BLOCK_K)
            a_block = LOAD($a, $parows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0, raw)
            b_block = LOAD($b, $pb$index, mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0, raw)
            acc = tl.dot(a_block, b_block, acc$precision)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        $add
        $lines
        STORE(out, $porows[:, None] * N + cols[None, :], $value, mask=mask)
        """.replace("$pa", pa)
            .replace("$pb", pb)
            .replace("$po", po),
            a=a,
            b=b,
            index="cols[None, :] * K + ks[:, None]" if transposed else "ks[:, None] * N + cols[None, :]",
            offsets=offsets,
            precision=precision,
            add=add,
            lines=lines,
            value=value,
        ),
        ("cdiv(M, BLOCK_M)", "cdiv(N, BLOCK_N)", *(("batch",) if batch else ())),
        draw.say(
            "A program computes a BLOCK_M x BLOCK_N tile and accumulates over K in float32.",
            "Blocked product with tl.dot; accumulates in float32.",
        ),
        constants={"BLOCK_M": draw.pick((16, 32, 64)), "BLOCK_N": draw.pick((16, 32, 64)), "BLOCK_K": draw.pick((16, 32))},
    )
    reference = f"{a} @ {b}.transpose(-2, -1)" if transposed else f"{a} @ {b}"
    reference += {"": "", "bias": " + bias", "residual": " + residual"}[extra]
    lines, text = written(act, "torch", ("acc",))
    body = (
        [f"return {typed(draw, reference)}"]
        if isinstance(act, Leaf)
        else [f"acc = {reference}", *lines, f"return {typed(draw, text)}"]
    )
    name = name_of(["batched"] if batch else [], "matmul", ["nt"] if transposed else [], extra or [], words_of(act))
    return Program(
        name,
        inputs,
        [Output("out", "(batch, M, N)" if batch else "(M, N)", draw.dtype)],
        (("batch",) if batch else ()) + ("M", "N", "K"),
        [f"{'batch, ' if batch else ''}M, K = {a}.shape", f"N = {b}.shape[{-2 if transposed else -1}]"],
        body,
        cuda,
        triton,
    )


FAMILIES = (matvec, matmul)
