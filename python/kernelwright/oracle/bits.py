"""Bitwise comparison, for which a NaN equals itself and -0 is not 0."""
import torch

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def same_bits(first, second):
    """Whether two tensors agree in shape, dtype and every bit."""
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    with torch.no_grad():
        return torch.equal(_integers(first.detach()), _integers(second.detach()))


def _integers(tensor):
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.resolve_neg().view(_INTEGERS[tensor.element_size()])
