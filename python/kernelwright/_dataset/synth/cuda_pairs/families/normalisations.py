"""Softmax and normalisations."""

from ..draw import COLUMNS, ROWS
from ..expressions import Leaf, words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import block_reduction, grouped, name_of, typed, warp_reduction
from .maps import replaced


def row_threads(draw, words):
    """How the threads of CUDA take rows: the head of the body, a loop over columns, the reductions, and a Side's fields."""
    if draw.chance(0.45):
        head = fill("""
            const int lane = threadIdx.x % 32;
            const int row = blockIdx.x * WARPS + threadIdx.x / 32;
            if (row >= n_rows) return;""")
        return (
            head,
            "for (int col = lane; col < n_cols; col += 32)",
            "warp",
            {
                "grid": ("cdiv(n_rows, WARPS)",),
                "block": ("32 * WARPS",),
                "constants": {"WARPS": draw.pick((4, 8))},
                "helpers": "\n\n".join(warp_reduction(word) for word in words),
            },
        )
    tree = draw.chance(0.35)
    return (
        "const int row = blockIdx.x;",
        "for (int col = threadIdx.x; col < n_cols; col += blockDim.x)",
        "block",
        {"grid": ("n_rows",), "helpers": "\n\n".join(block_reduction(word, tree) for word in words)},
    )


def normalisation(draw, kind):
    """Layer norm, RMS norm or L2 normalisation of rows: statistics, then a scaled copy."""
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    epsilon = draw.pick(("1e-5", "1e-6", "1e-3"))
    residual = draw.chance(0.35)
    act = draw.chain("normed", 0, 1) if draw.chance(0.5) else Leaf("normed")
    affine = kind != "l2_normalize"
    bias = kind == "layer_norm"
    inputs = [Tensor("x", (rows, cols), draw.dtype)]
    inputs += [Tensor("residual", (rows, cols), draw.dtype)] if residual else []
    inputs += [Tensor("weight", (cols,), draw.dtype)] if affine else []
    inputs += [Tensor("bias", (cols,), draw.dtype)] if bias else []
    at = "row * n_cols + col"
    value = f"LOAD(x, {at})" + (f" + LOAD(residual, {at})" if residual else "")
    head, loop, unit, fields = row_threads(draw, ("sum",))
    welford = kind == "layer_norm" and draw.chance(0.4)
    if kind == "layer_norm" and not welford:
        statistics = """
            float total = 0.0f;
            $loop total += $value;
            const float mean = $unit_reduce_sum(total) / n_cols;
            float squares = 0.0f;
            $loop {
              const float centred = $value - mean;
              squares += centred * centred;
            }
            const float rstd = rsqrtf($unit_reduce_sum(squares) / n_cols + EPS);"""
    elif kind == "layer_norm":
        statistics = """
            // One pass: variance = mean of squares - square of the mean.
            float total = 0.0f;
            float squares = 0.0f;
            $loop {
              const float v = $value;
              total += v;
              squares += v * v;
            }
            const float mean = $unit_reduce_sum(total) / n_cols;
            const float rstd = rsqrtf(fmaxf($unit_reduce_sum(squares) / n_cols - mean * mean, 0.0f) + EPS);"""
    else:
        scale = "rsqrtf(squares / n_cols + EPS)" if kind == "rms_norm" else "1.0f / fmaxf(sqrtf(squares), EPS)"
        statistics = """
            float squares = 0.0f;
            $loop {
              const float v = $value;
              squares += v * v;
            }
            squares = $unit_reduce_sum(squares);
            const float rstd = $scale;""".replace("$scale", scale)
    statistics = fill(statistics.replace("$unit_", unit + "_"), loop=loop, value=value)
    centred = f"({value} - mean)" if kind == "layer_norm" else grouped(value)
    normed = f"{centred} * rstd" + (" * LOAD(weight, col)" if affine else "") + (" + LOAD(bias, col)" if bias else "")
    lines, text = written(act, "cuda", ("normed",))
    last = [f"const float normed = {normed};", *lines, f"STORE(out, {at}, {text});"]
    body = fill(
        """
        $head
        $statistics
        $loop {
          $last
        }
        """,
        head=head,
        statistics=statistics,
        loop=loop,
        last=last,
    )
    fields["helpers"] = f"constexpr float EPS = {epsilon}f;\n\n" + fields["helpers"]
    cuda = Side(
        body,
        comment=draw.say(
            f"One {unit} per row of n_cols elements.",
            f"Statistics by a {unit} reduction, then the row is read again and scaled.",
        ),
        **fields,
    )
    triton = normalisation_triton(draw, kind, residual, affine, bias, act)
    triton.constants = {"EPS": epsilon, **triton.constants}
    total = "(x + residual)" if residual else "x"
    if kind == "layer_norm":
        reference = f"F.layer_norm({total.strip('()')}, ({cols},), weight, bias, eps={epsilon})"
        lines = []
    elif kind == "rms_norm":
        lines = [f"h = {total.strip('()')}"] if residual else []
        h = "h" if residual else "x"
        lines.append(f"rstd = torch.rsqrt(({h} * {h}).mean(dim=-1, keepdim=True) + {epsilon})")
        reference = f"{h} * rstd * weight"
    else:
        lines, reference = [], f"F.normalize({total.strip('()')}, dim=-1, eps={epsilon})"
    if isinstance(act, Leaf):
        lines.append(f"return {typed(draw, reference)}")
    else:
        more, text = written(act, "torch", ("normed",))
        lines += [f"normed = {reference}", *more, f"return {typed(draw, text)}"]
    return Program(
        name_of(["residual"] if residual else [], kind, words_of(act)),
        inputs,
        [Output("out", "", draw.dtype, like="x")],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = x.shape"],
        lines,
        cuda,
        triton,
    )


