"""Parts of kernels that several families use: operands, loops over the inner dimension, epilogues."""

from dataclasses import dataclass, field

from ..cuda_pairs.expressions import BINARY
from .text import Input, fill


@dataclass
class Operand:
    """A matrix in memory. `axes` names its two sizes, as "MK"; a transposed one has them the other way round."""

    name: str
    axes: str
    transposed: bool = False
    strided: bool = False  # strides are parameters
    base: str = ""  # an offset of its own, with " + " behind it

    def scalars(self):
        """The strides that its addresses read."""
        first, second = (1, 0) if self.transposed else (0, 1)
        letter = self.name[0]
        dims = ("-2", "-1") if self.base else ("0", "1")
        return {
            f"stride_{letter}{self.axes[0].lower()}": f"{self.name}.stride({dims[first]})",
            f"stride_{letter}{self.axes[1].lower()}": f"{self.name}.stride({dims[second]})",
        }

    def address(self, down, across):
        """The addresses of a tile with these row and column indices."""
        if self.strided:
            first, second = self.scalars()
            return f"{self.name}_ptr + {self.base}{down}[:, None] * {first} + {across}[None, :] * {second}"
        if self.transposed:
            return f"{self.name}_ptr + {self.base}{across}[None, :] * {self.axes[0]} + {down}[:, None]"
        return f"{self.name}_ptr + {self.base}{down}[:, None] * {self.axes[1]} + {across}[None, :]"

    def step(self, axis):
        """The distance of two neighbours along an axis."""
        if self.strided:
            return f"stride_{self.name[0]}{axis.lower()}"
        inner = self.axes[0 if self.transposed else 1]
        return "" if axis == inner else inner

    def sizes(self, **sizes):
        """The shape of the tensor."""
        first, second = (sizes[each] for each in self.axes)
        return (second, first) if self.transposed else (first, second)

    def torch(self):
        """The matrix as PyTorch writes it."""
        if self.transposed:
            return f"{self.name}.transpose(-2, -1)" if self.base else f"{self.name}.t()"
        return self.name


def load(address, *conditions, other="0.0"):
    """A masked load."""
    mask = " & ".join(conditions)
    return f"tl.load({address}, mask={mask}, other={other})" if other else f"tl.load({address}, mask={mask})"


def inner_loop(draw, a, b, rows="rows", cols="cols", acc="acc", before="", depth="K"):
    """The lines that add the product of two operands to `acc`: pointers that advance, or indices that are made anew."""
    masks = (f"{rows}[:, None] < M", f"{cols}[None, :] < N")
    if not before and draw.chance(0.5):
        a_step, b_step = (f"BLOCK_K * {step}" if step else "BLOCK_K" for step in (a.step("K"), b.step("K")))
        return fill(
            """
            ks = tl.arange(0, BLOCK_K)
            a_ptrs = $a
            b_ptrs = $b
            $acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for k in range(0, tl.cdiv($depth, BLOCK_K)):
                k_left = $depth - k * BLOCK_K
                a_tile = tl.load(a_ptrs, mask=($row_mask) & (ks[None, :] < k_left), other=0.0)
                b_tile = tl.load(b_ptrs, mask=(ks[:, None] < k_left) & ($col_mask), other=0.0)
                $acc = tl.dot(a_tile, b_tile, $acc$precision)
                a_ptrs += $a_step
                b_ptrs += $b_step
            """,
            a=a.address(rows, "ks"),
            b=b.address("ks", cols),
            a_step=a_step,
            b_step=b_step,
            acc=acc,
            depth=depth,
            row_mask=masks[0],
            col_mask=masks[1],
            precision=draw.precision,
        )
    return fill(
        """
        $acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, $depth, BLOCK_K):
            ks = start + tl.arange(0, BLOCK_K)
            a_tile = tl.load($a, mask=($row_mask) & (ks[None, :] < $depth), other=0.0)
            b_tile = tl.load($b, mask=(ks[:, None] < $depth) & ($col_mask), other=0.0)
            $before
            $acc = tl.dot(a_tile, b_tile, $acc$precision)
        """,
        a=a.address(rows, "ks"),
        b=b.address("ks", cols),
        acc=acc,
        depth=depth,
        before=before,
        row_mask=masks[0],
        col_mask=masks[1],
        precision=draw.precision,
    )


