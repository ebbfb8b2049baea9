"""How a kernel divides its work: the names of its indices, masks, sizes and blocks, and the lines that make them."""
import ast
from dataclasses import dataclass, field

from .captured import Unsupported

AXES = ("z", "y", "x", "r0_")


@dataclass
class Axis:
    """One axis: the names that replace the compiler's, and its number of elements."""

    index: str
    mask: str
    size: str  # of the parameter with the number of elements
    block: str
    numel: int = 0
    is_masked: bool = True
    is_scalar: bool = False  # one element a program: no block and no mask


@dataclass
class Layout:
    """The axes of a kernel, and its style."""

    style: str  # flat, tile, row, column, product
    axes: dict
    loops: bool  # the reduced axis is walked in steps
    comment: str
    blocks: dict = field(default_factory=dict)  # block: its value in the launcher, as text
    grid: list = field(default_factory=list)  # as text

    def names(self):
        """Every name that the lines of the prologue may use."""
        return {each for axis in self.axes.values() for each in (axis.index, axis.mask, axis.size, axis.block)} | {
            "start", "pid"}


def layout_of(kernel, numels, tile):
    """The layout of a kernel; `tile` chooses among the sizes of blocks."""
    axes = {axis: value for axis, value in numels.items() if axis in AXES}
    if len(axes) != len(numels):
        raise Unsupported("several reduced dimensions")
    text = ast.unparse(kernel.function)
    loops = kernel.kind == "reduction"
    if "tl.dot(" in text:
        return product(kernel, axes, loops, tile)
    if kernel.kind == "pointwise":
        return pointwise(axes, tile)
    if set(axes) != {"x", "r0_"}:
        raise Unsupported(f"a reduction over the axes {', '.join(axes)}")
    if kernel.hint == "OUTER" and axes["x"] > 1:
        return columns(axes, loops, tile)
    return rows(axes, loops) if kernel.hint == "INNER" else results(axes, loops)


def pointwise(axes, tile):
    """Every element for itself."""
    if set(axes) == {"x"}:
        block = (128, 256, 512, 1024)[tile % 4]
        return Layout("flat", {"x": Axis("offsets", "mask", "n_elements", "BLOCK", axes["x"])}, False,
                      "Each program computes BLOCK consecutive elements.", {"BLOCK": str(block)},
                      ["triton.cdiv({n_elements}, {BLOCK})"])
    if set(axes) != {"x", "y"}:
        raise Unsupported("three dimensions of elements")
    height, width = ((16, 64), (32, 32), (8, 128), (16, 32))[tile % 4]
    return Layout("tile", {"y": Axis("rows", "row_mask", "n_rows", "BLOCK_ROWS", axes["y"]),
                           "x": Axis("cols", "col_mask", "n_cols", "BLOCK_COLS", axes["x"])}, False,
                  "Each program computes a tile of BLOCK_ROWS x BLOCK_COLS elements.",
                  {"BLOCK_ROWS": str(height), "BLOCK_COLS": str(width)},
                  ["triton.cdiv({n_cols}, {BLOCK_COLS})", "triton.cdiv({n_rows}, {BLOCK_ROWS})"])


def rows(axes, loops):
    """One row a program, or everything in one program."""
    if axes["x"] == 1:
        return everything(axes, loops)
    comment = ("Each program handles one row, BLOCK columns at a time." if loops else
               "Each program handles one row; BLOCK covers all of its columns.")
    block = "512" if loops else "triton.next_power_of_2({n_cols})"
    return Layout("row", {"x": Axis("row", "", "n_rows", "", axes["x"], is_scalar=True),
                          "r0_": Axis("cols", "mask", "n_cols", "BLOCK", axes["r0_"])}, loops, comment,
                  {"BLOCK": block}, ["{n_rows}"])


def everything(axes, loops):
    """One program for all elements."""
    comment = f"One program handles all elements{', BLOCK at a time' if loops else '; BLOCK covers them'}."
    block = "512" if loops else "triton.next_power_of_2({n_elements})"
    return Layout("row", {"x": Axis("row", "", "n_rows", "", 1, is_scalar=True),
                          "r0_": Axis("offsets", "mask", "n_elements", "BLOCK", axes["r0_"])}, loops, comment,
                  {"BLOCK": block}, ["1"])