def normalisation_triton(draw, kind, residual, affine, bias, act):
    """A normalisation of a row, or of several rows."""
    tile = draw.chance(0.35)
    axis = "1, keep_dims=True" if tile else "0"
    column, col_mask = ("cols[None, :]", "cols[None, :] < n_cols") if tile else ("cols", "mask")
    lines = ["v += LOAD(residual, offs, mask=mask, other=0.0)"] if residual else []
    if kind == "layer_norm":
        lines += [
            f"mean = tl.sum(v, axis={axis}) / n_cols",
            f"centred = tl.where({col_mask}, v - mean, 0.0)",
            f"rstd = tl.rsqrt(tl.sum(centred * centred, axis={axis}) / n_cols + EPS)",
        ]
    elif kind == "rms_norm":
        lines.append(f"rstd = tl.rsqrt(tl.sum(v * v, axis={axis}) / n_cols + EPS)")
    else:
        lines.append(f"rstd = 1.0 / tl.maximum(tl.sqrt(tl.sum(v * v, axis={axis})), EPS)")
    lines += [f"w = LOAD(weight, {column}, mask={col_mask}, other=0.0)"] if affine else []
    lines += [f"b = LOAD(bias, {column}, mask={col_mask}, other=0.0)"] if bias else []
    lines.append(
        "normed = "
        + ("centred" if kind == "layer_norm" else "v")
        + " * rstd"
        + (" * w" if affine else "")
        + (" + b" if bias else "")
    )
    more, text = written(act, "triton", ("normed", "v", "w", "b"))
    lines += more
    if tile:
        return Side(
            fill(
                """
            rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
            cols = tl.arange(0, BLOCK_COLS)
            mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
            offs = rows[:, None] * n_cols + cols[None, :]
            v = LOAD(x, offs, mask=mask, other=0.0)
            $lines
            STORE(out, offs, $text, mask=mask)
            """,
                lines=lines,
                text=text,
            ),
            ("cdiv(n_rows, BLOCK_ROWS)",),
            "BLOCK_ROWS rows per program.",
            constants={"BLOCK_ROWS": draw.pick((2, 4, 8)), "BLOCK_COLS": "triton.next_power_of_2(n_cols)"},
        )
    return Side(
        fill(
            """
        row = tl.program_id(0)
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        offs = row * n_cols + cols
        v = LOAD(x, offs, mask=mask, other=0.0)
        $lines
        STORE(out, offs, $text, mask=mask)
        """,
            lines=lines,
            text=text,
        ),
        ("n_rows",),
        draw.say("One program per row; masked elements are zero and add nothing.", "One row per program."),
        constants={"BLOCK": "triton.next_power_of_2(n_cols)"},
    )


def layer_norm(draw):
    """Layer norm."""
    return normalisation(draw, "layer_norm")


def rms_norm(draw):
    """RMS norm."""
    return normalisation(draw, "rms_norm")


def l2_normalize(draw):
    """Rows of length 1."""
    return normalisation(draw, "l2_normalize")


