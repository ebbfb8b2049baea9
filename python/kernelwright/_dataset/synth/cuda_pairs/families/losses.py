"""Losses and similarities of rows."""

from ..draw import COLUMNS, ROWS
from ..program import Output, Program, Side, Tensor, fill
from .common import block_reductions, typed
from .normalisations import row_threads


def cross_entropy(draw):
    """Cross entropy of logits and class indices, with label smoothing or an ignored class."""
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    kind = draw.pick(("plain", "smooth", "ignore", "temperature"))
    smooth, temperature = draw.pick((0.1, 0.2)), draw.pick((0.5, 2.0))
    scale_cuda, scale_triton, scale_torch = (
        (f" / {temperature}f", f" / {temperature}", f" / {temperature}") if kind == "temperature" else ("", "", "")
    )
    value = f"LOAD(logits, row * n_cols + col){scale_cuda}"
    head, loop, unit, fields = row_threads(draw, ("max", "sum"))
    first = "lane == 0" if unit == "warp" else "threadIdx.x == 0"
    second = "float logit_sum = 0.0f;" if kind == "smooth" else ""
    step = (
        (f"const float v = {value};\ntotal += expf(v - peak);\nlogit_sum += v;")
        if kind == "smooth"
        else f"total += expf({value} - peak);"
    )
    sums = f"logit_sum = {unit}_reduce_sum(logit_sum);" if kind == "smooth" else ""
    target_value = f"LOAD(logits, row * n_cols + target[row]){scale_cuda}"
    loss = {
        "smooth": f"log_total - {1 - smooth}f * picked - {smooth}f * logit_sum / n_cols",
        "ignore": "target[row] == IGNORED ? 0.0f : log_total - picked",
    }.get(kind, "log_total - picked")
    cuda = Side(
        fill(
            """
        $head
        float peak = -CUDART_INF_F;
        $loop peak = fmaxf(peak, $value);
        peak = $unit_max(peak);
        float total = 0.0f;
        $second
        $loop {
          $step
        }
        total = $unit_sum(total);
        $sums
        if ($first) {
          const float log_total = peak + logf(total);
          const float picked = $target;
          STORE(loss, row, $result);
        }
        """.replace("$unit_", f"{unit}_reduce_"),
            head=head,
            loop=loop,
            value=value,
            second=second,
            step=step,
            sums=sums,
            first=first,
            target=target_value,
            result=loss,
        ),
        comment=f"One {unit} per row: log-sum-exp of the logits minus the logit of the class.",
        **fields,
    )
    if kind == "ignore":
        cuda.constants = {**cuda.constants, "IGNORED": 0}
    result = {
        "smooth": f"log_total - {1 - smooth} * picked - {smooth} * tl.sum(tl.where(mask, v, 0.0), axis=0) / n_cols",
        "ignore": "tl.where(index == IGNORED, 0.0, log_total - picked)",
    }.get(kind, "log_total - picked")
    triton = Side(
        fill(
            """
        row = tl.program_id(0)
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        v = LOAD(logits, row * n_cols + cols, mask=mask, other=float("-inf"))$scale
        peak = tl.max(v, axis=0)
        log_total = peak + tl.log(tl.sum(tl.exp(v - peak), axis=0))
        index = tl.load(target_ptr + row)
        picked = LOAD(logits, row * n_cols + index)$scale
        STORE(loss, row, $result)
        """,
            scale=scale_triton,
            result=result,
        ),
        ("n_rows",),
        draw.say("One program per row; masked logits are -inf and add nothing.", "A row of logits per program."),
        constants={**({"IGNORED": 0} if kind == "ignore" else {}), "BLOCK": "triton.next_power_of_2(n_cols)"},
    )
    option = {"smooth": f", label_smoothing={smooth}", "ignore": ", ignore_index=0"}.get(kind, "")
    inputs = [
        Tensor("logits", (rows, cols), draw.dtype),
        Tensor("target", (rows,), "int64", f"torch.randint(0, {cols}, ({rows},))"),
    ]
    reference = f'F.cross_entropy(logits{scale_torch}, target, reduction="none"{option})'
    return Program(
        "cross_entropy" if kind == "plain" else f"cross_entropy_{kind}",
        inputs,
        [Output("loss", "(n_rows,)", draw.dtype)],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = logits.shape"],
        [f"return {typed(draw, reference)}"],
        cuda,
        triton,
    )


