"""The families of computations. Each module has functions that draw a program."""
from . import indexing, losses, maps, movement, normalisations, products, reductions, windows

FAMILIES = {each.__name__: each for module in (
    indexing, losses, maps, movement, normalisations, products, reductions, windows) for each in module.FAMILIES}
