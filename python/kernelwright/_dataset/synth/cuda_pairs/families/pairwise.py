"""Functions of all pairs of rows or elements."""

from ..expressions import words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import name_of, typed


def pairwise(draw):
    """A function of all pairs of rows: squared distances, or a Gaussian of them, or an outer operation on vectors."""
    m, n, dim = draw.pick((17, 24, 33)), draw.pick((20, 40, 50)), draw.pick((16, 24, 40))
    outer = draw.chance(0.4)
    if outer:
        node = draw.chain(draw.binary("u", "w"), 0, 1)
        lines, value = written(node, "cuda", ("u", "w"))
        cuda = Side(
            fill(
                """
            const int col = blockIdx.x * blockDim.x + threadIdx.x;
            const int row = blockIdx.y * blockDim.y + threadIdx.y;
            if (row >= M || col >= N) return;
            const float u = LOAD(a, row);
            const float w = LOAD(b, col);
            $lines
            STORE(out, row * N + col, $value);
            """,
                lines=lines,
                value=value,
            ),
            ("cdiv(N, BLOCK_X)", "cdiv(M, BLOCK_Y)"),
            "A thread per element of the table of all pairs.",
            block=("BLOCK_X", "BLOCK_Y"),
            constants={"BLOCK_X": 32, "BLOCK_Y": draw.pick((4, 8))},
        )
        lines, value = written(node, "triton", ("u", "w"))
        triton = Side(
            fill(
                """
            rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
            cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
            u = LOAD(a, rows, mask=rows < M, other=0.0)[:, None]
            w = LOAD(b, cols, mask=cols < N, other=0.0)[None, :]
            $lines
            STORE(out, rows[:, None] * N + cols[None, :], $value, mask=(rows[:, None] < M) & (cols[None, :] < N))
            """,
                lines=lines,
                value=value,
            ),
            ("cdiv(M, BLOCK_M)", "cdiv(N, BLOCK_N)"),
            "Two vectors are broadcast against each other.",
            constants={"BLOCK_M": draw.pick((16, 32)), "BLOCK_N": draw.pick((32, 64))},
        )
        body = ["u, w = a[:, None], b[None, :]"]
        lines, text = written(node, "torch", ("u", "w"))
        return Program(
            name_of("outer", words_of(node)),
            [Tensor("a", (m * 3,), draw.dtype), Tensor("b", (n * 2,), draw.dtype)],
            [Output("out", "(M, N)", draw.dtype)],
            ("M", "N"),
            ["M, N = a.shape[0], b.shape[0]"],
            [*body, *lines, f"return {typed(draw, text)}"],
            cuda,
            triton,
        )
    kind = draw.pick(("squared", "euclidean", "gaussian", "manhattan"))
    term = "fabsf(difference)" if kind == "manhattan" else "difference * difference"
    cuda_last = {"squared": "acc", "euclidean": "sqrtf(acc)", "gaussian": "expf(-0.05f * acc)", "manhattan": "acc"}[kind]
    cuda = (
        Side(
            fill(
                """
        __shared__ float row_values[MAX_DIM];
        const int row = blockIdx.x;
        // All threads of the block compare the same row of a, which they share.
        for (int k = threadIdx.x; k < dim; k += blockDim.x) row_values[k] = LOAD(a, row * dim + k);
        __syncthreads();
        for (int col = threadIdx.x; col < N; col += blockDim.x) {
          float acc = 0.0f;
          for (int k = 0; k < dim; ++k) {
            const float difference = row_values[k] - LOAD(b, col * dim + k);
            acc += $term;
          }
          STORE(out, row * N + col, $last);
        }
        """,
                term=term,
                last=cuda_last,
            ),
            ("M",),
            "One block per row of a; dim is at most MAX_DIM.",
            constants={"MAX_DIM": draw.pick((64, 128))},
        )
        if draw.chance(0.5)
        else Side(
            fill(
                """
        const int col = blockIdx.x * blockDim.x + threadIdx.x;
        const int row = blockIdx.y;
        if (col >= N) return;
        float acc = 0.0f;
        for (int k = 0; k < dim; ++k) {
          const float difference = LOAD(a, row * dim + k) - LOAD(b, col * dim + k);
          acc += $term;
        }
        STORE(out, row * N + col, $last);
        """,
                term=term,
                last=cuda_last,
            ),
            ("cdiv(N, THREADS)", "M"),
            "blockIdx.y is the row of a; a thread computes one distance.",
        )
    )
    triton_term = "tl.abs(difference)" if kind == "manhattan" else "difference * difference"
    last = {"squared": "acc", "euclidean": "tl.sqrt(acc)", "gaussian": "tl.exp(-0.05 * acc)", "manhattan": "acc"}[kind]
    triton = Side(
        fill(
            """
        row = tl.program_id(0)
        cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        ks = tl.arange(0, BLOCK_K)
        a_row = LOAD(a, row * dim + ks, mask=ks < dim, other=0.0)
        b_rows = LOAD(b, cols[:, None] * dim + ks[None, :], mask=(cols[:, None] < N) & (ks[None, :] < dim), other=0.0)
        difference = a_row[None, :] - b_rows
        acc = tl.sum($term, axis=1)
        STORE(out, row * N + cols, $last, mask=cols < N)
        """,
            term=triton_term,
            last=last,
        ),
        ("M", "cdiv(N, BLOCK_N)"),
        "One row of a against BLOCK_N rows of b.",
        constants={"BLOCK_N": draw.pick((16, 32)), "BLOCK_K": "triton.next_power_of_2(dim)"},
    )
    differences = "difference = a[:, None, :] - b[None, :, :]"
    reference = {
        "squared": "(difference ** 2).sum(dim=-1)",
        "euclidean": "torch.sqrt((difference ** 2).sum(dim=-1))",
        "gaussian": "torch.exp(-0.05 * (difference ** 2).sum(dim=-1))",
        "manhattan": "difference.abs().sum(dim=-1)",
    }[kind]
    return Program(
        f"{kind}_distance" if kind != "gaussian" else "gaussian_kernel_matrix",
        [Tensor("a", (m, dim), draw.dtype), Tensor("b", (n, dim), draw.dtype)],
        [Output("out", "(M, N)", draw.dtype)],
        ("M", "N", "dim"),
        ["M, dim = a.shape", "N = b.shape[0]"],
        [differences, f"return {typed(draw, reference)}"],
        cuda,
        triton,
    )


FAMILIES = (pairwise,)
