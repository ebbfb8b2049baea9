"""The oracle: the trusted process that owns reference, inputs, expected outputs and judgement."""
from .serve import serve

__all__ = ["serve"]
