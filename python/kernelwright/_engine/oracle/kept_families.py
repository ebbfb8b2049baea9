"""Keeps drawn families of a task for its next candidates: the reference's answer and its limits are most of a draw's cost."""
from dataclasses import dataclass

from . import inputs as drawing
from .judge import leaves

USES = 16               # candidates that one draw serves
LIMIT_BYTES = 128 << 20  # of inputs and outputs together


@dataclass
class Drawn:
    """One draw of a family. `inputs` and `answer` are None where it was dropped."""

    description: str = ""
    dropped: str = ""
    inputs: list | None = None
    answer: tuple | None = None  # (outputs of the reference, the Sound of each)
    lasts: bool = True           # another draw would not be dropped for another reason

    def bytes(self):
        """Of its tensors' elements."""
        outputs, limits = self.answer or ([], [])
        tensors = [*drawing.tensors_in(self.inputs or []), *drawing.tensors_in(outputs),
                   *(each.values for each in leaves(limits) if each is not None and each.values is not None)]
        return sum(each.numel() * each.dtype.itemsize for each in tensors)


class KeptFamilies:
    """The draws of one task. A candidate's process must not see their values, since later candidates get them again."""

    def __init__(self):
        self._kept, self._bytes = {}, 0  # family → [Drawn, uses that are left]

    def take(self, family):
        """A kept draw, or None."""
        entry = self._kept.get(family)
        if entry is None:
            return None
        entry[1] -= 1
        if entry[1] == 0:
            self._bytes -= self._kept.pop(family)[0].bytes()
        return entry[0]

    def put(self, family, drawn):
        """Keep a draw that one candidate has used, if there is room."""
        size = drawn.bytes()
        if family not in self._kept and self._bytes + size <= LIMIT_BYTES:
            self._kept[family] = [drawn, USES - 1]
            self._bytes += size
