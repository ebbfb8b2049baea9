"""Products written by hand: one description gives the PyTorch function and the Triton kernels that compute it."""

from . import attention, chains, chunks, distances, gathered, gemm, quantised, rows
from .draw import ProductDraw

MODULES = (attention, chains, chunks, distances, gathered, gemm, quantised, rows)
FAMILIES = {each.__name__: each for module in MODULES for each in module.FAMILIES}


def draw_product(chooser, family):
    """A product of a family; `chooser` is a random.Random."""
    return FAMILIES[family](ProductDraw(chooser))
