"""Pointwise computations."""

from ..draw import COLUMNS, LENGTHS, ROWS
from ..expressions import Leaf, words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import name_of, returned

GRID_STRIDE = """
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) {
  $loads
  $lines
  STORE(out, i, $value);
}
"""
ONE_EACH = """
const int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= numel) return;
$loads
$lines
STORE(out, i, $value);
"""
MANY_EACH = """
// Neighbouring threads touch neighbouring elements in every step, so that accesses coalesce.
const int first = blockIdx.x * THREADS * ITEMS + threadIdx.x;
#pragma unroll
for (int item = 0; item < ITEMS; ++item) {
  const int i = first + item * THREADS;
  if (i < numel) {
    $loads
    $lines
    STORE(out, i, $value);
  }
}
"""
VECTOR = """
// A thread handles four elements with one 16-byte access; the last elements follow one by one.
const int quads = numel / 4;
const int thread = blockIdx.x * blockDim.x + threadIdx.x;
for (int q = thread; q < quads; q += gridDim.x * blockDim.x) {
  $quad_loads
  float4 packed;
  packed.x = apply($xs);
  packed.y = apply($ys);
  packed.z = apply($zs);
  packed.w = apply($ws);
  reinterpret_cast<float4*>(out)[q] = packed;
}
for (int i = 4 * quads + thread; i < numel; i += gridDim.x * blockDim.x) {
  out[i] = apply($tail);
}
"""
TRITON = """
pid = tl.program_id(0)
offs = pid * BLOCK + tl.arange(0, BLOCK)
mask = offs < numel
$loads
$lines
STORE(out, offs, $value, mask=mask)
"""
TRITON_LOOP = """
# A fixed number of programs walks over the blocks.
start = tl.program_id(0) * BLOCK
step = tl.num_programs(0) * BLOCK
for first in range(start, numel, step):
    offs = first + tl.arange(0, BLOCK)
    mask = offs < numel
    $loads
    $lines
    STORE(out, offs, $value, mask=mask)
"""


def flat_program(draw, name, operands, node, sizes):
    """A computation on tensors of equal shapes; `operands` are (tensor, variable)."""
    inputs = [Tensor(tensor, sizes, draw.dtype) for tensor, _ in operands]
    taken = [variable for _, variable in operands]
    lines, value = written(node, "cuda", taken)
    loads = [f"const float {variable} = LOAD({tensor}, i);" for tensor, variable in operands]
    style = draw.pick(("stride", "stride", "one", "many") + (("vector",) if draw.dtype == "float32" else ()))
    constants, helpers = {}, ""
    grid = "cdiv(numel, THREADS)"
    if style == "vector":
        helpers = fill(
            """
            __device__ __forceinline__ float apply($parameters) {
              $lines
              return $value;
            }""",
            parameters=", ".join(f"float {each}" for each in taken),
            lines=lines,
            value=value,
        )
        quads = [f"const float4 {v}4 = reinterpret_cast<const float4*>({t})[q];" for t, v in operands]
        each = {axis: ", ".join(f"{v}4.{axis[0]}" for v in taken) for axis in ("xs", "ys", "zs", "ws")}
        body = fill(VECTOR, quad_loads=quads, tail=", ".join(f"{t}[i]" for t, _ in operands), **each)
        grid = "cdiv(numel, ELEMENTS)"
        constants = {"ELEMENTS": "4 * THREADS"}
    else:
        body = fill({"stride": GRID_STRIDE, "one": ONE_EACH, "many": MANY_EACH}[style], loads=loads, lines=lines, value=value)
        if style == "many":
            constants = {"ITEMS": draw.pick((2, 4, 8))}
            constants["TILE_ELEMENTS"] = "ITEMS * THREADS"
            grid = "cdiv(numel, TILE_ELEMENTS)"
    lines, value = written(node, "triton", [*taken, "mask", "offs", "pid", "start", "step", "first"])
    loads = [f"{variable} = LOAD({tensor}, offs, mask=mask)" for tensor, variable in operands]
    loop = draw.chance(0.25)
    triton = Side(
        fill(TRITON_LOOP if loop else TRITON, loads=loads, lines=lines, value=value),
        (f"min(cdiv(numel, BLOCK), {draw.pick((8, 16, 32))})" if loop else "cdiv(numel, BLOCK)",),
        constants={"BLOCK": draw.block},
        comment="" if loop else draw.say("Each program handles BLOCK elements.", "One block of elements per program.", ""),
    )
    comment = {
        "stride": draw.say(
            "Elementwise, with a grid-stride loop.",
            "Grid-stride loop over all elements.",
            "Works for any grid size: each thread strides over the elements.",
        ),
        "one": draw.say("One thread per element.", "Each thread computes one output element."),
        "many": "Each thread computes ITEMS elements.",
        "vector": "Elementwise with float4 accesses.",
    }[style]
    return Program(
        name,
        inputs,
        [Output("out", "", draw.dtype, like=operands[0][0])],
        ("numel",),
        [f"numel = {operands[0][0]}.numel()"],
        reference_of(draw, node, operands),
        Side(body, (grid,), comment, helpers, constants=constants),
        triton,
    )


def reference_of(draw, node, operands):
    """The reference of an expression of tensors."""
    names = dict((variable, tensor) for tensor, variable in operands)

    def renamed(each):
        if isinstance(each, Leaf):
            return Leaf(names.get(each.name, each.name))
        return type(each)(each.operation, tuple(renamed(part) for part in each.operands), each.constant, each.fraction)

    return returned(draw, renamed(node), tuple(names.values()))


