"""Loads a reference's source as a module, and finds the reference in it."""
import importlib.util
import inspect
import itertools
import os
import shutil
import sys
import tempfile

import torch

from .faults import TaskFault, blame
from .shapes import parse_shapes

_numbers = itertools.count(1)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def load(source, entry_point="", input_shapes=""):
    """The task in `source`: a FunctionTask where there are input shapes, else a ModuleTask."""
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

    def close(self):
        """Remove the module and its file."""
        sys.modules.pop(self.name, None)
        shutil.rmtree(self._folder, ignore_errors=True)


def _recognise(code, entry_point, input_shapes):
    if input_shapes and input_shapes.strip():
        return FunctionTask(code, entry_point or "reference_impl", input_shapes)
    if entry_point:
        found = code.get(entry_point)
        if found is None:
            known = ", ".join(code.modules()) or "none"
            raise TaskFault(f"the reference defines no {entry_point!r}: modules defined there: {known}. "
                            "Name one of them as the entry point")
        if not (isinstance(found, type) and issubclass(found, torch.nn.Module)):
            raise TaskFault(f"the entry point {entry_point!r} is no nn.Module; a function needs input shapes as well")
        return ModuleTask(code, entry_point)
    model = code.get("Model")
    if isinstance(model, type) and issubclass(model, torch.nn.Module):
        return ModuleTask(code, "Model")
    if code.modules():
        return ModuleTask(code, code.modules()[-1])
    if code.get("reference_impl") is not None:
        return _function_with_inputs(code)
    raise TaskFault("the reference defines no nn.Module and no reference_impl: add a class Model(nn.Module) "
                    "with get_inputs(), or a function reference_impl with input shapes")


def _function_with_inputs(code):
    if not callable(code.get("get_inputs")):
        raise TaskFault('the reference is a function, reference_impl, but no input shapes were given: add a function '
                        'get_inputs(), or shapes as JSON, such as {"x": {"shape": [128, 64], "dtype": "float32"}}')
    return DrawnFunctionTask(code, "reference_impl")


def parameter_names(function):
    """The names of a callable's positional parameters; none where it has no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in parameters if each.kind in _POSITIONAL]


class FunctionTask:
    """A function with the shapes of its arguments."""

    def __init__(self, code, entry_point, input_shapes):
        self.code, self.entry_point = code, entry_point
        function = code.get(entry_point)
        if function is None:
            raise TaskFault(f"input shapes were given, but the reference defines no {entry_point!r}: "
                            f"define it, or name the function as the entry point")
        if isinstance(function, type) or not callable(function):
            raise TaskFault(f"input shapes were given, but {entry_point!r} is no function: leave the shapes out "
                            "where the reference is a module with get_inputs()")
        self.function, self.input_names = function, parameter_names(function)
        self.shapes = parse_shapes(input_shapes, function)

    def construct(self):
        """The object that is called with the inputs."""
        return self.function

    def init_arguments(self):
        """Empty: a function is not constructed."""
        return [], {}

    def close(self):
        """Remove the source."""
        self.code.close()


class DrawsInputs:
    """A task whose source has get_inputs."""

    shapes = None

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

    def close(self):
        """Remove the source."""
        self.code.close()


class DrawnFunctionTask(DrawsInputs):
    """A function whose arguments get_inputs makes."""

    def __init__(self, code, entry_point):
        self.code, self.entry_point = code, entry_point
        self.function = code.get(entry_point)
        self.input_names = parameter_names(self.function)

    def construct(self):
        """The object that is called with the inputs."""
        return self.function

    def init_arguments(self):
        """Empty: a function is not constructed."""
        return [], {}


class ModuleTask(DrawsInputs):
    """An nn.Module with get_inputs and, perhaps, get_init_inputs."""

    def __init__(self, code, entry_point):
        self.code, self.entry_point = code, entry_point
        self.kind = code.get(entry_point)
        self.input_names = parameter_names(self.kind.forward)[1:]
        if not callable(code.get("get_inputs")):
            raise TaskFault("the reference has no get_inputs(): add a function get_inputs() that returns the list of "
                            f"arguments of {entry_point}.forward")

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
