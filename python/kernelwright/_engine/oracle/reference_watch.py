"""Watches the operators of a reference: whether they order numbers, and to which of them its inputs go."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Where equal numbers meet, a right kernel may take another of them.
_PLACES = {"topk", "sort", "argsort", "argmax", "argmin", "kthvalue", "mode", "cummax", "cummin", "_cummax_helper",
           "_cummin_helper", "searchsorted", "bucketize", "unique_consecutive", "_unique2", "unique_dim"}
_PLACES_ALONG = {"max", "min", "median", "nanmedian"}  # with a dimension
# PyTorch says nothing of the order in which these give equal numbers.
_ANY_ORDER = {"topk", "sort", "kthvalue", "mode", "median", "nanmedian"}
# They do one thing below a bound and another above it, so that who gives them an input expects numbers on both sides.
_SIDES = {"relu", "relu6", "leaky_relu", "rrelu", "rrelu_with_noise", "prelu", "_prelu_kernel", "elu", "selu", "celu",
          "hardtanh", "hardswish", "hardsigmoid", "hardshrink", "softshrink", "threshold", "clamp", "clamp_min", "clamp_max",
          "abs", "sign", "maximum", "minimum", "fmax", "fmin", "gt", "ge", "lt", "le"}
# What they give, as an input: its values, scaled by a number at most.
_SAME = {"view", "_unsafe_view", "reshape", "_reshape_alias", "alias", "detach", "clone", "contiguous", "_to_copy", "to",
         "transpose", "t", "permute", "unsqueeze", "squeeze", "expand", "slice", "select", "flatten", "mul", "div"}
_OF_SHAPE_ALONE = {"zeros_like", "ones_like", "empty_like", "full_like", "new_zeros", "new_ones", "new_empty", "new_full"}
_SELECTS = {"where"}


class ReferenceWatch(TorchDispatchMode):
    """`orders`: an operator gave the places of numbers in their order. `of_equals`: each left the order of equal ones open."""

    def __init__(self, inputs):
        super().__init__()
        self.orders, self.of_equals = False, True
        self._origins = {id(each): (each, at) for at, each in enumerate(inputs)}  # the tensors stay alive, and their ids theirs
        self._with_sides, self._others = set(), set()

    def has_sides(self, place):
        """Whether this input goes to operators alone that tell numbers on one side of a bound from those on the other."""
        return place in self._with_sides - self._others

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name, _, overload = func.name().split("::")[1].partition(".")
        found = func(*args, **(kwargs or {}))
        if name in _PLACES or name in _PLACES_ALONG and overload.startswith(("dim", "names_dim")):
            self.orders = True
            self.of_equals &= name in _ANY_ORDER and not (overload == "stable" and _is_stable(args, kwargs))
        tensors = [each for each in tree_leaves((args, kwargs or {})) if isinstance(each, torch.Tensor)]
        if used := {self._origins[id(each)][1] for each in tensors if id(each) in self._origins}:
            self._follow(name.removesuffix("_"), used, tensors, found)
        return found

    def _follow(self, name, used, tensors, found):
        if name in _SIDES:
            self._with_sides |= used
        elif name in _SAME and len(tensors) == 1:
            self._origins[id(found)] = found, min(used)
        elif name not in _OF_SHAPE_ALONE and name not in _SELECTS:
            self._others |= used


def _is_stable(args, kwargs):
    return bool((kwargs or {}).get("stable", args[1] if len(args) > 1 and isinstance(args[1], bool) else False))
