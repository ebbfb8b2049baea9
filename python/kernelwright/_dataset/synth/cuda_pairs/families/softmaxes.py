"""Softmax and its logarithm."""

from ..draw import COLUMNS, ROWS
from ..program import Output, Program, Side, Tensor, fill
from .common import name_of, typed
from .normalisations import row_threads


def softmax_of(draw, log):
    """Softmax or its logarithm, with a temperature, a bias or a mask."""
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    extra = draw.pick(("", "", "bias", "mask", "temperature"))
    inputs = [Tensor("x", (rows, cols), draw.dtype)]
    value, triton_extra, reference, temperature = "LOAD(x, row * n_cols + col)", [], "x", draw.pick((0.5, 0.7, 1.5, 2.0))
    if extra == "bias":
        inputs.append(Tensor("bias", (cols,), draw.dtype))
        value, reference = value + " + LOAD(bias, col)", "x + bias"
        triton_extra = ["v += LOAD(bias, cols, mask=mask, other=0.0)"]
    elif extra == "mask":
        inputs.append(Tensor("attn_mask", (rows, cols), draw.dtype))
        value, reference = value + " + LOAD(attn_mask, row * n_cols + col)", "x + attn_mask"
        triton_extra = ["v += LOAD(attn_mask, row * n_cols + cols, mask=mask, other=0.0)"]
    elif extra == "temperature":
        value, reference = f"{value} / {temperature}f", f"x / {temperature}"
        triton_extra = [f"v = v / {temperature}"]
    word = "log_softmax" if log else "softmax"
    result, triton_result = (
        ("v - peak - log_total", "v - peak - tl.log(total)") if log else ("expf(v - peak) * scale", "weights / total")
    )
    head, loop, unit, fields = row_threads(draw, ("max", "sum"))
    online = draw.chance(0.35)
    first = """
        float peak = -CUDART_INF_F;
        $loop {
          peak = fmaxf(peak, $value);
        }
        peak = $unit_reduce_max(peak);
        float total = 0.0f;
        $loop {
          total += expf($value - peak);
        }
        total = $unit_reduce_sum(total);"""
    if online:
        first = """
        // The running sum is rescaled when a thread meets a larger element.
        float own_peak = -CUDART_INF_F;
        float total = 0.0f;
        $loop {
          const float v = $value;
          if (v > own_peak) {
            total *= expf(own_peak - v);
            own_peak = v;
          }
          total += expf(v - own_peak);
        }
        const float peak = $unit_reduce_max(own_peak);
        // A thread without elements has the maximum -inf and adds nothing.
        total = $unit_reduce_sum(total * expf(own_peak - peak));"""
    first = fill(first.replace("$unit_", unit + "_"), loop=loop, value=value)
    body = fill(
        """
        $head
        $first
        $scale
        $loop {
          const float v = $value;
          STORE(out, row * n_cols + col, $result);
        }
        """,
        head=head,
        first=first,
        loop=loop,
        value=value,
        result=result,
        scale="const float log_total = logf(total);" if log else "const float scale = 1.0f / total;",
    )
    comment = f"One {unit} per row" + (
        ", one pass for maximum and sum." if online else ": maximum, sum of exponentials, result."
    )
    cuda = Side(body, comment=comment, **fields)
    style = draw.pick(("whole", "whole", "tile", "loop"))
    triton = softmax_triton(draw, style, triton_extra, triton_result, log)
    name = name_of(extra, word) if extra else word
    return Program(
        name,
        inputs,
        [Output("out", "", draw.dtype, like="x")],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = x.shape"],
        [f"return {typed(draw, f'torch.{word}({reference}, dim=-1)')}"],
        cuda,
        triton,
    )


def softmax_triton(draw, style, extra, result, log):
    """Softmax of a row, of several rows, or of a row in pieces."""
    if style == "tile":
        extra = [
            line.replace("row * n_cols + cols", "offs").replace(
                "bias, cols, mask=mask", "bias, cols[None, :], mask=cols[None, :] < n_cols"
            )
            for line in extra
        ]
        exponent = "weights = tl.exp(v - peak)"
        lines = (
            ["total = tl.sum(tl.exp(v - peak), axis=1, keep_dims=True)"]
            if log
            else [exponent, "total = tl.sum(weights, axis=1, keep_dims=True)"]
        )
        return Side(
            fill(
                """
            rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
            cols = tl.arange(0, BLOCK_COLS)
            mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
            offs = rows[:, None] * n_cols + cols[None, :]
            v = LOAD(x, offs, mask=mask, other=0.0)
            $extra
            v = tl.where(cols[None, :] < n_cols, v, float("-inf"))
            peak = tl.max(v, axis=1, keep_dims=True)
            $lines
            STORE(out, offs, $result, mask=mask)
            """,
                extra=extra,
                lines=lines,
                result=result,
            ),
            ("cdiv(n_rows, BLOCK_ROWS)",),
            "Each program normalises BLOCK_ROWS rows.",
            constants={"BLOCK_ROWS": draw.pick((2, 4, 8)), "BLOCK_COLS": "triton.next_power_of_2(n_cols)"},
        )
    if style == "loop":
        return Side(
            fill(
                """
            row = tl.program_id(0)
            peak = float("-inf")
            total = 0.0
            for start in range(0, n_cols, BLOCK):
                cols = start + tl.arange(0, BLOCK)
                mask = cols < n_cols
                v = LOAD(x, row * n_cols + cols, mask=mask, other=0.0)
                $extra
                v = tl.where(mask, v, float("-inf"))
                new_peak = tl.maximum(peak, tl.max(v, axis=0))
                total = total * tl.exp(peak - new_peak) + tl.sum(tl.exp(v - new_peak), axis=0)
                peak = new_peak
            for start in range(0, n_cols, BLOCK):
                cols = start + tl.arange(0, BLOCK)
                mask = cols < n_cols
                v = LOAD(x, row * n_cols + cols, mask=mask, other=0.0)
                $extra
                STORE(out, row * n_cols + cols, $result, mask=mask)
            """,
                extra=extra,
                result=result if log else "tl.exp(v - peak) / total",
            ),
            ("n_rows",),
            "Online softmax: the first loop finds maximum and sum in blocks, the second writes.",
            constants={"BLOCK": draw.pick((32, 64, 128))},
        )
    lines = (
        ["total = tl.sum(tl.exp(v - peak), axis=0)"]
        if log
        else ["weights = tl.exp(v - peak)", "total = tl.sum(weights, axis=0)"]
    )
    return Side(
        fill(
            """
        row = tl.program_id(0)
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        v = LOAD(x, row * n_cols + cols, mask=mask, other=0.0)
        $extra
        v = tl.where(mask, v, float("-inf"))
        peak = tl.max(v, axis=0)
        $lines
        STORE(out, row * n_cols + cols, $result, mask=mask)
        """,
            extra=extra,
            lines=lines,
            result=result,
        ),
        ("n_rows",),
        draw.say("One program per row.", "A row fits into one block."),
        constants={"BLOCK": "triton.next_power_of_2(n_cols)"},
    )


def softmax(draw):
    """Softmax of each row."""
    return softmax_of(draw, False)


def log_softmax(draw):
    """Log-softmax of each row."""
    return softmax_of(draw, True)


FAMILIES = (softmax, log_softmax)
