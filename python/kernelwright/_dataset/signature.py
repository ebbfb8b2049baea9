"""Infers the types and values with which a kernel is compiled: certain ones from its source, guesses for the rest."""
import ast
import re
from dataclasses import dataclass, field

import triton.language as tl

from .caller import UNKNOWN, Caller, of_value, word
from .kernel_module import name_of

OPTIONS = frozenset(("num_warps", "num_stages", "num_ctas", "maxnreg"))
NOT_OPTIONS = frozenset(("grid", "stream", "warmup", "device"))
SIZES, SMALL = (64, 32, 16, 128, 1024), (1, 2, 4, 8)
FEW_SIZES = (16, 32, 64, 128)  # blocks of three dimensions grow fast
LONG_SIZES = (1024, 128, 64, 16)
FLOAT_POINTERS = ("*fp32", "*fp16", "*i32", "*i64", "*u8")
INT_POINTERS = ("*i64", "*i32", "*fp32", "*fp16", "*i1")
FLOATS = re.compile(r"eps|scale|alpha|beta|gamma|momentum|lr$|^lr|rate|decay|prob|^p$|dropout_p|soft_?cap|slope|value|"
                    r"threshold|smoothing|weight|lambda|sigma|temp|float|factor|^min|^max|lower|upper|low$|high$",
                    re.IGNORECASE)
INTEGERS = re.compile(r"seed|stride|num|^n_|size|len|offset|idx|index|count|dim|^[a-z]$|^[A-Z]{1,2}$|cols|rows|pad")
INDICES = re.compile(r"idx|ind(?:ex|ices)|cu_|offs|len|ids?(?:_|$)|label|target|map|table|mask|count|slot|perm|sorted|"
                     r"bounds|num_|block_tables|lock|argm|tokens|chunk_|position|starts?(?:_|$)|ends?(?:_|$)", re.IGNORECASE)
SMALL_NAMES = re.compile(r"num|group|stage|split|factor|repeat|dim$|axis|tile_n|unroll|level|order|step", re.IGNORECASE)
TYPES = ("float32", "float16", "bfloat16", "int32")


@dataclass(frozen=True)
class Choice:
    """A type such as *fp32 or i32, or a value where `is_value`."""

    what: object
    is_value: bool = False
    certain: bool = False


@dataclass
class Slot:
    """The choices for one parameter, the likeliest first; slots of a group change together."""

    group: str
    choices: list


@dataclass
class Plan:
    """One launch's slots by parameter, the tuner's configurations, computed constants, and compiler options."""

    slots: dict
    configs: list = field(default_factory=list)  # (values by name, options)
    computed: dict = field(default_factory=dict)  # of heuristics: functions of the arguments
    options: dict = field(default_factory=dict)
    launched: bool = False
    certain_options: bool = True


def certain_value(value):
    """A constant that the source states."""
    return Slot("fixed", [Choice(value, True, True)])


def certain_type(kind):
    """A type that the source states."""
    return Slot("fixed", [Choice(kind, False, True)])


def guesses(group, whats, is_value):
    """The guesses for a parameter that no source states."""
    return Slot(group, [Choice(each, is_value) for each in dict.fromkeys(whats)])


def arguments_of(launch, names):
    """(argument texts by parameter, options' texts, whether the source shows all of them)."""
    given, options, whole, position = {}, {}, True, 0
    for each in launch.get("arguments", []):
        name, text = each.get("name") or "", each.get("text") or ""
        if text.startswith("*") or name.startswith("*"):
            whole, position = False, position if text.startswith("**") else len(names)
        elif name and name not in names:
            options[name] = text
        elif name:
            given[name] = text
        elif position < len(names):
            given[names[position]] = text
            position += 1
    return given, options, whole


def plan(function, usage, launch, decorators, module):
    """The plan for one launch; without a launch where `launch` is None."""
    constants = module.namespace
    configs = _configs(decorators, module)
    computed = _computed(decorators, module)
    tuned = set().union(*(set(values) for values, _ in configs)) if configs else _tuned_names(decorators)
    caller = Caller((launch or {}).get("caller_text") or "", constants)
    given, option_texts, whole = arguments_of(launch or {}, function.arg_names)
    result = Plan({}, configs, computed, launched=launch is not None and whole)
    for name, text in option_texts.items():
        fact = caller.fact(text)
        if name in OPTIONS and fact.kind == "int" and fact.known:
            result.options[name] = fact.value
        result.certain_options &= name not in OPTIONS or (fact.known and fact.certain)
    for param in function.params:
        fact = caller.fact(given[param.name]) if param.name in given else None
        if param.name in computed or (configs and param.name in tuned):
            continue
        result.slots[param.name] = _slot(param, fact, usage, launch is not None, constants)
    for name in (set(computed) | tuned) & set(function.arg_names):
        if name not in result.slots and (name in computed or not all(name in values for values, _ in configs)):
            param = next(each for each in function.params if each.name == name)
            result.slots[name] = _slot(param, None, usage, False, constants)
    return result


def _slot(param, fact, usage, launched, constants):
    if param.is_constexpr:
        return _constant(param, fact, usage)
    if param.annotation_type:
        return certain_type(param.annotation_type)
    if fact is None and param.has_default:
        fact = of_value(param.default, launched)
    if fact is not None and fact.kind == "none" and fact.certain:
        return certain_value(None)
    return _variable(param, fact or UNKNOWN, usage)


