"""The common part of arenas in memory files and in device memory."""
import torch

from .layout import checked, flat


class ArenaBase:
    """Tensors as their TensorT describes them; a subclass provides `bytes` and `_mapping`."""

    size = 0
    device = torch.device("cpu")

    def tensor(self, ref, guarded=False):
        """The tensor that a TensorT describes, at a fresh address between guard pages."""
        return self._made(ref, guarded, dense=False)

    def dense(self, ref):
        """The tensor of an output: its bytes are contiguous, whatever strides the candidate returned."""
        return self._made(ref, False, dense=True)

    def write(self, ref, source):
        """Copy a tensor's bytes to the place that its TensorT names; expanded tensors too."""
        with torch.no_grad():
            flat(self.tensor(ref)).copy_(flat(source.detach()))

    def holds(self, tensor):
        """Whether a tensor's bytes are in this arena's own mapping."""
        return self._mapping.address <= tensor.data_ptr() < self._mapping.address + self._mapping.size

    def _made(self, ref, guarded, dense):
        dtype, shape, stride, offset, size = checked(ref, self.size, dense)
        if size == 0 or 0 in shape:
            return torch.empty_strided(shape, stride, dtype=dtype, device=self.device)
        storage = self.bytes(offset, size, guarded).untyped_storage()
        return torch.empty(0, dtype=dtype, device=self.device).set_(storage, 0, shape, stride)