def results(axes, loops):
    """One result a program, of elements that do not lie side by side."""
    layout = rows(axes, loops)
    if axes["x"] == 1:
        return layout
    layout.comment = ("Each program computes one result, BLOCK steps of the reduced dimension at a time." if loops else
                      "Each program computes one result; BLOCK covers the reduced dimension.")
    layout.axes["x"] = Axis("item", "", "n_items", "", axes["x"], is_scalar=True)
    layout.axes["r0_"] = Axis("steps", "mask", "n_steps", "BLOCK", axes["r0_"])
    layout.blocks = {"BLOCK": layout.blocks["BLOCK"].replace("n_cols", "n_steps")}
    layout.grid = ["{n_items}"]
    return layout


def columns(axes, loops, tile):
    """Some columns a program."""
    width = (16, 32, 64)[tile % 3]
    comment = ("Each program reduces BLOCK_COLS columns, BLOCK_ROWS rows at a time." if loops else
               "Each program reduces BLOCK_COLS columns; BLOCK_ROWS covers all rows.")
    return Layout("column", {"x": Axis("cols", "col_mask", "n_cols", "BLOCK_COLS", axes["x"]),
                             "r0_": Axis("rows", "row_mask", "n_rows", "BLOCK_ROWS", axes["r0_"])}, loops, comment,
                  {"BLOCK_COLS": str(width), "BLOCK_ROWS": "32" if loops else "triton.next_power_of_2({n_rows})"},
                  ["triton.cdiv({n_cols}, {BLOCK_COLS})"])


def product(kernel, axes, loops, tile):
    """A tile of a matrix product."""
    if "x" not in axes or "y" not in axes or "r0_" not in axes:
        raise Unsupported("a product with a dimension of one element")
    height, width = ((32, 32), (16, 64), (64, 32), (32, 64))[tile % 4]
    made = {"y": Axis("rows", "row_mask", "M", "BLOCK_M", axes["y"]), "x": Axis("cols", "col_mask", "N", "BLOCK_N", axes["x"]),
            "r0_": Axis("ks", "k_mask", "K", "BLOCK_K", axes["r0_"])}
    grid = ["triton.cdiv({N}, {BLOCK_N})", "triton.cdiv({M}, {BLOCK_M})"]
    if "z" in axes:
        made["z"] = Axis("batch", "", "n_batches", "", axes["z"], is_scalar=True)
        grid.append("{n_batches}")
    comment = ("Each program computes a tile of BLOCK_M x BLOCK_N of the product, BLOCK_K of the inner dimension at a time."
               if loops else
               "Each program computes a tile of BLOCK_M x BLOCK_N of the product; BLOCK_K covers the inner dimension.")
    blocks = {"BLOCK_M": str(height), "BLOCK_N": str(width),
              "BLOCK_K": "32" if loops else "max(16, triton.next_power_of_2({K}))"}
    return Layout("product", made, loops, comment, blocks, grid)


def prologue(layout):
    """The lines before the first load, and those at the head of each step of a loop."""
    axes, style = layout.axes, layout.style
    before, inside = [], []
    if style == "flat":
        axis = axes["x"]
        before += [f"{axis.index} = tl.program_id(0) * {axis.block} + tl.arange(0, {axis.block})",
                   f"{axis.mask} = {axis.index} < {axis.size}"]
    elif style == "tile":
        before += tiled(axes["y"], 1, "[:, None]") + tiled(axes["x"], 0, "[None, :]")
    elif style == "row":
        before += [f"{axes['x'].index} = tl.program_id(0)"]
        reduced(layout, "", before, inside)
    elif style == "column":
        before += tiled(axes["x"], 0, "[:, None]")
        reduced(layout, "[None, :]", before, inside)
    else:
        if "z" in axes:
            before += ["batch = tl.program_id(2)"]
        before += tiled(axes["y"], 1, "") + tiled(axes["x"], 0, "")
        reduced(layout, "", before, inside)
    return before, inside


def tiled(axis, number, shape):
    """The index and the mask of an axis that is divided among programs."""
    return [f"{axis.index} = tl.program_id({number}) * {axis.block} + tl.arange(0, {axis.block}){shape}",
            f"{axis.mask} = {axis.index} < {axis.size}"]


def reduced(layout, shape, before, inside):
    """The index and the mask of the reduced axis."""
    axis = layout.axes["r0_"]
    mask = f"{axis.mask} = {axis.index} < {axis.size}"
    lanes = f"tl.arange(0, {axis.block}){shape}"
    if layout.loops:
        inside += [f"{axis.index} = start + {lanes}", mask]
    else:
        before += [f"{axis.index} = {lanes}", mask]
