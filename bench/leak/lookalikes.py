"""Makes innocent modules in the layout of a benchmark problem: the same frame, another content.

They reveal false flags of a check that takes the common layout for a copy.
"""

import itertools

FRAME = '''import torch
import torch.nn as nn
{imports}
class Model(nn.Module):
    """
    {about}
    """
    def __init__({parameters}):
        super(Model, self).__init__()
{fields}
    def forward(self, {inputs}) -> torch.Tensor:
        """
        {about}

        Args:
            x (torch.Tensor): Input tensor.

        Returns:
            torch.Tensor: Output tensor.
        """
{body}

{constants}
def get_inputs():
    {tensors}
    return [{returned}]

def get_init_inputs():
    return [{arguments}]
'''

POINTWISE = {
    "torch.special.erfcx(x)": "the scaled complementary error function",
    "torch.log1p(torch.abs(x))": "a signed logarithm",
    "x * torch.cos(x)": "a cosine gate",
    "torch.where(x > 0.3, x, x * x)": "a bent square",
    "torch.atan2(x, 1 + x * x)": "an angle",
    "torch.frac(x) - 0.5": "the centred fraction",
    "torch.lerp(x, x.flip(-1), 0.25)": "a mirrored blend",
    "torch.logit(torch.clamp(x, 0.01, 0.99))": "log odds",
    "torch.nn.functional.glu(x, dim=-1)": "a gated half",
    "torch.diff(x, dim=-1)": "differences of neighbours",
    "torch.quantile(x, 0.9, dim=-1)": "the upper decile",
    "torch.kthvalue(x, 5, dim=-1).values": "the fifth smallest value",
    "torch.linalg.vector_norm(x, ord=3, dim=1)": "a cubic norm",
    "torch.roll(x, shifts=7, dims=1)": "a rotation",
    "torch.logcumsumexp(x, dim=1)": "running log sums",
    "torch.histc(x, bins=64)": "a histogram",
    "torch.msort(x)": "sorted columns",
    "torch.std(x, dim=1, keepdim=True)": "deviations",
    "torch.renorm(x, 2, 0, 1.5)": "bounded rows",
    "torch.trapezoid(x, dim=-1)": "an integral by trapezes",
}

LAYERS = [
    ("proj", "nn.Linear(width, hidden)", "width, hidden", "torch.rand(rows, width)", "rows = 96\nwidth = 320\nhidden = 768"),
    (
        "conv",
        "nn.Conv1d(channels, filters, taps)",
        "channels, filters, taps",
        "torch.rand(batch_size, channels, length)",
        "batch_size = 24\nchannels = 12\nfilters = 40\ntaps = 9\nlength = 2048",
    ),
    (
        "conv",
        "nn.Conv2d(in_channels, out_channels, kernel_size)",
        "in_channels, out_channels, kernel_size",
        "torch.rand(batch_size, in_channels, height, width)",
        "batch_size = 48\nin_channels = 5\nout_channels = 20\nheight, width = 60, 84\nkernel_size = 7",
    ),
    (
        "gru",
        "nn.GRUCell(features, state)",
        "features, state",
        "torch.rand(batch_size, features)",
        "batch_size = 100\nfeatures = 72\nstate = 144",
    ),
]

TAILS = [
    ("torch.nn.functional.hardswish(x)", "a hard swish"),
    ("x - torch.logsumexp(x, dim=1, keepdim=True)", "log probabilities"),
    ("torch.nn.functional.rrelu(x, 0.1, 0.3)", "leaks"),
    ("x / (1e-3 + torch.amax(x, dim=1, keepdim=True))", "a scale by the largest"),
    ("torch.tanh(x) * 1.7159", "a scaled tangent"),
    ("torch.square(torch.relu(x))", "squared positives"),
]


def pointwise():
    """One operation and no weights."""
    for number, (expression, about) in enumerate(POINTWISE.items()):
        size = 700 + 37 * number
        yield FRAME.format(
            imports="",
            about=f"Model that takes {about}.",
            parameters="self",
            fields="",
            inputs="x: torch.Tensor",
            body=f"        return {expression}",
            constants=f"batch_size = {16 + number}\ndim = {size}\n",
            tensors="x = torch.rand(batch_size, dim)",
            returned="x",
            arguments="",
        )


def layered():
    """A layer and two operations after it."""
    for (name, layer, parameters, tensor, constants), (first, second) in itertools.product(
        LAYERS, itertools.permutations(TAILS, 2)
    ):
        yield FRAME.format(
            imports="",
            about=f"Model with a layer, {first[1]} and {second[1]}.",
            parameters=f"self, {parameters}",
            fields=f"        self.{name} = {layer}\n",
            inputs="x",
            body=f"        x = self.{name}(x)\n        x = {first[0]}\n        x = {second[0]}\n        return x",
            constants=constants + "\n",
            tensors=f"x = {tensor}",
            returned="x",
            arguments=parameters,
        )


def rows():
    """The look-alikes as rows of prompt and completion."""
    for source in itertools.chain(pointwise(), layered()):
        yield {"prompt": "Write a Triton kernel for this model.", "completion": source}
