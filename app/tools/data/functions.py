"""The functions and constants an operator may allow in expressions; each is quick and bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

_MAX_DIGITS = 300
_MANY = 1000


@dataclass(frozen=True, slots=True)
class Function:
    """`call` takes `least` to `most` numbers; it may raise ValueError and OverflowError."""

    call: Callable[..., Any]
    least: int = 1
    most: int = 1


def _round(number: float, digits: int = 0) -> float:
    if not isinstance(digits, int) or abs(digits) > _MAX_DIGITS:
        raise ValueError(f"round takes {-_MAX_DIGITS} to {_MAX_DIGITS} whole digits")
    return round(number, digits) if digits else round(number)


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "abs": Function(abs),
        "round": Function(_round, 1, 2),
        "floor": Function(math.floor),
        "ceil": Function(math.ceil),
        "trunc": Function(math.trunc),
        "min": Function(min, 2, _MANY),
        "max": Function(max, 2, _MANY),
        "sqrt": Function(math.sqrt),
        "exp": Function(math.exp),
        "log": Function(math.log, 1, 2),
        "log2": Function(math.log2),
        "log10": Function(math.log10),
        "sin": Function(math.sin),
        "cos": Function(math.cos),
        "tan": Function(math.tan),
        "asin": Function(math.asin),
        "acos": Function(math.acos),
        "atan": Function(math.atan),
        "atan2": Function(math.atan2, 2, 2),
        "hypot": Function(math.hypot, 2, _MANY),
        "degrees": Function(math.degrees),
        "radians": Function(math.radians),
    }
)
CONSTANTS: Mapping[str, float] = MappingProxyType({"pi": math.pi, "e": math.e, "tau": math.tau})
