"""The generated message classes, and helpers for all of them.

They are found on the module path or in the build tree beside this package.
"""
import importlib
import importlib.util
import sys

from .installed import WIRE


def _find():
    if importlib.util.find_spec("kw") is None:
        sys.path.append(str(WIRE))


_find()

from kw.wire.Backward import Backward  # noqa: E402
from kw.wire.Body import Body  # noqa: E402
from kw.wire.Effect import Effect  # noqa: E402
from kw.wire.Mode import Mode  # noqa: E402
from kw.wire.ValueKind import ValueKind  # noqa: E402
from kw.wire.Weights import Weights  # noqa: E402

BODIES = tuple(name for name in vars(Body) if not name.startswith("_") and name != "NONE")


def _classes():
    return {f"{name}T": getattr(importlib.import_module(f"kw.wire.{name}"), f"{name}T")
            for name in (*BODIES, "Packet", "CallSpec", "Value", "Tensor", "NamedTensor", "Launch",
                         "Mismatch", "OutputErrors", "Tolerance", "ValueSummary", "CertifiedInput", "CertifiedOutput",
                         "Gradient")}


globals().update(_classes())


def made(message_class, /, **fields):
    """An object of a message class with these fields set, named as in the schema; None leaves the default."""
    message = message_class()
    for name, value in fields.items():
        attribute = _attribute(name)
        if not hasattr(message, attribute):
            raise AttributeError(f"{message_class.__name__} has no field {name}")
        if value is not None:
            setattr(message, attribute, value)
    return message


def _attribute(name):
    # The generated objects call init_args initArgs.
    first, *rest = name.split("_")
    return first + "".join(each[:1].upper() + each[1:] for each in rest)


def text(field):
    """A string field as str: unpacked ones are bytes, missing ones None."""
    return "" if field is None else field.decode("utf-8", "replace") if isinstance(field, bytes) else field


def texts(field):
    """A vector of strings as a list of str."""
    return [] if field is None else [text(each) for each in field]


def numbers(field):
    """A vector of integers as a list: unpacked ones are numpy arrays, missing ones None."""
    return [] if field is None else [int(each) for each in field]


def to_bytes(message):
    """One message as a buffer of its own, such as a CallSpec in its memory file."""
    import flatbuffers
    builder = flatbuffers.Builder(1024)
    builder.Finish(message.Pack(builder))
    return bytes(builder.Output())


def from_bytes(name, data):
    """The inverse of to_bytes: the object of message class `name` (without the T) in this buffer."""
    module = importlib.import_module(f"kw.wire.{name}")
    table = getattr(module, name).GetRootAs(data, 0)
    return getattr(module, f"{name}T").InitFromObj(table)