def group_norm(draw):
    """Group norm of (batch, channels, length) with a weight and a bias per channel, and an activation."""
    batch, groups, a_group, length = draw.pick((2, 3)), draw.pick((2, 3, 4)), draw.pick((2, 3, 5)), draw.pick((30, 50, 70, 96))
    epsilon = draw.pick(("1e-5", "1e-6"))
    act = draw.chain("normed", 0, 1)
    lines, text = written(act, "cuda", ("normed",))
    tree = draw.chance(0.4)
    channel = "(blockIdx.x % groups) * channels_per_group + i / length"
    cuda = Side(
        fill(
            """
        const int per_group = channels_per_group * length;
        const int base = blockIdx.x * per_group;
        float total = 0.0f;
        float squares = 0.0f;
        for (int i = threadIdx.x; i < per_group; i += blockDim.x) {
          const float v = LOAD(x, base + i);
          total += v;
          squares += v * v;
        }
        const float mean = block_reduce_sum(total) / per_group;
        const float variance = fmaxf(block_reduce_sum(squares) / per_group - mean * mean, 0.0f);
        const float rstd = rsqrtf(variance + EPS);
        for (int i = threadIdx.x; i < per_group; i += blockDim.x) {
          const int channel = $channel;
          const float normed = (LOAD(x, base + i) - mean) * rstd * LOAD(weight, channel) + LOAD(bias, channel);
          $lines
          STORE(out, base + i, $text);
        }
        """,
            channel=channel,
            lines=lines,
            text=text,
        ),
        ("batch * groups",),
        "One block per batch element and group, whose channels lie one after another in memory.",
        f"constexpr float EPS = {epsilon}f;\n\n" + block_reduction("sum", tree),
    )
    lines, text = written(act, "triton", ("normed", "v", "w", "b"))
    if draw.chance(0.5):
        triton = Side(
            fill(
                """
            pid = tl.program_id(0)
            i = tl.arange(0, BLOCK)
            per_group = channels_per_group * length
            mask = i < per_group
            v = LOAD(x, pid * per_group + i, mask=mask, other=0.0)
            mean = tl.sum(v, axis=0) / per_group
            centred = tl.where(mask, v - mean, 0.0)
            rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / per_group + EPS)
            channel = (pid % groups) * channels_per_group + i // length
            w = LOAD(weight, channel, mask=mask, other=0.0)
            b = LOAD(bias, channel, mask=mask, other=0.0)
            normed = centred * rstd * w + b
            $lines
            STORE(out, pid * per_group + i, $text, mask=mask)
            """,
                lines=lines,
                text=text,
            ),
            ("batch * groups",),
            "One program per batch element and group; BLOCK covers the group.",
            constants={"EPS": epsilon, "BLOCK": "triton.next_power_of_2(channels_per_group * length)"},
        )
    else:
        triton = Side(
            fill(
                """
            pid = tl.program_id(0)
            rows = tl.arange(0, BLOCK_CHANNELS)
            cols = tl.arange(0, BLOCK_LENGTH)
            mask = (rows[:, None] < channels_per_group) & (cols[None, :] < length)
            offs = (pid * channels_per_group + rows[:, None]) * length + cols[None, :]
            v = LOAD(x, offs, mask=mask, other=0.0)
            per_group = channels_per_group * length
            mean = tl.sum(v) / per_group
            centred = tl.where(mask, v - mean, 0.0)
            rstd = tl.rsqrt(tl.sum(centred * centred) / per_group + EPS)
            channel = (pid % groups) * channels_per_group + rows
            w = LOAD(weight, channel, mask=rows < channels_per_group, other=0.0)
            b = LOAD(bias, channel, mask=rows < channels_per_group, other=0.0)
            normed = centred * rstd * w[:, None] + b[:, None]
            $lines
            STORE(out, offs, $text, mask=mask)
            """,
                lines=lines,
                text=text,
            ),
            ("batch * groups",),
            "A tile of channels and positions holds the whole group.",
            constants={
                "EPS": epsilon,
                "BLOCK_CHANNELS": "triton.next_power_of_2(channels_per_group)",
                "BLOCK_LENGTH": "triton.next_power_of_2(length)",
            },
        )
    channels = groups * a_group
    inputs = [
        Tensor("x", (batch, channels, length), draw.dtype),
        Tensor("weight", (channels,), draw.dtype),
        Tensor("bias", (channels,), draw.dtype),
    ]
    value = replaced(act, "normed", "y")
    lines, text = written(value, "torch", ("y",))
    reference = f"F.group_norm(x, {groups}, weight, bias, eps={epsilon})"
    if isinstance(value, Leaf):
        lines = [f"return {typed(draw, reference)}"]
    else:
        lines = [f"y = {reference}", *lines, f"return {typed(draw, text)}"]
    return Program(
        name_of("group_norm", words_of(act)),
        inputs,
        [Output("out", "", draw.dtype, like="x")],
        ("batch", "groups", "channels_per_group", "length"),
        ["batch, channels, length = x.shape", f"groups = {groups}", "channels_per_group = channels // groups"],
        lines,
        cuda,
        triton,
    )


FAMILIES = (layer_norm, rms_norm, l2_normalize, group_norm)
