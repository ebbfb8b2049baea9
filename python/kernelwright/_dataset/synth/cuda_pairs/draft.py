"""One pair of a seed and a number."""

from .draw import Draw
from .families import FAMILIES
from .program import written_pair

GRAMMAR = 1  # increase it when equal seeds and numbers give other texts


def draw_pair(seed, number, families=()):
    """The pair with this number. The families take turns, so that each has its share of a small set."""
    draw = Draw(seed, number)
    names = sorted(families) or sorted(FAMILIES)
    family = names[number % len(names)]
    return written_pair(family, FAMILIES[family](draw), draw)
