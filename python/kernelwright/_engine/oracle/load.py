"""Loads a reference's source as a module, and finds the reference in it."""
import importlib.util
import inspect
import itertools
import os
import shutil
import sys
import tempfile
import types

import torch

from .faults import TaskFault, blame
from .shapes import parse_shapes

_numbers = itertools.count(1)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def load(source, entry_point="", input_shapes=""):
    """The task in `source`: a FunctionTask or ShapedModuleTask where there are input shapes, else one that draws inputs."""
    code = Source(source)
    try:
        return _recognise(code, entry_point, input_shapes)
    except BaseException:
        code.close()
        raise


class Source:
    """A module executed from a real file, so that inspect and torch.jit find its text."""

    def __init__(self, text):
        self.text = text
        self._folder = tempfile.mkdtemp(prefix="reference-")
        self.file = os.path.join(self._folder, "reference.py")
        self.name = f"kernelwright_reference_{next(_numbers)}"
        with open(self.file, "w", encoding="utf-8") as out:
            out.write(text)
        try:
            self.module = self._execute()
        except BaseException:
            self.close()
            raise

    def _execute(self):
        spec = importlib.util.spec_from_file_location(self.name, self.file)
        module = importlib.util.module_from_spec(spec)
        # Data classes and torch.jit look their module up during its execution and later.
        sys.modules[self.name] = module
        writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            with blame("the reference does not import", self.file):
                spec.loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = writes
        return module

    def get(self, name):
        """The module's value of this name, or None."""
        return vars(self.module).get(name)

    def modules(self):
        """The names of the nn.Module subclasses that the source itself defines, in order."""
        return [name for name, value in vars(self.module).items()
                if isinstance(value, type) and issubclass(value, torch.nn.Module) and value.__module__ == self.name]

    def functions(self):
        """The names of the public functions that the source itself defines, in order, without those of the inputs."""
        return [name for name, value in vars(self.module).items()
                if inspect.isfunction(value) and value.__module__ == self.name
                and not name.startswith("_") and name not in ("get_inputs", "get_init_inputs")]

    def defined(self):
        """"`softmax`, `Net`": what can be the reference, in words."""
        return ", ".join(f"`{name}`" for name in (*self.functions(), *self.modules())) or "no function and no nn.Module"

    def close(self):
        """Remove the module and its file."""
        sys.modules.pop(self.name, None)
        shutil.rmtree(self._folder, ignore_errors=True)


def _recognise(code, entry_point, input_shapes):
    if input_shapes and input_shapes.strip():
        return _shaped(code, entry_point or "reference_impl", input_shapes)
    if entry_point:
        return _named(code, entry_point)
    if _is_module(code.get("Model")):
        return ModuleTask(code, "Model")
    if code.modules():
        return ModuleTask(code, code.modules()[-1])
    if code.get("reference_impl") is not None:
        return _function_with_inputs(code, "reference_impl")
    raise TaskFault("the reference defines no nn.Module and no reference_impl: add a class Model(nn.Module) "
                    "with get_inputs(), or a function reference_impl with input shapes; or name the entry point. "
                    f"It defines {code.defined()}")


def _is_module(value):
    return isinstance(value, type) and issubclass(value, torch.nn.Module)


def _shaped(code, entry_point, input_shapes):
    found = code.get(entry_point)
    if found is None:
        raise TaskFault(f"input shapes were given, but the reference defines no {entry_point!r}: "
                        f"define it, or name the entry point. The reference defines {code.defined()}")
    if _is_module(found):
        return ShapedModuleTask(code, entry_point, input_shapes)
    if isinstance(found, type) or not callable(found):
        raise TaskFault(f"input shapes were given, but {entry_point!r} is no function and no nn.Module: name one of them. "
                        f"The reference defines {code.defined()}")
    return FunctionTask(code, entry_point, input_shapes)


def _named(code, entry_point):
    found = code.get(entry_point)
    if found is None:
        raise TaskFault(f"the reference defines no {entry_point!r}: name another entry point. "
                        f"The reference defines {code.defined()}")
    if _is_module(found):
        return ModuleTask(code, entry_point)
    if isinstance(found, type) or not callable(found):
        raise TaskFault(f"the entry point {entry_point!r} is no nn.Module and no function: name one of them. "
                        f"The reference defines {code.defined()}")
    return _function_with_inputs(code, entry_point)


