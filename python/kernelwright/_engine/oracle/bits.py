"""Bitwise comparison, for which a NaN equals itself and -0 is not 0."""
import torch

_DIGESTED = 1 << 24  # elements at a time
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def same_bits(first, second):
    """Whether two tensors agree in shape, dtype and every bit."""
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    with torch.no_grad():
        return torch.equal(_integers(first.detach()), _integers(second.detach()))


def all_same_bits(pairs):
    """Whether the tensors of every pair do; waits for a device once, not once for each pair."""
    pairs = list(pairs)
    if not all(first.is_cuda and first.shape == second.shape and first.dtype == second.dtype for first, second in pairs):
        return all(same_bits(first, second) for first, second in pairs)
    with torch.no_grad():
        differ = [(_integers(first.detach()) != _integers(second.detach())).any() for first, second in pairs]
        return not differ or not torch.stack(differ).any().item()


def digest(tensors):
    """A number that is the same where every bit is, and hardly ever otherwise."""
    total = 0
    with torch.no_grad():
        for number, tensor in enumerate(each for each in tensors if each is not None):
            bits = _integers(tensor.detach()).reshape(-1)
            for start in range(0, bits.numel(), _DIGESTED):
                part = bits[start:start + _DIGESTED].to(torch.int64)
                place = torch.arange(start, start + part.numel(), device=part.device)
                mixed = (part ^ (place * 0x9E3779B97F4A7C1)) * 0x56E8FEB86659FD93 + number
                total += int(((mixed ^ (mixed >> 32)) * 0x1E3779B97F4A7C15).sum())
    return total & ((1 << 64) - 1)


def _integers(tensor):
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.resolve_neg().view(_INTEGERS[tensor.element_size()])
