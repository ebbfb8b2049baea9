"""Computations that move the elements of images: padding and upsampling."""

from ..program import Output, Program, Side, Tensor, fill
from .common import typed


def pad(draw):
    """Padding of images by zeros, a constant, copies of the edge, or reflections."""
    planes, height, width, amount = draw.pick((3, 4, 6)), draw.pick((12, 17, 20)), draw.pick((14, 24, 33)), draw.pick((1, 2, 3))
    mode = draw.pick(("constant", "constant", "replicate", "reflect"))
    constant = draw.pick((0.0, 0.0, 1.0, -1.0))
    if mode == "constant":
        cuda_value = fill(
            """
            const bool inside = y >= 0 && y < height && z >= 0 && z < width;
            STORE(out, i, inside ? LOAD(x, (plane * height + y) * width + z) : $constantf);""",
            constantf=f"{constant}f",
        )
        triton_value = fill(
            """
            inside = in_range & (y >= 0) & (y < height) & (z >= 0) & (z < width)
            v = LOAD(x, (plane * height + y) * width + z, mask=inside, other=$constant)""",
            constant=constant,
        )
    else:
        if mode == "replicate":
            maps = "y = min(max(y, 0), height - 1);\nz = min(max(z, 0), width - 1);"
            triton_maps = "y = tl.minimum(tl.maximum(y, 0), height - 1)\nz = tl.minimum(tl.maximum(z, 0), width - 1)"
        else:
            maps = (
                "// Coordinates outside are mirrored at the edge.\ny = abs(y);\nz = abs(z);\n"
                "if (y >= height) y = 2 * (height - 1) - y;\nif (z >= width) z = 2 * (width - 1) - z;"
            )
            triton_maps = (
                "# Coordinates outside are mirrored at the edge.\ny = tl.abs(y)\nz = tl.abs(z)\n"
                "y = tl.where(y >= height, 2 * (height - 1) - y, y)\nz = tl.where(z >= width, 2 * (width - 1) - z, z)"
            )
        cuda_value = f"{maps}\nSTORE(out, i, LOAD(x, (plane * height + y) * width + z));"
        triton_value = f"{triton_maps}\nv = LOAD(x, (plane * height + y) * width + z, mask=in_range)"
    constants = {"PAD": amount}
    body = fill(
        """
        const int out_height = height + 2 * PAD;
        const int out_width = width + 2 * PAD;
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= planes * out_height * out_width) return;
        $const z = i % out_width - PAD;
        $const y = i / out_width % out_height - PAD;
        const int plane = i / (out_width * out_height);
        $value
        """.replace("$const", "const int" if mode == "constant" else "int"),
        value=cuda_value,
    )
    cuda = Side(
        body,
        ("cdiv(planes * (height + 2 * PAD) * (width + 2 * PAD), THREADS)",),
        f"One thread per output element; {mode} padding of PAD on each side.",
        constants=constants,
    )
    cuda.grid = ("cdiv(out_numel, THREADS)",)
    triton = Side(
        fill(
            """
        out_height = height + 2 * PAD
        out_width = width + 2 * PAD
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        in_range = offs < planes * out_height * out_width
        z = offs % out_width - PAD
        y = (offs // out_width) % out_height - PAD
        plane = offs // (out_width * out_height)
        $value
        STORE(out, offs, v, mask=in_range)
        """,
            value=triton_value,
        ),
        ("cdiv(out_numel, BLOCK)",),
        "Programs walk over the padded output.",
        constants={"PAD": amount, "BLOCK": draw.pick((128, 256))},
    )
    body = cuda.body.replace("if (i >= planes * out_height * out_width) return;", "if (i >= out_numel) return;").replace(
        "const int out_height = height + 2 * PAD;\n", "const int out_height = height + 2 * PAD;\n"
    )
    cuda.body = body
    reference = (
        f'F.pad(x, ({amount}, {amount}, {amount}, {amount}), mode="{mode}"'
        + (f", value={constant}" if mode == "constant" and constant else "")
        + ")"
    )
    return Program(
        f"{mode}_pad" if constant or mode != "constant" else "zero_pad",
        [Tensor("x", (planes, height, width), draw.dtype)],
        [Output("out", f"(planes, height + {2 * amount}, width + {2 * amount})", draw.dtype)],
        ("height", "width", "out_numel"),
        ["planes, height, width = x.shape", f"out_numel = planes * (height + {2 * amount}) * (width + {2 * amount})"],
        [f"return {typed(draw, reference)}"],
        cuda,
        Side(
            triton.body.replace("planes * out_height * out_width", "out_numel"),
            triton.grid,
            triton.comment,
            constants=triton.constants,
        ),
        copies=True,
    )


