"""The scope of candidate code: CUDA devices are mapped to the CPU, and fresh memory is poisoned."""
import contextlib

from . import candidate_mode, cuda_words


@contextlib.contextmanager
def candidate_scope():
    """The context of a candidate's import, constructor or call; outside it torch is unchanged."""
    if candidate_mode.is_entered():
        yield
        return
    restore = cuda_words.apply()
    leave = candidate_mode.enter()
    try:
        yield
    finally:
        leave()
        restore()
