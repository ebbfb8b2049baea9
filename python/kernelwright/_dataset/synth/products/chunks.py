"""Linear attention and scans by products: a chunk at a time, with a state between chunks."""

from .draw import name_of
from .text import Input, Kernel, Product, fill, in_type, weights

CHUNKS = """
head = tl.program_id(0)
ds = tl.arange(0, BLOCK_D)
es = tl.program_id(1) * BLOCK_E + tl.arange(0, BLOCK_E)
at = tl.arange(0, CHUNK)
$setup
state = tl.zeros((BLOCK_D, BLOCK_E), dtype=tl.float32)
for start in range(0, T, CHUNK):
    ts = start + at
    qk_mask = (ts[:, None] < T) & (ds[None, :] < D)
    v_mask = (ts[:, None] < T) & (es[None, :] < E)
    q = tl.load(q_ptr + head * T * D + ts[:, None] * D + ds[None, :], mask=qk_mask, other=0.0)
    k = tl.load(k_ptr + head * T * D + ts[:, None] * D + ds[None, :], mask=qk_mask, other=0.0)
    v = tl.load(v_ptr + head * T * E + ts[:, None] * E + es[None, :], mask=v_mask, other=0.0)
    $features
    scores = tl.dot(q, tl.trans(k)$precision)
    $scores
    out = tl.dot(scores$narrow, v$precision)
    out += $carried
    $after
    tl.store(out_ptr + head * T * E + ts[:, None] * E + es[None, :], out, mask=v_mask)
    $state
"""
SCAN = """
cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
at = tl.arange(0, CHUNK)
$matrix
$carry
for start in range(0, T, CHUNK):
    ts = start + at
    mask = (ts[:, None] < T) & (cols[None, :] < N)
    x = tl.load(x_ptr + ts[:, None] * N + cols[None, :], mask=mask, other=0.0)
    $before
    out = tl.dot(matrix, x$precision)$add
    $after
    tl.store(out_ptr + ts[:, None] * N + cols[None, :], out, mask=mask)
    $next
"""


def chunked_scan(draw):
    """Causal linear attention with one of several decays, or a scan along the first dimension."""
    return scan(draw) if draw.chance(0.35) else linear_attention(draw)


def linear_attention(draw):
    """Causal attention without softmax: scores within a chunk, and a matrix that carries the earlier chunks."""
    draw.dtype = draw.pick(("float32", "float32", "float16"))
    heads, t, d, e = draw.pick((2, 3, 4)), draw.pick((50, 64, 90)), draw.pick((16, 24, 32)), draw.pick((20, 40, 48))
    decay, feature = draw.pick(("none", "fixed", "head")), draw.pick(("", "", "relu", "elu", "square"))
    cast, kind = (".float()" if draw.half else ""), (".to(v.dtype)" if draw.half else "")
    inputs = [weights(draw, "q", (heads, t, d), d), weights(draw, "k", (heads, t, d), d), Input("v", (heads, t, e), draw.dtype)]
    scale = draw.pick(("", "q.shape[-1]**-0.5"))
    reference = [f"q, k, v = q{cast}, k{cast}, v{cast}"] if cast else []
    forms = {
        "relu": ("tl.maximum({0}, 0.0)", "torch.relu({0})"),
        "square": ("{0} * {0}", "{0} * {0}"),
        "elu": ("tl.where({0} > 0.0, {0} + 1.0, tl.exp({0}))", "F.elu({0}) + 1.0"),
    }
    features = []
    if feature:
        wide, back = (".to(tl.float32)", kind) if feature == "elu" and draw.half else ("", "")
        for name in ("q", "k"):
            features += [f"{name} = {name}{wide}"] if wide else []
            text = forms[feature][0].format(name)
            if feature == "relu" and draw.half:  # a maximum with a number is float32
                text += kind
            features.append(f"{name} = ({text}){back}" if back else f"{name} = {text}")
            reference.append(f"{name} = {forms[feature][1].format(name)}")
        if feature == "elu":  # the feature of a zero is 1
            features.append("k = tl.where(qk_mask, k, 0.0)" + kind)
            features.append("q = tl.where(qk_mask, q, 0.0)" + kind)
    setup, state = [], [f"state += tl.dot(tl.trans(k), v{draw.precision})"]
    carried = f"tl.dot(q, state{kind}{draw.precision})"
    reference.append("scores = q @ k.transpose(-2, -1)")
    if decay == "none":
        scores = ["scores = tl.where(at[:, None] >= at[None, :], scores, 0.0)"]
        reference.append("scores = torch.tril(scores)")
    else:
        rate = draw.pick((0.9, 0.95, 0.98))
        if decay == "head":
            inputs.append(Input("log_decay", (heads,), "float32", f"-0.2 * torch.rand({heads}) - 0.01"))
            setup = ["log_decay = tl.load(log_decay_ptr + head)"]
        else:
            setup = ["log_decay = tl.log(decay)"]
        setup += [
            "# A value loses its weight with each step between it and the query.",
            "gap = (at[:, None] - at[None, :]).to(tl.float32)",
            "within = tl.where(gap >= 0, tl.exp(gap * log_decay), 0.0)",
            "since_start = tl.exp((at + 1) * log_decay)",
        ]
        scores = ["scores *= within"]
        carried = f"since_start[:, None] * {carried}"
        state = [
            "left = tl.minimum(CHUNK, T - start)",
            "until_end = tl.exp((left - 1 - at) * log_decay)",
            f"weighted = (k * until_end[:, None]){kind}",
            "state = state * tl.exp(left * log_decay) + tl.dot(tl.trans(weighted), v" + draw.precision + ")",
        ]
        gap = "gap = torch.arange(q.shape[1], device=q.device)[:, None] - torch.arange(q.shape[1], device=q.device)"
        power = "torch.exp(log_decay[:, None, None] * gap.clamp(min=0))" if decay == "head" else f"{rate} ** gap.clamp(min=0)"
        reference += [gap, f"weights = torch.where(gap >= 0, {power}, 0.0)", "scores = scores * weights"]
    after = ["out *= scale"] if scale else []
    value = "scores @ v" + (f" * {scale}" if scale else "")
    body = fill(
        CHUNKS,
        setup=setup,
        features=features,
        scores=scores,
        carried=carried,
        state=state,
        after=after,
        precision=draw.precision,
        narrow=kind,
    )
    scalars = {"T": "T", "D": "D", "E": "E", "decay": str(rate) if decay == "fixed" else "", "scale": "D**-0.5"}
    return Product(
        name_of(
            {"none": "causal", "fixed": "decayed", "head": "head_decay"}[decay],
            feature,
            "scaled" if scale else "",
            "linear_attention",
        ),
        inputs,
        [*reference, "return " + in_type(draw, value)],
        ["n_heads, T, D = q.shape", "E = v.shape[-1]"],
        ["out = torch.empty_like(v)"],
        [
            Kernel(
                [*(each.name for each in inputs), "out"],
                scalars,
                {"CHUNK": draw.pick((16, 32)), "BLOCK_D": "triton.next_power_of_2(D)", "BLOCK_E": draw.pick((16, 32))},
                "Each program walks the sequence of one head in chunks. Within a chunk, queries meet keys; "
                "the sum of outer products of all earlier keys and values is the state.",
                body,
                ("n_heads", "triton.cdiv(E, BLOCK_E)"),
            )
        ],
    )