LOSSES = (
    (
        "mse",
        "const float d = p - t;\nacc += d * d;",
        "d = p - t\nterm = d * d",
        "acc / n_cols",
        "((pred - target) ** 2).mean(dim=-1)",
    ),
    ("l1", "acc += fabsf(p - t);", "term = tl.abs(p - t)", "acc / n_cols", "(pred - target).abs().mean(dim=-1)"),
    (
        "smooth_l1",
        "const float d = fabsf(p - t);\nacc += d < 1.0f ? 0.5f * d * d : d - 0.5f;",
        "d = tl.abs(p - t)\nterm = tl.where(d < 1.0, 0.5 * d * d, d - 0.5)",
        "acc / n_cols",
        'F.smooth_l1_loss(pred, target, reduction="none").mean(dim=-1)',
    ),
    (
        "huber",
        "const float d = fabsf(p - t);\nacc += d <= 0.5f ? 0.5f * d * d : 0.5f * (d - 0.25f);",
        "d = tl.abs(p - t)\nterm = tl.where(d <= 0.5, 0.5 * d * d, 0.5 * (d - 0.25))",
        "acc",
        'F.huber_loss(pred, target, reduction="none", delta=0.5).sum(dim=-1)',
    ),
    (
        "hinge",
        "acc += fmaxf(1.0f - p * t, 0.0f);",
        "term = tl.maximum(1.0 - p * t, 0.0)",
        "acc / n_cols",
        "torch.relu(1.0 - pred * target).mean(dim=-1)",
    ),
    (
        "bce_logits",
        "acc += fmaxf(p, 0.0f) - p * t + log1pf(expf(-fabsf(p)));",
        "term = tl.maximum(p, 0.0) - p * t + tl.log(1.0 + tl.exp(-tl.abs(p)))",
        "acc / n_cols",
        'F.binary_cross_entropy_with_logits(pred, target, reduction="none").mean(dim=-1)',
    ),
    (
        "poisson_nll",
        "acc += expf(p) - t * p;",
        "term = tl.exp(p) - t * p",
        "acc",
        'F.poisson_nll_loss(pred, target, reduction="none").sum(dim=-1)',
    ),
    (
        "log_cosh",
        "const float d = fabsf(p - t);\nacc += d + log1pf(expf(-2.0f * d)) - 0.69314718f;",
        "d = tl.abs(p - t)\nterm = d + tl.log(1.0 + tl.exp(-2.0 * d)) - 0.69314718",
        "acc / n_cols",
        "((pred - target).abs() + F.softplus(-2.0 * (pred - target).abs()) - 0.69314718).mean(dim=-1)",
    ),
)


def row_loss(draw):
    """A loss of each row of predictions and targets."""
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    word, cuda_step, triton_step, last, reference = draw.pick(LOSSES)
    head, loop, unit, fields = row_threads(draw, ("sum",))
    cuda = Side(
        fill(
            """
        $head
        float acc = 0.0f;
        $loop {
          const float p = LOAD(pred, row * n_cols + col);
          const float t = LOAD(target, row * n_cols + col);
          $step
        }
        acc = $unit_sum(acc);
        if ($first) STORE(out, row, $last);
        """.replace("$unit_", f"{unit}_reduce_"),
            head=head,
            loop=loop,
            step=cuda_step,
            first="lane == 0" if unit == "warp" else "threadIdx.x == 0",
            last=last,
        ),
        comment=f"One {unit} per row.",
        **fields,
    )
    if draw.chance(0.5):
        triton = Side(
            fill(
                """
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            mask = cols < n_cols
            p = LOAD(pred, row * n_cols + cols, mask=mask, other=0.0)
            t = LOAD(target, row * n_cols + cols, mask=mask, other=0.0)
            $step
            acc = tl.sum(tl.where(mask, term, 0.0), axis=0)
            STORE(out, row, $last)
            """,
                step=triton_step,
                last=last,
            ),
            ("n_rows",),
            "One program per row.",
            constants={"BLOCK": "triton.next_power_of_2(n_cols)"},
        )
    else:
        triton = Side(
            fill(
                """
            rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
            acc = tl.zeros((BLOCK_ROWS,), dtype=tl.float32)
            for start in range(0, n_cols, BLOCK_COLS):
                cols = start + tl.arange(0, BLOCK_COLS)
                mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
                p = LOAD(pred, rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
                t = LOAD(target, rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
                $step
                acc += tl.sum(tl.where(mask, term, 0.0), axis=1)
            STORE(out, rows, $last, mask=rows < n_rows)
            """,
                step=triton_step,
                last=last,
            ),
            ("cdiv(n_rows, BLOCK_ROWS)",),
            "BLOCK_ROWS rows per program, in blocks of columns.",
            constants={"BLOCK_ROWS": draw.pick((2, 4, 8)), "BLOCK_COLS": draw.pick((32, 64))},
        )
    maker = {
        "hinge": f"torch.where(torch.rand({rows}, {cols}) < 0.5, -1.0, 1.0)",
        "bce_logits": f"(torch.rand({rows}, {cols}) < 0.5).float()",
        "poisson_nll": f"torch.randint(0, 5, ({rows}, {cols})).float()",
    }.get(word, "")
    maker += ".half()" if maker and draw.dtype == "float16" else ""
    return Program(
        f"{word}_rows",
        [Tensor("pred", (rows, cols), draw.dtype), Tensor("target", (rows, cols), draw.dtype, maker)],
        [Output("out", "(n_rows,)", draw.dtype)],
        ("n_rows", "n_cols"),
        ["n_rows, n_cols = pred.shape"],
        [f"return {typed(draw, reference)}"],
        cuda,
        triton,
    )