def _function_with_inputs(code, entry_point):
    if not callable(code.get("get_inputs")):
        raise TaskFault(f'the reference is a function, {entry_point}, but no input shapes were given: add a function '
                        'get_inputs(), or shapes as JSON, such as {"x": {"shape": [128, 64], "dtype": "float32"}}')
    return DrawnFunctionTask(code, entry_point)


def parameter_names(function):
    """The names of a callable's positional parameters; none where it has no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in parameters if each.kind in _POSITIONAL]


class Task:
    """A reference and its source."""

    shapes = None

    def __init__(self, code, entry_point):
        self.code, self.entry_point = code, entry_point

    def init_arguments(self):
        """Empty: a function is not constructed."""
        return [], {}

    def close(self):
        """Remove the source."""
        self.code.close()


class FunctionTask(Task):
    """A function with the shapes of its arguments."""

    def __init__(self, code, entry_point, input_shapes):
        super().__init__(code, entry_point)
        self.function = code.get(entry_point)
        self.input_names = parameter_names(self.function)
        self.shapes = parse_shapes(input_shapes, self.function)

    def construct(self):
        """The object that is called with the inputs."""
        return self.function


class DrawsInputs(Task):
    """A task whose source has get_inputs."""

    def inputs(self):
        """One fresh set of arguments, as a list."""
        with blame("get_inputs() raised", self.code.file):
            found = self.code.get("get_inputs")()
        if isinstance(found, torch.Tensor):
            return [found]
        if isinstance(found, dict) and list(found) == self.input_names[:len(found)]:
            return list(found.values())
        if not isinstance(found, (list, tuple)):
            raise TaskFault(f"get_inputs() returned a {type(found).__name__}: let it return the list of arguments of "
                            f"{self.entry_point}")
        return list(found)


class DrawnFunctionTask(DrawsInputs):
    """A function whose arguments get_inputs makes."""

    def __init__(self, code, entry_point):
        super().__init__(code, entry_point)
        self.function = code.get(entry_point)
        self.input_names = parameter_names(self.function)

    def construct(self):
        """The object that is called with the inputs."""
        return self.function


class ConstructedTask(Task):
    """An nn.Module with, perhaps, get_init_inputs."""

    def __init__(self, code, entry_point):
        super().__init__(code, entry_point)
        self.kind = code.get(entry_point)
        self.input_names = parameter_names(self.kind.forward)[1:]

    def init_arguments(self):
        """(args, kwargs) of the constructor. get_init_inputs may be missing, or return arguments, or a pair."""
        maker = self.code.get("get_init_inputs")
        if maker is None:
            return [], {}
        with blame("get_init_inputs() raised", self.code.file):
            return split_arguments(maker())

    def construct(self):
        """A new instance, on the device that is current for new tensors."""
        args, kwargs = self.init_arguments()
        with blame(f"the constructor of {self.entry_point} raised", self.code.file):
            return self.kind(*args, **kwargs)


class ModuleTask(ConstructedTask, DrawsInputs):
    """An nn.Module whose arguments get_inputs makes."""

    def __init__(self, code, entry_point):
        super().__init__(code, entry_point)
        if not callable(code.get("get_inputs")):
            raise TaskFault("the reference has no get_inputs(): add a function get_inputs() that returns the list of "
                            f"arguments of {entry_point}.forward, or give input shapes")


class ShapedModuleTask(ConstructedTask):
    """An nn.Module with the shapes of its arguments."""

    def __init__(self, code, entry_point, input_shapes):
        super().__init__(code, entry_point)
        self.shapes = parse_shapes(input_shapes, types.MethodType(self.kind.forward, self.kind))


def split_arguments(found):
    """(args, kwargs) of [], [args...], [[args], {kwargs}], their tuples, {kwargs} or one value."""
    if found is None:
        return [], {}
    if isinstance(found, dict):
        return [], dict(found)
    if not isinstance(found, (list, tuple)):
        return [found], {}
    if len(found) == 2 and isinstance(found[0], (list, tuple)) and isinstance(found[1], dict) \
            and all(isinstance(key, str) for key in found[1]):
        return list(found[0]), dict(found[1])
    return list(found), {}
