"""The families of computations. Each module has functions that draw a program."""

from . import (
    columns,
    images,
    indexing,
    losses,
    maps,
    masks,
    movement,
    normalisations,
    pairwise,
    pooling,
    products,
    quantisation,
    reductions,
    scans,
    softmaxes,
    totals,
    windows,
)

MODULES = (
    columns,
    images,
    indexing,
    losses,
    maps,
    masks,
    movement,
    normalisations,
    pairwise,
    pooling,
    products,
    quantisation,
    reductions,
    scans,
    softmaxes,
    totals,
    windows,
)
FAMILIES = {each.__name__: each for module in MODULES for each in module.FAMILIES}
