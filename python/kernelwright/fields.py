"""Checks the values of a request or a row before they become JSON, so that an error names the place and the field."""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


class BadField(ValueError):
    """A value that no JSON text can hold. `field` is its name."""

    def __init__(self, place: str, field: str, why: str) -> None:
        super().__init__(f"{place}: {field} {why}" if place else f"{field} {why}")
        self.field = field


class NoText(BadField):
    """A text with half a surrogate pair, which neither UTF-8 nor a service accepts."""


def check_fields(fields: Mapping[str, Any], place: str = "") -> None:
    """Raises BadField or TypeError for the first value that is no JSON. `place` is the caller's name of the whole, such as
    "requests[3]"."""
    for name, value in fields.items():
        _check(place, str(name), value)


def _check(place: str, field: str, value: Any) -> None:
    if value is None or isinstance(value, (bool, int)):
        return
    if isinstance(value, str):
        _check_text(place, field, value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise BadField(place, field, f"is {value}, which is no number of JSON")
    elif isinstance(value, dict):
        for key, each in value.items():
            _check(place, f"{field}.{key}", each)
    elif isinstance(value, (list, tuple)):
        for number, each in enumerate(value):
            _check(place, f"{field}[{number}]", each)
    else:
        advice = ": decode it" if isinstance(value, (bytes, bytearray)) else ""
        where = f"{place}: {field}" if place else field
        raise TypeError(f"{where} is of the type {type(value).__name__}, which is no text, number, list or dict{advice}")


def _check_text(place: str, field: str, text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = ascii(text[error.start])
        raise NoText(place, field, f"contains half a surrogate pair, {half}, at character {error.start}") from None
