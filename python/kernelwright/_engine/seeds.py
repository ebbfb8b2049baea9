"""Seeds of random numbers, and the seed under which a call runs."""
import hashlib
import random

import torch

_sha256 = hashlib.sha256


def of_call(seed):
    """The seed of the random numbers that reference and candidate draw in a call, from the seed of the call's inputs.

    A runner gets this one alone, and cannot compute the other from it. The supervisor computes it as well (call_seed in
    verify/judge/oracle_side.h).
    """
    return int.from_bytes(_sha256(b"kernelwright call" + seed.to_bytes(8, "little")).digest()[:8], "little") >> 1


def of_family(seed, name):
    """The seed by which a family changes the inputs that this seed draws."""
    return int.from_bytes(_sha256(b"kernelwright family" + name.encode() + seed.to_bytes(8, "little")).digest()[:8],
                          "little") >> 1


def seed_everything(seed):
    """Seed each generator that a reference or a candidate may use."""
    random.seed(seed)
    # torch.manual_seed() also asks backends that are absent, which takes longer than most draws.
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)
    try:
        import numpy
    except ImportError:
        return
    numpy.random.seed((seed ^ seed >> 32) & 0xFFFFFFFF)  # takes 32 bits only
