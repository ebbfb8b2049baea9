"""Records one call of the candidate: the context of the call, and the descriptors of its recording."""
import gc
import os

import torch

from . import backward
from .cuda_arena import unmapping_later
from .guard import Stop
from .layout import describe, span
from .packets import memory_file
from .replies import failed
from .values import TooLarge, to_wire


class Recording:
    """The context in which the candidate is called; the recorder records the work enqueued in it."""

    def __init__(self, recorder, arena, arena_bytes):
        self._recorder, self._arena, self._later = recorder, arena, unmapping_later()
        self._arena_bytes = arena_bytes  # the mapping itself is whole pages

    def __enter__(self):
        # The state is all memory allocated now, so garbage is collected first.
        gc.collect()
        torch.cuda.synchronize()
        stream = torch.cuda.current_stream().cuda_stream
        _worded(self._recorder.begin, self._arena.address, self._arena_bytes, stream)
        self._later.__enter__()
        backward.between_passes = self._recorder.mark
        return self

    def __exit__(self, kind, exc, trace):
        backward.between_passes = backward.unmarked
        try:
            _worded(self._recorder.end)
        except Stop:
            self._recorder.drop()
            if kind is None:
                raise
        else:
            if kind is not None:
                self._recorder.drop()
        finally:
            self._later.__exit__(None, None, None)
        return False

    def written(self, kernels):
        """(descriptors of a Recorded, bytes of the state), once the device is idle; the recorder then drops both."""
        fds = []
        try:
            fds.append(_worded(self._recorder.write))
            fds.append(memory_file("kernels", kernels))
            state, size = _worded(self._recorder.state)
            if state is not None:
                fds.append(state)
            return fds, size if state is not None else 0
        except BaseException:
            for fd in fds:
                os.close(fd)
            raise
        finally:
            self._recorder.drop()


def same_memory(first, second):
    """Whether two arenas map the same memory: a byte written through one is read through the other."""
    if first.size != second.size:
        return False
    last = first.size - 1
    before, kept = first.peek(last), second.peek(last)
    second.poke(last, kept ^ 0xFF)
    same = first.peek(last) != before
    second.poke(last, kept)
    return same


def refusal(reason):
    """The reply where this call cannot be recorded."""
    return failed("record", "unsupported_candidate", reason)


def _worded(ask, *arguments):
    """Turns a recorder's error into a refusal for this candidate, since another candidate may be recordable."""
    try:
        return ask(*arguments)
    except Exception as exc:
        raise Stop(refusal(str(exc) or type(exc).__name__)) from None


def outputs_in_place(value):
    """The ValueT of the returned value, with each tensor's device address and the bytes of its range.

    Both are 0 for a tensor without readable device memory.
    """
    try:
        return to_wire(value, _in_place)
    except TooLarge as exc:
        raise Stop(failed("run", "wrong_structure", f"the result is {exc}")) from None


def _in_place(tensor):
    plain = tensor.device.type == "cuda" and tensor.numel() and not tensor.is_conj() and not tensor.is_neg()
    size = span(tensor.shape, tensor.stride()) * tensor.element_size() if plain else 0
    return describe(tensor, tensor.data_ptr() if plain else 0, size)
