"""The order in which a plan's guesses are tried, and the limit on their number."""
from dataclasses import dataclass

import torch

MOST_ATTEMPTS = 28
MOST_CONFIGS = 64
MOST_FLAGS = 6
TENSORS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "i64": torch.int64,
           "u8": torch.uint8, "i8": torch.int8, "i1": torch.bool, "fp64": torch.float64}
SAMPLE_INT, SAMPLE_FLOAT = 1024, 1.0

# Levels by group; an unnamed group stays at its first choice. "only": exactly one flag is raised.
ORDER = (
    {}, {"float": 1}, {"size": 1}, {"flag": 1}, {"float": 2}, {"index": 1}, {"scalar": 1}, {"size": 2}, {"number": 1},
    {"type": 1}, {"float": 1, "size": 1}, {"float": 1, "flag": 1}, {"size": 1, "flag": 1}, {"size": 3}, {"string": 1},
    {"only": 0}, {"only": 1}, {"only": 2}, {"only": 3}, {"float": 3}, {"size": 4}, {"index": 2}, {"scalar": 2},
    {"float": 1, "type": 1}, {"number": 2}, {"float": 1, "size": 2}, {"size": 2, "flag": 1}, {"string": 2},
    {"float": 1, "index": 1}, {"only": 4}, {"only": 5}, {"number": 3}, {"float": 2, "index": 1}, {"float": 2, "size": 1},
)


@dataclass
class Attempt:
    """Choices by parameter, compiler options, and whether any of them is a guess."""

    choices: dict
    options: dict
    guessed: bool


def attempts(plan):
    """The attempts of a plan, without duplicates."""
    seen = set()
    configs = plan.configs[:MOST_CONFIGS] or [({}, {})]
    for levels in ORDER:
        attempt = _attempt(plan, levels, configs[0])
        if (key := _key(attempt)) not in seen:
            seen.add(key)
            yield attempt
    for config in configs[1:]:
        attempt = _attempt(plan, {}, config)
        if (key := _key(attempt)) not in seen:
            seen.add(key)
            yield attempt


def bounded(plan):
    """A limited number of attempts; all of them where nothing is guessed, because each then counts."""
    for count, attempt in enumerate(attempts(plan)):
        if attempt.guessed and count >= MOST_ATTEMPTS:
            return
        yield attempt


def _key(attempt):
    return repr([(name, each.what) for name, each in attempt.choices.items()]) + repr(sorted(attempt.options.items()))


def _attempt(plan, levels, config):
    from .signature import Choice
    values, options = config
    choices, flags = {}, 0
    for name, slot in plan.slots.items():
        level = levels.get(slot.group, 0)
        if slot.group == "flag":
            if "only" in levels:
                level = int(levels["only"] == flags)
            flags += len(slot.choices) > 1
        choices[name] = slot.choices[min(level, len(slot.choices) - 1)]
    for name, value in values.items():
        choices[name] = Choice(value, True, True)
    for name, function in plan.computed.items():
        value = _computed(function, choices)
        if value is not None:
            choices[name] = Choice(value, True, False)
    guessed = not plan.launched or not plan.certain_options or not all(each.certain for each in choices.values())
    return Attempt(choices, {**plan.options, **options}, guessed)


def _computed(function, choices):
    try:
        value = function({name: _sample(each) for name, each in choices.items()})
    except Exception:
        return None
    return value if isinstance(value, (bool, int, float, str)) else None


def _sample(choice):
    """A typical value of a launch."""
    if choice.is_value:
        return choice.what
    if choice.what.startswith("*"):
        return torch.empty(16, dtype=TENSORS.get(choice.what[1:], torch.float32))
    return SAMPLE_FLOAT if choice.what.startswith(("fp", "bf")) else choice.what == "i1" or SAMPLE_INT
