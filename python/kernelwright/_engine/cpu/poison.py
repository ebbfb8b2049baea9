"""Fills memory that a candidate allocates without initialising it.

On a GPU such memory holds earlier data; on the CPU it often holds zeros, which would hide errors. One filling is not
enough: NaN shows every value that is read, and zeros or plausible numbers show results that depend on leftover
values. So the caller varies the filling from call to call. Memory that is allocated once and used in all calls, as at the
candidate's import, meets one filling only: "mixed" has NaN and plausible numbers in random places, and no zero.

The C library fills what is allocated otherwise, such as by another thread or by `torch.Tensor(size)`, with a byte that
is never 0.
"""
import ctypes

import torch

MODES = ("nan", "zeros", "data", "mixed")
M_PERTURB = -6
# Floats and integers of these bytes are large or of usual size. 0xFF would switch the filling off.
BYTES = (0x7F, 0xFE, 0x41, 0x3E, 0xC1, 0xBD)
ALLOCATORS = frozenset(("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
                        "new_empty_strided", "new"))
_state = {"mode": "nan", "generator": None}
_mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # the GNU C library's


def set_poison(mode, seed=0):
    """Choose how later allocations are filled: "nan", "zeros", "data" or "mixed" (drawn from `seed`)."""
    if mode not in MODES:
        raise ValueError(f"poison must be one of {MODES}")
    _state["mode"] = mode
    # A separate generator, so that the candidate's random numbers are the same with and without poison.
    _state["generator"] = torch.Generator("cpu").manual_seed(seed & ((1 << 63) - 1))
    if _mallopt is not None:
        _mallopt(M_PERTURB, 0xFF ^ BYTES[seed % len(BYTES)])  # it fills with the complement


def is_uninitialised(name, args):
    """Whether a call of this name with these arguments returns uninitialised memory."""
    if name == "new":
        # Tensor.new(sizes) allocates, Tensor.new(data) copies.
        return len(args) > 1 and all(isinstance(each, (int, torch.Size)) for each in args[1:])
    return name in ALLOCATORS


def fill(tensor):
    """Overwrite a fresh tensor's whole storage according to the mode; returns the tensor."""
    if type(tensor) is not torch.Tensor or tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        return tensor
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    if size:
        with torch.no_grad():
            _fill(torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage(), 0, (size,)))
    return tensor


def plausible(count, dtype):
    """A new tensor of so many numbers, as a tensor of this type may hold them."""
    flat = torch.empty(count, dtype=dtype)
    _fill(flat, "data")
    return flat


def _fill_mixed(flat):
    """NaN, or an integer's greatest value, in random places, and plausible numbers other than 0 in the others."""
    _fill(flat, "data")
    bits = flat.view(torch.uint8).view(flat.numel(), flat.element_size())
    other = torch.empty_like(flat)
    _fill(other, "nan")
    chosen = torch.empty(flat.numel(), dtype=torch.bool).random_(0, 2, generator=_state["generator"])
    chosen |= (bits == 0).all(1)
    bits[chosen] = other.view(torch.uint8).view(bits.shape)[chosen]
    return flat


def _fill(flat, mode=None):
    mode, dtype = mode or _state["mode"], flat.dtype
    if mode == "mixed":
        return _fill_mixed(flat)
    if dtype.is_complex:
        return _fill(torch.view_as_real(flat).view(-1), mode)
    if flat.element_size() == 1 and dtype.is_floating_point:
        # 8-bit floats support few operations; 0x7F is NaN in both formats of GPUs.
        if mode == "data":
            return flat.copy_(torch.randn(flat.shape, generator=_state["generator"]).to(dtype))
        return flat.view(torch.uint8).fill_(0x7F if mode == "nan" else 0)
    if mode == "zeros":
        return flat.zero_()
    if dtype.is_floating_point:
        return flat.fill_(float("nan")) if mode == "nan" else flat.normal_(generator=_state["generator"])
    if dtype is torch.bool:
        return flat.fill_(True) if mode == "nan" else flat.random_(0, 2, generator=_state["generator"])
    if not dtype.is_signed and dtype is not torch.uint8:
        return flat.view(getattr(torch, f"int{flat.element_size() * 8}")).fill_(-1 if mode == "nan" else 3)
    return (flat.fill_(torch.iinfo(dtype).max) if mode == "nan"
            else flat.random_(0, 16, generator=_state["generator"]))
