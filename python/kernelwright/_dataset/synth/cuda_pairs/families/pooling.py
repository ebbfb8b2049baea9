"""Pooling, and convolutions of single channels."""

from ..draw import COLUMNS, ROWS
from ..expressions import Leaf, words_of, written
from ..program import Output, Program, Side, Tensor, fill
from .common import name_of, typed
from .maps import replaced


def pool(draw):
    """Maximum or average pooling in two dimensions, without padding."""
    planes, height, width = draw.pick((3, 4, 6)), draw.pick((16, 21, 25)), draw.pick((18, 24, 31))
    size, stride = draw.pick(((2, 2), (3, 2), (3, 3), (2, 1), (4, 4)))
    largest = draw.chance(0.5)
    act = draw.chain("v", 0, 2)
    lines, value = written(act, "cuda", ("v",))
    start, step = ("-CUDART_INF_F", "best = fmaxf(best, $v);") if largest else ("0.0f", "window_sum += $v;")
    element = "LOAD(x, (plane * height + y * STRIDE + dy) * width + z * STRIDE + dx)"
    inner = fill(
        """
        float $best = $start;
        #pragma unroll
        for (int dy = 0; dy < WINDOW; ++dy) {
          #pragma unroll
          for (int dx = 0; dx < WINDOW; ++dx) {
            $step
          }
        }
        const float v = $last;
        $lines""",
        start=start,
        step=step.replace("$v", element),
        last="best" if largest else "window_sum / (WINDOW * WINDOW)",
        lines=lines,
        best="best" if largest else "window_sum",
    )
    constants = {"WINDOW": size, "STRIDE": stride}
    if draw.chance(0.5):
        cuda = Side(
            fill(
                """
            for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < out_numel; i += gridDim.x * blockDim.x) {
              const int z = i % out_width;
              const int y = i / out_width % out_height;
              const int plane = i / (out_width * out_height);
              $inner
              STORE(out, i, $value);
            }
            """,
                inner=inner,
                value=value,
            ),
            ("cdiv(out_numel, THREADS)",),
            "A thread per output element reads its window.",
            constants=constants,
        )
    else:
        cuda = Side(
            fill(
                """
            const int z = blockIdx.x * blockDim.x + threadIdx.x;
            const int y = blockIdx.y * blockDim.y + threadIdx.y;
            const int plane = blockIdx.z;
            if (y >= out_height || z >= out_width) return;
            $inner
            STORE(out, (plane * out_height + y) * out_width + z, $value);
            """,
                inner=inner,
                value=value,
            ),
            ("cdiv(out_width, BLOCK_X)", "cdiv(out_height, BLOCK_Y)", "planes"),
            "blockIdx.z is the plane; a thread computes one output element.",
            block=("BLOCK_X", "BLOCK_Y"),
            constants={**constants, "BLOCK_X": draw.pick((16, 32)), "BLOCK_Y": draw.pick((4, 8))},
        )
    lines, value = written(act, "triton", ("v",))
    start, step, last = (
        ('float("-inf")', "best = tl.maximum(best, v)", "best")
        if largest
        else ("0.0", "window_sum += v", "window_sum / (WINDOW * WINDOW)")
    )
    triton = Side(
        fill(
            """
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < out_numel
        z = offs % out_width
        y = (offs // out_width) % out_height
        plane = offs // (out_width * out_height)
        base = (plane * height + y * STRIDE) * width + z * STRIDE
        $best = tl.full((BLOCK,), $start, dtype=tl.float32)
        for dy in tl.static_range(WINDOW):
            for dx in tl.static_range(WINDOW):
                v = LOAD(x, base + dy * width + dx, mask=mask, other=0.0)
                $step
        v = $last
        $lines
        STORE(out, offs, $value, mask=mask)
        """,
            best="best" if largest else "window_sum",
            start=start,
            step=step,
            last=last,
            lines=lines,
            value=value,
        ),
        ("cdiv(out_numel, BLOCK)",),
        "Each program pools BLOCK windows; the window is unrolled.",
        constants={**constants, "BLOCK": draw.pick((128, 256))},
    )
    kind = "max" if largest else "avg"
    reference = f"F.{kind}_pool2d(x, {size}, stride={stride})"
    lines, text = written(replaced(act, "v", "pooled"), "torch", ("pooled",))
    body = (
        [f"return {typed(draw, reference)}"]
        if isinstance(act, Leaf)
        else [f"pooled = {reference}", *lines, f"return {typed(draw, text)}"]
    )
    return Program(
        name_of(f"{kind}_pool", words_of(act)),
        [Tensor("x", (planes, height, width), draw.dtype)],
        [Output("out", "(planes, out_height, out_width)", draw.dtype)],
        ("planes", "height", "width", "out_height", "out_width", "out_numel"),
        [
            "planes, height, width = x.shape",
            f"out_height = (height - {size}) // {stride} + 1",
            f"out_width = (width - {size}) // {stride} + 1",
            "out_numel = planes * out_height * out_width",
        ],
        body,
        cuda,
        triton,
    )


