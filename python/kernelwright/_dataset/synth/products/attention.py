"""Attention: tiles of keys one after another with a running softmax, or all keys in one tile."""

from dataclasses import dataclass

from .draw import name_of
from .text import Input, Kernel, Named, Product, fill, in_type

FLASH = """
rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
head = tl.program_id(1)
$heads
ds = tl.arange(0, BLOCK_D)
q = tl.load(q_ptr + head * M * D + rows[:, None] * D + ds[None, :], mask=(rows[:, None] < M) & (ds[None, :] < D), other=0.0)
$setup
peak = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
total = tl.zeros((BLOCK_M,), dtype=tl.float32)
acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)
$loop
    cols = start + tl.arange(0, BLOCK_N)
    $load_k
    scores = tl.dot(q, $k$precision) * scale
    $scores
    scores = tl.where($visible, scores, -float("inf"))
    new_peak = tl.maximum(peak, tl.max(scores, axis=1))
    $guard
    weights = tl.$exp(scores - $peak[:, None])
    rescale = tl.$exp(peak - $peak)
    total = total * rescale + tl.sum(weights, axis=1)
    v = tl.load(v_ptr + $kv * N * D + cols[:, None] * D + ds[None, :], mask=(cols[:, None] < N) & (ds[None, :] < D), other=0.0)
    acc = tl.dot(weights$narrow, v, acc * rescale[:, None]$precision)
    peak = new_peak
$finish
tl.store(out_ptr + head * M * D + rows[:, None] * D + ds[None, :], acc, mask=(rows[:, None] < M) & (ds[None, :] < D))
$more
"""
SINGLE = """
rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
head = tl.program_id(1)
$heads
cols = tl.arange(0, BLOCK_N)
ds = tl.arange(0, BLOCK_D)
row_mask = (rows[:, None] < M) & (ds[None, :] < D)
col_mask = (cols[:, None] < N) & (ds[None, :] < D)
q = tl.load(q_ptr + head * M * D + rows[:, None] * D + ds[None, :], mask=row_mask, other=0.0)
k = tl.load(k_ptr + $kv * N * D + cols[:, None] * D + ds[None, :], mask=col_mask, other=0.0)
v = tl.load(v_ptr + $kv * N * D + cols[:, None] * D + ds[None, :], mask=col_mask, other=0.0)
$setup
scores = tl.dot(q, tl.trans(k)$precision) * scale
$scores
$weights
acc = tl.dot(weights$narrow, v$precision)
$finish
tl.store(out_ptr + head * M * D + rows[:, None] * D + ds[None, :], acc, mask=row_mask)
"""


def attention(draw):
    """One of several forms of attention over heads."""
    draw.dtype = draw.pick(("float32", "float32", "float16"))
    heads, d = draw.pick((2, 3, 4)), draw.pick((16, 32, 48, 64))
    m, n = draw.pick((24, 33, 60)), draw.pick((40, 72, 100))
    single = draw.chance(0.35)
    visible = draw.pick(("all", "all", "causal", "window", "length"))
    if visible in ("causal", "window"):
        n = m
    change = draw.pick(("", "", "bias", "alibi", "softcap", "relative"))
    form = draw.pick(("softmax", "relu", "sigmoid", "squared_relu")) if single and visible != "length" else "softmax"
    grouped = draw.chance(0.3) and heads % 2 == 0
    batch = draw.pick((0, 0, 2)) if heads == 2 and not grouped and change == "" and visible != "length" else 0
    return Attention(draw, heads, m, n, d, visible, change, form, grouped, batch, single).product()