def _variable(param, fact, usage):
    name, annotation = param.name, str(param._param.annotation)
    pointer = name in usage.pointers or fact.kind == "tensor"
    if pointer or (fact.kind == "unknown" and re.search(r"ptr|pointer", name, re.IGNORECASE)):
        if fact.kind == "tensor" and fact.dtype and fact.certain and not fact.optional:
            return certain_type("*" + fact.dtype)
        first = ["*" + fact.dtype] if fact.dtype else []
        kinds = INT_POINTERS if name in usage.index_pointers or INDICES.search(name) else FLOAT_POINTERS
        return guesses("index" if kinds is INT_POINTERS else "float", [*first, *kinds], False)
    if fact.kind in ("int", "float", "bool"):
        kind = {"int": "i32", "float": "fp32", "bool": "i1"}[fact.kind]
        return Slot("fixed", [Choice(kind, False, fact.certain)])
    if "int" in annotation or "float" in annotation:
        return guesses("scalar", ["fp32" if "float" in annotation else "i32"], False)
    if FLOATS.search(name) and not INTEGERS.search(name) and name not in usage.indices:
        return guesses("scalar", ["fp32", "i32", "*fp32"], False)
    return guesses("scalar", ["i32", "fp32", "*fp32"], False)


def _constant(param, fact, usage):
    if fact is None and param.has_default:
        return certain_value(param.default)
    if fact is not None and fact.known and fact.certain:
        value = fact.value
        return certain_value(getattr(tl, _tl_name(value), value) if fact.kind == "dtype" else value)
    fact, name = fact or UNKNOWN, param.name
    known = [each for each in ([fact.value] if fact.known else []) + list(fact.others) if each != "power"]
    if name in usage.numbers and name not in usage.sizes:
        return guesses("number", [*known, *usage.numbers[name], 2], True)
    named_type = name not in usage.strings and fact.kind == "unknown" and re.search(r"dtype|_TYPE$", name, re.IGNORECASE)
    if fact.kind == "dtype" or name in usage.types or named_type:
        return guesses("type", [getattr(tl, each) for each in TYPES], True)
    if name in usage.strings or fact.kind == "str":
        return guesses("string", [*known, *usage.strings.get(name, []), ""], True)
    if fact.kind == "none":
        return guesses("flag", [None, 1], True)
    if fact.kind == "bool" or _is_flag(name, usage):
        return guesses("flag", [*known, False, True], True)
    if fact.kind == "float" or (FLOATS.search(name) and not INTEGERS.search(name.lower()) and name not in usage.sizes):
        return guesses("number", [*known, 1.0, 2], True)
    if name in usage.sizes or "power" in fact.others or re.search(r"block|tile|^B[A-Z]{0,2}$|chunk", name, re.IGNORECASE):
        return guesses("size", [*known, *_sizes(name, usage)], True)
    if SMALL_NAMES.search(name):
        return guesses("number", [*known, *SMALL], True)
    return guesses("size", [*known, *_sizes(name, usage)], True)


def _is_flag(name, usage):
    return (name in usage.flags and name not in usage.sizes) or bool(
        re.match(r"(?:use|has|is|do|with|enable|store|apply|save|even|need|out(?:put)?)_", name, re.IGNORECASE)) or bool(
        re.search(r"causal|reverse|varlen|contiguous|^no_|transpose|inplace|_FLAG", name, re.IGNORECASE))


def _sizes(name, usage):
    if len(usage.sizes) == 1 and not usage.uses_dot:
        return LONG_SIZES
    return SIZES if len(usage.sizes) < 3 else FEW_SIZES


def _tl_name(word_of_dtype):
    from .caller import DTYPES
    names = {"fp8e4nv": "float8e4nv", "fp8e5": "float8e5", "i1": "int1"}
    return names.get(word_of_dtype) or next(
        (name for name, each in DTYPES.items() if each == word_of_dtype and hasattr(tl, name)), "float32")


def _argument(decorator, name):
    if not isinstance(decorator, ast.Call):
        return None
    found = next((each.value for each in decorator.keywords if each.arg == name), None)
    return found if found is not None else decorator.args[0] if decorator.args else None


def _configs(decorators, module):
    found = []
    for decorator in decorators:
        if name_of(decorator) != "autotune":
            continue
        node = _argument(decorator, "configs")
        try:
            for each in list(module.value(node))[:256]:
                options = {key: getattr(each, key, None) for key in OPTIONS}
                values = {key: value for key, value in each.kwargs.items() if key not in OPTIONS}
                found.append((values, {key: value for key, value in options.items() if isinstance(value, int)}))
        except Exception:
            continue
    return found


def _tuned_names(decorators):
    """The parameter names of configurations that cannot be evaluated: the keys in their dict literals."""
    return {key.value for decorator in decorators if name_of(decorator) == "autotune"
            for node in ast.walk(decorator) if isinstance(node, ast.Call) and word(node) == "Config"
            for each in node.args if isinstance(each, ast.Dict)
            for key in each.keys if isinstance(key, ast.Constant)}


def _computed(decorators, module):
    found = {}
    for decorator in decorators:
        if name_of(decorator) == "heuristics":
            try:
                values = module.value(_argument(decorator, "values"))
                found.update({key: value for key, value in values.items() if callable(value)})
            except Exception:
                continue
    return found
