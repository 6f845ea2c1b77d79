"""Functions and constants that an operator may allow in expressions; each is fast and bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

_MAX_DIGITS = 300
_MANY = 1000


@dataclass(frozen=True, slots=True)
class MathFunction:
    """`call` takes `least` to `most` numbers; it may raise ValueError and OverflowError."""

    call: Callable[..., Any]
    least: int = 1
    most: int = 1


def _round(number: float, digits: int = 0) -> float:
    if not isinstance(digits, int) or abs(digits) > _MAX_DIGITS:
        raise ValueError(f"round takes {-_MAX_DIGITS} to {_MAX_DIGITS} whole digits")
    return round(number, digits) if digits else round(number)


FUNCTIONS: Mapping[str, MathFunction] = MappingProxyType(
    {
        "abs": MathFunction(abs),
        "round": MathFunction(_round, 1, 2),
        "floor": MathFunction(math.floor),
        "ceil": MathFunction(math.ceil),
        "trunc": MathFunction(math.trunc),
        "min": MathFunction(min, 2, _MANY),
        "max": MathFunction(max, 2, _MANY),
        "sqrt": MathFunction(math.sqrt),
        "exp": MathFunction(math.exp),
        "log": MathFunction(math.log, 1, 2),
        "log2": MathFunction(math.log2),
        "log10": MathFunction(math.log10),
        "sin": MathFunction(math.sin),
        "cos": MathFunction(math.cos),
        "tan": MathFunction(math.tan),
        "asin": MathFunction(math.asin),
        "acos": MathFunction(math.acos),
        "atan": MathFunction(math.atan),
        "atan2": MathFunction(math.atan2, 2, 2),
        "hypot": MathFunction(math.hypot, 2, _MANY),
        "degrees": MathFunction(math.degrees),
        "radians": MathFunction(math.radians),
    }
)
CONSTANTS: Mapping[str, float] = MappingProxyType({"pi": math.pi, "e": math.e, "tau": math.tau})