def upsample(draw):
    """Nearest or bilinear upsampling by a whole factor."""
    planes, height, width, factor = (
        draw.pick((3, 4, 6)),
        draw.pick((7, 12, 16)),
        draw.pick((9, 14, 20)),
        draw.pick((2, 2, 3, 4)),
    )
    bilinear = draw.chance(0.45)
    if bilinear:
        cuda_value = fill("""
            // Centres of pixels lie at half positions; coordinates before the first centre are clamped.
            const float source_y = fmaxf((y + 0.5f) / FACTOR - 0.5f, 0.0f);
            const float source_x = fmaxf((z + 0.5f) / FACTOR - 0.5f, 0.0f);
            const int y0 = static_cast<int>(source_y);
            const int x0 = static_cast<int>(source_x);
            const int y1 = min(y0 + 1, height - 1);
            const int x1 = min(x0 + 1, width - 1);
            const float wy = source_y - y0;
            const float wx = source_x - x0;
            const int base = plane * height * width;
            const float top = (1.0f - wx) * LOAD(x, base + y0 * width + x0) + wx * LOAD(x, base + y0 * width + x1);
            const float bottom = (1.0f - wx) * LOAD(x, base + y1 * width + x0) + wx * LOAD(x, base + y1 * width + x1);
            STORE(out, i, (1.0f - wy) * top + wy * bottom);""")
        triton_value = fill("""
            # Centres of pixels lie at half positions; coordinates before the first centre are clamped.
            source_y = tl.maximum((y + 0.5) / FACTOR - 0.5, 0.0)
            source_x = tl.maximum((z + 0.5) / FACTOR - 0.5, 0.0)
            y0 = source_y.to(tl.int32)
            x0 = source_x.to(tl.int32)
            y1 = tl.minimum(y0 + 1, height - 1)
            x1 = tl.minimum(x0 + 1, width - 1)
            wy = source_y - y0
            wx = source_x - x0
            base = plane * height * width
            top = (1.0 - wx) * LOAD(x, base + y0 * width + x0, mask=mask) + wx * LOAD(x, base + y0 * width + x1, mask=mask)
            bottom = (1.0 - wx) * LOAD(x, base + y1 * width + x0, mask=mask) + wx * LOAD(x, base + y1 * width + x1, mask=mask)
            STORE(out, offs, (1.0 - wy) * top + wy * bottom, mask=mask)""")
        reference = f'F.interpolate(x[None], scale_factor={factor}, mode="bilinear", align_corners=False)[0]'
    else:
        cuda_value = "STORE(out, i, LOAD(x, (plane * height + y / FACTOR) * width + z / FACTOR));"
        triton_value = (
            "v = LOAD(x, (plane * height + y // FACTOR) * width + z // FACTOR, mask=mask)\nSTORE(out, offs, v, mask=mask)"
        )
        reference = f"x.repeat_interleave({factor}, dim=-2).repeat_interleave({factor}, dim=-1)"
    cuda = Side(
        fill(
            """
        const int out_width = width * FACTOR;
        const int out_height = height * FACTOR;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < out_numel; i += gridDim.x * blockDim.x) {
          const int z = i % out_width;
          const int y = i / out_width % out_height;
          const int plane = i / (out_width * out_height);
          $value
        }
        """,
            value=cuda_value,
        ),
        ("cdiv(out_numel, THREADS)",),
        f"{'Bilinear' if bilinear else 'Nearest-neighbour'} upsampling; a thread per output element.",
        constants={"FACTOR": factor},
    )
    triton = Side(
        fill(
            """
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < out_numel
        z = offs % (width * FACTOR)
        y = (offs // (width * FACTOR)) % (height * FACTOR)
        plane = offs // (width * height * FACTOR * FACTOR)
        $value
        """,
            value=triton_value,
        ),
        ("cdiv(out_numel, BLOCK)",),
        "Each program computes BLOCK output elements.",
        constants={"FACTOR": factor, "BLOCK": draw.pick((128, 256))},
    )
    return Program(
        f"upsample_{'bilinear' if bilinear else 'nearest'}",
        [Tensor("x", (planes, height, width), draw.dtype)],
        [Output("out", f"(planes, height * {factor}, width * {factor})", draw.dtype)],
        ("height", "width", "out_numel"),
        ["planes, height, width = x.shape", f"out_numel = x.numel() * {factor * factor}"],
        [f"return {typed(draw, reference)}"],
        cuda,
        triton,
        copies=not bilinear,
    )


FAMILIES = (pad, upsample)