def depthwise_conv(draw):
    """A causal convolution of each channel with its own weights."""
    channels, length, taps = draw.pick(ROWS), draw.pick(COLUMNS), draw.pick((3, 4, 4, 5))
    bias = draw.chance(0.5)
    act = draw.chain("acc", 0, 1)
    inputs = [Tensor("x", (channels, length), draw.dtype), Tensor("weight", (channels, taps), draw.dtype)] + (
        [Tensor("bias", (channels,), draw.dtype)] if bias else []
    )
    lines, value = written(act, "cuda", ("acc",))
    cuda = Side(
        fill(
            """
        const int channel = blockIdx.x;
        float taps[TAPS];
        #pragma unroll
        for (int k = 0; k < TAPS; ++k) taps[k] = LOAD(weight, channel * TAPS + k);
        for (int t = threadIdx.x; t < length; t += blockDim.x) {
          float acc = $start;
          #pragma unroll
          for (int k = 0; k < TAPS; ++k) {
            const int source = t + k - (TAPS - 1);
            if (source >= 0) acc += taps[k] * LOAD(x, channel * length + source);
          }
          $lines
          STORE(out, channel * length + t, $value);
        }
        """,
            start="LOAD(bias, channel)" if bias else "0.0f",
            lines=lines,
            value=value,
        ),
        ("channels",),
        "Causal depthwise convolution: a block per channel keeps its taps in registers.",
        constants={"TAPS": taps},
    )
    lines, value = written(act, "triton", ("acc",))
    triton = Side(
        fill(
            """
        channel = tl.program_id(0)
        t = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        mask = t < length
        acc = tl.zeros((BLOCK,), dtype=tl.float32)$start
        for k in tl.static_range(TAPS):
            source = t + k - (TAPS - 1)
            v = LOAD(x, channel * length + source, mask=mask & (source >= 0), other=0.0)
            acc += LOAD(weight, channel * TAPS + k) * v
        $lines
        STORE(out, channel * length + t, $value, mask=mask)
        """,
            start=" + LOAD(bias, channel)" if bias else "",
            lines=lines,
            value=value,
        ),
        ("channels", "cdiv(length, BLOCK)"),
        "A block of positions of one channel; the taps are unrolled.",
        constants={"TAPS": taps, "BLOCK": draw.pick((64, 128))},
    )
    reference = f"F.conv1d(F.pad(x, ({taps - 1}, 0))[None], weight[:, None, :]{', bias' if bias else ''}, groups=x.shape[0])[0]"
    lines, text = written(act, "torch", ("acc",))
    return Program(
        name_of("causal_conv", words_of(act)),
        inputs,
        [Output("out", "", draw.dtype, like="x")],
        ("channels", "length"),
        ["channels, length = x.shape"],
        [f"acc = {reference}", *lines, f"return {typed(draw, text)}"],
        cuda,
        triton,
    )


FAMILIES = (pool, depthwise_conv)
