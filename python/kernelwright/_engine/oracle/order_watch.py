"""Notices whether a reference orders numbers: where equal ones meet, a right kernel may take another of them."""
from torch.utils._python_dispatch import TorchDispatchMode

_PLACES = {"topk", "sort", "argsort", "argmax", "argmin", "kthvalue", "mode", "cummax", "cummin", "_cummax_helper",
           "_cummin_helper", "searchsorted", "bucketize", "unique_consecutive", "_unique2", "unique_dim"}
_PLACES_ALONG = {"max", "min", "median", "nanmedian"}  # with a dimension


class OrderWatch(TorchDispatchMode):
    """`seen` is true once an operator gave the places of numbers in their order."""

    def __init__(self):
        super().__init__()
        self.seen = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name, _, overload = func.name().split("::")[1].partition(".")
        self.seen = self.seen or name in _PLACES or name in _PLACES_ALONG and overload.startswith(("dim", "names_dim"))
        return func(*args, **(kwargs or {}))
