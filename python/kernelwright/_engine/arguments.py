"""Maps arguments to the parameters of a candidate's wrapper, by pure functions of its signature.

Inputs come first, by position, or by name where the wrapper has a parameter for each. Weights follow, by name
where they are recognised and in module order otherwise. A parameter with a default keeps it, unless its name is a
weight's. No argument is invented: a parameter without one raises the candidate's own TypeError.
"""
import inspect
from dataclasses import dataclass

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class Source:
    """Where an argument comes from: input number `key`, or the weight called `key`."""

    kind: str
    key: int | str

    def __str__(self):
        return f"{self.kind}:{self.key}"


@dataclass
class Plan:
    """How each parameter is filled; `rest` is passed as *args."""

    filled: dict
    rest: list
    by_name: bool = False
    in_order: bool = False

    @property
    def weights(self):
        """How weights were matched, as an enumerator of the wire."""
        return "in order" if self.in_order else "by name" if self.by_name else "none"

    def lines(self):
        """"x=input:0", one for each parameter."""
        return [f"{name}={source}" for name, source in self.filled.items()] + [f"*={each}" for each in self.rest]


def normal(name):
    """A parameter's or weight's name in a form in which fc1_weight and fc1.weight are equal."""
    return name.replace(".", "_").lower().lstrip("_")


def fill(signature, inputs, input_names, weights, positional_weights, never=()):
    """The Plan for `inputs` inputs and these weights; parameters named in `never` get no weight in order."""
    parameters = list(signature.parameters.values())
    plan = Plan({}, [])
    _fill_inputs(plan, parameters, inputs, list(input_names)[:inputs], weights)
    _fill_by_name(plan, parameters, weights)
    _fill_in_order(plan, parameters, positional_weights, never)
    _fill_rest(plan, parameters, inputs, positional_weights)
    order = {each.name: at for at, each in enumerate(parameters)}
    plan.filled = dict(sorted(plan.filled.items(), key=lambda item: order[item[0]]))
    return plan


def bound(signature, plan, value):
    """(args, kwargs) of the call; `value(Source)` gives each argument."""
    args, kwargs, gap = [], {}, False
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            args += [] if gap else [value(each) for each in plan.rest]
        elif parameter.name not in plan.filled:
            gap = gap or parameter.kind in POSITIONAL
        elif parameter.kind in POSITIONAL and not gap:
            args.append(value(plan.filled[parameter.name]))
        elif parameter.kind in NAMED:
            kwargs[parameter.name] = value(plan.filled[parameter.name])
    return args, kwargs


def _required(parameter):
    return parameter.default is inspect.Parameter.empty


def _fill_inputs(plan, parameters, count, names, weights):
    named = {each.name for each in parameters if each.kind in NAMED}
    if len(names) == count and count and named.issuperset(names):
        plan.filled.update({name: Source("input", at) for at, name in enumerate(names)})
        return
    positional = [each for each in parameters if each.kind in POSITIONAL]
    taken = {normal(each) for each in weights}
    # A parameter that is clearly a weight takes no input, as long as the other parameters take all inputs.
    free = [each for each in positional if _required(each) and normal(each.name) not in taken]
    chosen = free if len(free) >= count else positional
    plan.filled.update({each.name: Source("input", at) for at, each in enumerate(chosen[:count])})


def _fill_by_name(plan, parameters, weights):
    used = set()
    exact = {normal(name): name for name in reversed(weights)}
    for parameter in _open(plan, parameters):
        name = exact.get(normal(parameter.name))
        if name is not None and name not in used:
            _give(plan, parameter, name, used)
    for parameter in _open(plan, parameters):
        ending = "_" + normal(parameter.name)
        found = [name for name in weights if normal(name).endswith(ending)]
        if _required(parameter) and len(found) == 1 and found[0] not in used:
            _give(plan, parameter, found[0], used)


def _give(plan, parameter, name, used):
    plan.filled[parameter.name] = Source("weight", name)
    plan.by_name = True
    used.add(name)


def _fill_in_order(plan, parameters, weights, never):
    left = _unused(plan, weights)
    for parameter in _open(plan, parameters):
        if left and parameter.kind in POSITIONAL and _required(parameter) and parameter.name not in never:
            plan.filled[parameter.name] = Source("weight", left.pop(0))
            plan.in_order = True


def _fill_rest(plan, parameters, inputs, weights):
    if not any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return
    used = {source.key for source in plan.filled.values() if source.kind == "input"}
    left = _unused(plan, weights)
    plan.rest = [Source("input", at) for at in range(inputs) if at not in used]
    plan.rest += [Source("weight", name) for name in left]
    plan.in_order = plan.in_order or bool(left)


def _open(plan, parameters):
    return [each for each in parameters if each.kind in (*POSITIONAL, *NAMED) and each.name not in plan.filled]


def _unused(plan, weights):
    used = {source.key for source in plan.filled.values() if source.kind == "weight"}
    return [each for each in weights if each not in used]