def scan(draw):
    """A cumulative sum, a moving average or a recurrence along the first dimension, as a product with a triangle."""
    draw.dtype = "float32"
    t, n = draw.pick((50, 70, 100)), draw.pick((40, 72, 130))
    kind = draw.pick(("cumsum", "average", "exponential"))
    act, act_torch, words = draw.activation("out", 0, 1)
    before, before_torch, more = draw.activation("x", 0, 1)
    if before:
        before = [*before, "x = tl.where(mask, x, 0.0)"]
    rate = draw.pick((0.5, 0.8, 0.9))
    carry, add = ["carry = tl.zeros((BLOCK_N,), dtype=tl.float32)"], " + carry[None, :]"
    after, following = [], ["carry += tl.sum(x, axis=0)"]
    matrix = [
        "# Row i of the matrix adds up the rows before i and row i.",
        "matrix = (at[:, None] >= at[None, :]).to(tl.float32)",
    ]
    torch = ["out = torch.cumsum(x, dim=0)"]
    if kind == "average":
        after = ["out /= (ts + 1)[:, None].to(tl.float32)"]
        torch += ["out = out / torch.arange(1, x.shape[0] + 1, device=x.device)[:, None]"]
    elif kind == "exponential":
        matrix = [
            "# out[i] = decay * out[i - 1] + x[i], written out: row i weighs row j by decay ** (i - j).",
            "gap = (at[:, None] - at[None, :]).to(tl.float32)",
            "log_decay = tl.log(decay)",
            "matrix = tl.where(gap >= 0, tl.exp(gap * log_decay), 0.0)",
            "fade = tl.exp((at + 1) * log_decay)",
        ]
        add = " + fade[:, None] * carry[None, :]"
        following = ["last = tl.where(at[:, None] == CHUNK - 1, out, 0.0)", "carry = tl.sum(last, axis=0)"]
        torch = [
            "gap = torch.arange(x.shape[0], device=x.device)[:, None] - torch.arange(x.shape[0], device=x.device)",
            f"out = torch.where(gap >= 0, {rate} ** gap.clamp(min=0), 0.0) @ x",
        ]
        act, act_torch, words = [], [], []  # the carry needs the values before a function
    body = fill(
        SCAN, matrix=matrix, carry=carry, before=before, add=add, after=[*after, *act], next=following, precision=draw.precision
    )
    lines = [*before_torch, *torch, *act_torch]
    return Product(
        name_of(
            more, {"cumsum": "cumsum", "average": "running_mean", "exponential": "exponential_scan"}[kind], "by_product", words
        ),
        [Input("x", (t, n), draw.dtype)],
        [*lines[:-1], f"return {lines[-1].removeprefix('out = ')}"],
        ["T, N = x.shape"],
        ["out = torch.empty_like(x)"],
        [
            Kernel(
                ["x", "out"],
                {"T": "T", "N": "N", "decay": str(rate)},
                {"CHUNK": draw.pick((16, 32)), "BLOCK_N": draw.pick((32, 64))},
                "Each program scans BLOCK_N columns in chunks: a triangular matrix scans a chunk, and a row carries the rest.",
                body,
                ("triton.cdiv(N, BLOCK_N)",),
            )
        ],
    )


FAMILIES = (chunked_scan,)