def programs(draw, batch=False):
    """The lines that give `rows` and `cols`, the grid, constants and a sentence: tiles in one of three orders."""
    order = draw.pick(("plane", "linear", "grouped"))
    axis = 2 if order == "plane" else 1
    lead = [f"batch = tl.program_id({axis})"] if batch else []
    number = ("n_batches",) if batch else ()
    ranges = ["rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)", "cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)"]
    if order == "plane":
        return (
            [*lead, "pid_m = tl.program_id(0)", "pid_n = tl.program_id(1)", *ranges],
            ("triton.cdiv(M, BLOCK_M)", "triton.cdiv(N, BLOCK_N)", *number),
            {},
            "",
        )
    grid = ("triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)", *number)
    lead += ["pid = tl.program_id(0)"]
    if order == "linear":
        return (
            [*lead, "tiles_n = tl.cdiv(N, BLOCK_N)", "pid_m = pid // tiles_n", "pid_n = pid % tiles_n", *ranges],
            grid,
            {},
            "",
        )
    lines = [
        *lead,
        "tiles_m = tl.cdiv(M, BLOCK_M)",
        "tiles_n = tl.cdiv(N, BLOCK_N)",
        "in_group = GROUP_M * tiles_n",
        "first_m = (pid // in_group) * GROUP_M",
        "group_rows = tl.minimum(tiles_m - first_m, GROUP_M)",
        "pid_m = first_m + (pid % in_group) % group_rows",
        "pid_n = (pid % in_group) // group_rows",
        *ranges,
    ]
    return (
        lines,
        grid,
        {"GROUP_M": draw.pick((2, 4, 8))},
        " Programs walk groups of GROUP_M rows of tiles, so that tiles of the second matrix stay in the L2 cache.",
    )


@dataclass
class Epilogue:
    """What happens to the accumulator before the store."""

    triton: list = field(default_factory=list)
    torch: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    words: list = field(default_factory=list)


def epilogue(draw, m, n, parts=("bias", "row_scale", "residual", "activation", "activation"), most=3):
    """Some steps in a drawn order, on `acc` in Triton and `y` in PyTorch."""
    made = Epilogue()
    cast = ".to(tl.float32)" if draw.half else ""
    steps = [each for each in parts if draw.chance(0.5)][:most]
    draw.random.shuffle(steps)
    seen = set()
    for step in steps:
        if step in seen and step != "activation":
            continue
        seen.add(step)
        if step == "activation":
            triton, torch, words = draw.activation("acc", 1, 1)
        elif step == "bias":
            triton = [f"bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0){cast}", "acc += bias[None, :]"]
            torch, words = ["acc = acc + bias"], ["bias"]
            made.inputs.append(Input("bias", (n,), draw.dtype))
        elif step == "row_scale":
            triton = [f"scale = tl.load(scale_ptr + rows, mask=rows < M, other=0.0){cast}", "acc *= scale[:, None]"]
            torch, words = ["acc = acc * scale[:, None]"], ["scaled"]
            made.inputs.append(Input("scale", (m,), draw.dtype))
        else:
            triton, torch, words = draw.combined("acc", "residual", BINARY)
            address = "residual_ptr + rows[:, None] * N + cols[None, :]"
            triton = [f"residual = tl.load({address}, mask=mask, other=0.0){cast}", *triton]
            made.inputs.append(Input("residual", (m, n), draw.dtype))
        made.triton += triton
        made.torch += [line.replace("acc", "y") for line in torch]
        made.words += words
    return made