@dataclass
class Attention:
    """Writes one attention."""

    draw: object
    heads: int
    m: int
    n: int
    d: int
    visible: str  # which keys a query sees
    change: str  # of the scores
    form: str  # of the weights
    grouped: bool  # two heads share keys and values
    batch: int  # 0: no dimension of batches
    single: bool  # all keys in one tile

    def __post_init__(self):
        draw, single = self.draw, self.single
        self.base_two = not single and self.change in ("", "alibi") and draw.chance(0.4)
        self.transposed_load = draw.chance(0.5)
        self.lse = not single and draw.chance(0.25)
        lead = (self.batch,) if self.batch else ()
        kv = self.heads // 2 if self.grouped else self.heads
        if self.visible == "length":
            self.n = Named(self.n, "KEYS")
        self.inputs = [
            Input("q", (*lead, self.heads, self.m, self.d), draw.dtype),
            Input("k", (*lead, kv, self.n, self.d), draw.dtype),
            Input("v", (*lead, kv, self.n, self.d), draw.dtype),
        ]
        self.scalars = {"M": "M", "N": "N", "D": "D", "GROUP": "q.shape[0] // k.shape[0]"}
        self.setup, self.lines = [], []
        self.cast = ".to(tl.float32)" if draw.half else ""
        self.float = ".float()" if draw.half else ""

    def scores(self):
        """Changes of the scores: lines of the kernel and of the reference."""
        unit = " * 1.44269504" if self.base_two else ""
        if self.change == "bias":
            self.inputs.append(Input("bias", (self.heads, self.m, self.n), self.draw.dtype))
            mask = "(rows[:, None] < M) & (cols[None, :] < N)"
            return (
                [
                    "bias_ptrs = bias_ptr + head * M * N + rows[:, None] * N + cols[None, :]",
                    f"bias = tl.load(bias_ptrs, mask={mask}, other=0.0){self.cast}",
                    "scores += bias",
                ],
                [f"scores = scores + bias{self.float}"],
            )
        if self.change == "alibi":
            self.inputs.append(Input("slopes", (self.heads,), "float32", f"torch.rand({self.heads}) * 0.5"))
            self.setup.append(f"slope = tl.load(slopes_ptr + head){unit}")
            return (
                ["scores -= slope * tl.abs(rows[:, None] - cols[None, :])"],
                [
                    "rows = torch.arange(q.shape[-2], device=q.device)[:, None]",
                    "distance = (rows - torch.arange(k.shape[-2], device=q.device)).abs()",
                    "scores = scores - slopes[:, None, None] * distance",
                ],
            )
        if self.change == "softcap":
            cap = self.draw.pick((5.0, 10.0, 20.0))
            return (
                [f"scores = {cap} * (2.0 * tl.sigmoid({2 / cap:g} * scores) - 1.0)"],
                [f"scores = {cap} * torch.tanh(scores / {cap})"],
            )
        if self.change == "relative":
            self.inputs.append(Input("table", (self.heads, self.m + self.n - 1), "float32"))
            place = "table_ptr + head * (M + N - 1) + cols[None, :] - rows[:, None] + M - 1"
            return (
                [f"scores += tl.load({place}, mask=(rows[:, None] < M) & (cols[None, :] < N), other=0.0)"],
                [
                    "rows = torch.arange(q.shape[-2], device=q.device)[:, None]",
                    "place = torch.arange(k.shape[-2], device=q.device) - rows + q.shape[-2] - 1",
                    "scores = scores + table[:, place]",
                ],
            )
        return [], []

    def condition(self):
        """Which keys a query sees: the condition of the kernel, the lines of the reference, and the loop over keys."""
        every = "cols[None, :] < N"
        whole = ["for start in range(0, N, BLOCK_N):"]
        if self.visible == "causal":
            lines = [
                "hidden = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)",
                'scores = scores.masked_fill(hidden, -float("inf"))',
            ]
            loop = [
                "# Keys after the last row of the tile are never visible.",
                "for start in range(0, tl.minimum(N, (tl.program_id(0) + 1) * BLOCK_M), BLOCK_N):",
            ]
            return f"({every}) & (rows[:, None] >= cols[None, :])", lines, loop
        if self.visible == "window":
            width = self.draw.pick((8, 12, 16))
            self.scalars["WINDOW"] = str(width)
            lines = [
                "at = torch.arange(q.shape[-2], device=q.device)",
                "gap = at[:, None] - at",
                f'scores = scores.masked_fill((gap < 0) | (gap >= {width}), -float("inf"))',
            ]
            self.lines = ["behind = rows[:, None] - cols[None, :]"]
            loop = [
                "# Only tiles with keys inside the window of some row.",
                "first_row = tl.program_id(0) * BLOCK_M",
                "first_key = tl.maximum(first_row - WINDOW + 1, 0) // BLOCK_N * BLOCK_N",
                "for start in range(first_key, tl.minimum(N, first_row + BLOCK_M), BLOCK_N):",
            ]
            return f"({every}) & (behind >= 0) & (behind < WINDOW)", lines, loop
        if self.visible == "length":
            self.inputs.append(Input("lengths", (self.heads,), "int64", f"torch.randint(1, {self.n} + 1, ({self.heads},))"))
            self.setup.append("length = tl.load(lengths_ptr + head)")
            lines = [
                "padding = torch.arange(k.shape[-2], device=q.device) >= lengths[:, None, None]",
                'scores = scores.masked_fill(padding, -float("inf"))',
            ]
            return f"({every}) & (cols[None, :] < length)", lines, whole
        return every, [], whole

    def product(self):
        """The pair."""
        draw = self.draw
        change, change_torch = self.scores()
        visible, hidden, loop = self.condition()
        guard = self.visible == "window"
        keys = f"k_ptr + {'kv_head' if self.grouped else 'head'} * N * D"
        if self.transposed_load:
            mask = "(ds[:, None] < D) & (cols[None, :] < N)"
            load_k = f"k = tl.load({keys} + cols[None, :] * D + ds[:, None], mask={mask}, other=0.0)"
        else:
            mask = "(cols[:, None] < N) & (ds[None, :] < D)"
            load_k = f"k = tl.load({keys} + cols[:, None] * D + ds[None, :], mask={mask}, other=0.0)"
        parts = {
            "heads": ["kv_head = head // GROUP"] if self.grouped else [],
            "kv": "kv_head" if self.grouped else "head",
            "setup": self.setup,
            "scores": [*change, *self.lines],
            "precision": draw.precision,
            "narrow": ".to(v.dtype)" if draw.half else "",
        }
        if self.single:
            body = fill(SINGLE, **parts, **self.single_parts(visible))
        else:
            more = ["lse = peak + tl.log(total)", "tl.store(lse_ptr + head * M + rows, lse, mask=rows < M)"]
            if self.base_two:
                more[0] = "lse = (peak + tl.log2(total)) * 0.69314718"
            safe = ['safe_peak = tl.where(new_peak == -float("inf"), 0.0, new_peak)']
            body = fill(
                FLASH,
                **parts,
                loop=loop,
                load_k=load_k,
                k="k" if self.transposed_load else "tl.trans(k)",
                visible=visible,
                guard=safe if guard else [],
                peak="safe_peak" if guard else "new_peak",
                exp="exp2" if self.base_two else "exp",
                finish="acc /= total[:, None]",
                more=more if self.lse else [],
            )
        scale = self.scale()
        self.scalars["scale"] = scale[0]
        blocks = {
            "BLOCK_M": 32,
            "BLOCK_N": "triton.next_power_of_2(N)" if self.single else draw.pick((32, 64)),
            "BLOCK_D": "triton.next_power_of_2(D)",
        }
        made = ["out = torch.empty_like(q)"]
        if self.lse:
            made += ["lse = torch.empty(q.shape[:-1], device=q.device, dtype=torch.float32)"]
        tensors = [*(each.name for each in self.inputs), "out", *(["lse"] if self.lse else [])]
        comment = (
            "Each program computes BLOCK_M rows of a head's result; BLOCK_N covers all keys."
            if self.single
            else "Each program computes BLOCK_M rows of a head's result. Tiles of keys come one after another, "
            "with a running maximum and sum of the softmax."
        )
        sizes = [
            "M, D = q.shape[-2:]",
            "N = k.shape[-2]",
            "n_heads = q.shape[0] * q.shape[1]" if self.batch else "n_heads = q.shape[0]",
        ]
        words = [
            "grouped" if self.grouped else "",
            "" if self.visible == "all" else self.visible,
            self.change,
            self.form if self.form != "softmax" else "",
            "attention",
        ]
        return Product(
            name_of(*words),
            self.inputs,
            self.reference(scale[1], change_torch, hidden),
            sizes,
            made,
            [Kernel(tensors, self.scalars, blocks, comment, body, ("triton.cdiv(M, BLOCK_M)", "n_heads"))],
            "out, lse" if self.lse else "out",
        )

    def scale(self):
        """The factor of the scores in the launcher and in the reference."""
        unit = " * 1.44269504" if self.base_two else ""
        if self.draw.chance(0.75):
            return f"D**-0.5{unit}", "q.shape[-1]**-0.5"
        factor = self.draw.pick((0.1, 0.125, 0.2))
        return f"{factor}{unit}", str(factor)

    def single_parts(self, visible):
        """The weights of all keys at once."""
        if self.form == "softmax":
            weights = [
                f'scores = tl.where({visible}, scores, -float("inf"))',
                "weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])",
            ]
            if self.draw.chance(0.5):
                return {"weights": [*weights, "total = tl.sum(weights, axis=1)"], "finish": "acc /= total[:, None]"}
            return {"weights": [*weights, "weights /= tl.sum(weights, axis=1)[:, None]"], "finish": []}
        weights = {"relu": "tl.maximum(scores, 0.0)", "sigmoid": "tl.sigmoid(scores)"}.get(self.form)
        if weights is None:
            return {
                "weights": ["weights = tl.maximum(scores, 0.0)", f"weights = tl.where({visible}, weights * weights, 0.0)"],
                "finish": [],
            }
        return {"weights": [f"weights = tl.where({visible}, {weights}, 0.0)"], "finish": []}

    def reference(self, scale, change, hidden):
        """The lines of the PyTorch function."""
        lines = []
        if self.grouped:
            lines += ["k = k.repeat_interleave(2, dim=0)", "v = v.repeat_interleave(2, dim=0)"]
        lines += [f"scores = (q{self.float} @ k{self.float}.transpose(-2, -1)) * {scale}", *change, *hidden]
        value = {
            "softmax": "torch.softmax(scores, dim=-1)",
            "relu": "torch.relu(scores)",
            "sigmoid": "torch.sigmoid(scores)",
            "squared_relu": "torch.relu(scores) ** 2",
        }[self.form]
        if self.lse:
            lines += ["lse = torch.logsumexp(scores, dim=-1)"]
        result = in_type(self.draw, f"{value} @ v{self.float}")
        return [*lines, f"return {result}, lse" if self.lse else f"return {result}"]


FAMILIES = (attention,)
