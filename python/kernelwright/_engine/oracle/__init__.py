"""The oracle: the trusted process that owns reference, inputs, expected outputs and judgement."""
from .serve import serve
from .shrink import warm

__all__ = ["serve", "warm"]