def shape_of(draw):
    """A shape of some thousand elements."""
    return draw.pick(
        (
            (draw.pick(LENGTHS) + draw.random.randrange(7),),
            (draw.pick(ROWS), draw.pick(COLUMNS)),
            (draw.pick((2, 3, 4)), draw.pick(ROWS), draw.pick((50, 64, 70))),
        )
    )


def unary(draw):
    """One to three operations on one tensor."""
    node = draw.chain(draw.pick(("v", "v", "value", "val")), 1, 3)
    leaf = node
    while not isinstance(leaf, Leaf):
        leaf = leaf.operands[0]
    return flat_program(draw, name_of(words_of(node)), [("x", leaf.name)], node, shape_of(draw))


def binary(draw):
    """Two tensors."""
    first, second = draw.pick((("x", "y"), ("a", "b"), ("lhs", "rhs"), ("x", "other")))
    node = draw.chain(draw.binary(draw.chain("u", 0, 1), draw.chain("v", 0, 1)), 0, 1)
    return flat_program(draw, name_of(words_of(node)), [(first, "u"), (second, "v")], node, shape_of(draw))


def ternary(draw):
    """Three tensors."""
    names = draw.pick((("x", "gate", "residual"), ("a", "b", "c"), ("x", "scale", "shift"), ("pred", "target", "weight")))
    node = draw.binary(draw.chain(draw.binary("p", "q"), 0, 1), "r")
    return flat_program(draw, name_of(words_of(node)), list(zip(names, "pqr", strict=True)), node, shape_of(draw))


def broadcast(draw):
    """A vector along the rows or the columns of a matrix."""
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    by_row = draw.chance(0.35)
    vector = draw.pick(("scale", "gain", "alpha")) if by_row else draw.pick(("bias", "weight", "gamma", "shift"))
    node = draw.chain(draw.binary(draw.chain("v", 0, 1), "w"), 0, 2)
    name = name_of(words_of(node), "rows" if by_row else "cols")
    inputs = [Tensor("x", (rows, cols), draw.dtype), Tensor(vector, (rows, 1) if by_row else (cols,), draw.dtype)]
    lines, value = written(node, "cuda", ("v", "w"))
    if draw.chance(0.5):
        body = fill(
            """
            const int col = blockIdx.x * blockDim.x + threadIdx.x;
            const int row = blockIdx.y;
            if (col >= n_cols) return;
            const float v = LOAD(x, row * n_cols + col);
            const float w = LOAD($vector, $index);
            $lines
            STORE(out, row * n_cols + col, $value);
            """,
            vector=vector,
            index="row" if by_row else "col",
            lines=lines,
            value=value,
        )
        cuda = Side(body, ("cdiv(n_cols, THREADS)", "n_rows"), "blockIdx.y is the row; the threads of a block take columns.")
    else:
        body = fill(
            """
            const int numel = n_rows * n_cols;
            for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) {
              const float v = LOAD(x, i);
              const float w = LOAD($vector, $index);
              $lines
              STORE(out, i, $value);
            }
            """,
            vector=vector,
            index="i / n_cols" if by_row else "i % n_cols",
            lines=lines,
            value=value,
        )
        cuda = Side(
            body,
            ("cdiv(n_rows * n_cols, THREADS)",),
            f"Grid-stride loop over the matrix; {vector} is broadcast along the {'columns' if by_row else 'rows'}.",
        )
    lines, value = written(node, "triton", ("v", "w"))
    if draw.chance(0.5):
        body = fill(
            """
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            mask = cols < n_cols
            v = LOAD(x, row * n_cols + cols, mask=mask)
            w = LOAD($vector, $index)
            $lines
            STORE(out, row * n_cols + cols, $value, mask=mask)
            """,
            vector=vector,
            index="row" if by_row else "cols, mask=mask",
            lines=lines,
            value=value,
        )
        triton = Side(body, ("n_rows",), "One program per row.", constants={"BLOCK": "triton.next_power_of_2(n_cols)"})
    else:
        body = fill(
            """
            rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
            cols = tl.program_id(1) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
            mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
            offs = rows[:, None] * n_cols + cols[None, :]
            v = LOAD(x, offs, mask=mask)
            w = LOAD($vector, $load)
            $lines
            STORE(out, offs, $value, mask=mask)
            """,
            vector=vector,
            lines=lines,
            value=value,
            load="rows[:, None], mask=rows[:, None] < n_rows" if by_row else "cols[None, :], mask=cols[None, :] < n_cols",
        )
        triton = Side(
            body,
            ("cdiv(n_rows, BLOCK_ROWS)", "cdiv(n_cols, BLOCK_COLS)"),
            "A tile of rows and columns per program.",
            constants={"BLOCK_ROWS": draw.pick((4, 8, 16)), "BLOCK_COLS": draw.pick((32, 64, 128))},
        )
    return Program(
        name,
        inputs,
        [Output("out", "", draw.dtype, like="x")],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = x.shape"],
        reference_of(draw, node, [("x", "v"), (vector, "w")]),
        cuda,
        triton,
    )


def replaced(node, old, new):
    """The expression with another variable."""
    if isinstance(node, Leaf):
        return Leaf(new if node.name == old else node.name)
    return type(node)(node.operation, tuple(replaced(each, old, new) for each in node.operands), node.constant, node.fraction)


FAMILIES = (unary, binary, ternary, broadcast)
