"""A function with arguments by keyword alone."""


def scale_shift(x, *, scale=2.0, shift=0.5):
    return x * scale + shift