def similarity(draw):
    """Cosine similarity, dot product, or divergence of two rows."""
    rows, cols = draw.pick(ROWS), draw.pick(COLUMNS)
    kind = draw.pick(("cosine", "dot", "kl"))
    a, b = draw.pick((("x", "y"), ("a", "b"), ("query", "key")))
    tree = draw.chance(0.4)
    if kind == "kl":
        a, b = "log_p", "log_q"
    sums = {"cosine": ("dot", "aa", "bb"), "dot": ("dot",), "kl": ("dot",)}[kind]
    steps = {
        "dot": "dot += u * v;" if kind != "kl" else "dot += expf(u) * (u - v);",
        "aa": "aa += u * u;",
        "bb": "bb += v * v;",
    }
    last = "dot / fmaxf(sqrtf(aa) * sqrtf(bb), 1e-8f)" if kind == "cosine" else "dot"
    cuda = Side(
        fill(
            """
        const int row = blockIdx.x;
        $starts
        for (int col = threadIdx.x; col < n_cols; col += blockDim.x) {
          const float u = LOAD($a, row * n_cols + col);
          const float v = LOAD($b, row * n_cols + col);
          $steps
        }
        $totals
        if (threadIdx.x == 0) STORE(out, row, $last);
        """,
            starts=[f"float {each} = 0.0f;" for each in sums],
            a=a,
            b=b,
            steps=[steps[each] for each in sums],
            totals=[f"{each} = block_reduce_sum({each});" for each in sums],
            last=last,
        ),
        ("n_rows",),
        "One block per pair of rows.",
        block_reductions(("sum",), tree),
    )
    terms = {"dot": "u * v" if kind != "kl" else "tl.where(mask, tl.exp(u) * (u - v), 0.0)", "aa": "u * u", "bb": "v * v"}
    triton = Side(
        fill(
            """
        row = tl.program_id(0)
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        u = LOAD($a, row * n_cols + cols, mask=mask, other=0.0)
        v = LOAD($b, row * n_cols + cols, mask=mask, other=0.0)
        $sums
        STORE(out, row, $last)
        """,
            a=a,
            b=b,
            sums=[f"{each} = tl.sum({terms[each]}, axis=0)" for each in sums],
            last="dot / tl.maximum(tl.sqrt(aa) * tl.sqrt(bb), 1e-8)" if kind == "cosine" else "dot",
        ),
        ("n_rows",),
        "One program per pair of rows.",
        constants={"BLOCK": "triton.next_power_of_2(n_cols)"},
    )
    reference = {
        "cosine": f"F.cosine_similarity({a}, {b}, dim=-1)",
        "dot": f"({a} * {b}).sum(dim=-1)",
        "kl": "(torch.exp(log_p) * (log_p - log_q)).sum(dim=-1)",
    }[kind]
    maker = (
        f"torch.log_softmax(torch.randn({rows}, {cols}), dim=-1)" + (".half()" if draw.dtype == "float16" else "")
        if kind == "kl"
        else ""
    )
    return Program(
        {"cosine": "cosine_similarity", "dot": "row_dot", "kl": "kl_divergence_rows"}[kind],
        [Tensor(a, (rows, cols), draw.dtype, maker), Tensor(b, (rows, cols), draw.dtype, maker)],
        [Output("out", "(n_rows,)", draw.dtype)],
        ("n_rows", "n_cols"),
        [f"n_rows, n_cols = {a}.shape"],
        [f"return {typed(draw, reference)}"],
        cuda,
        triton,
    )


FAMILIES = (cross_entropy, row_loss, similarity)
