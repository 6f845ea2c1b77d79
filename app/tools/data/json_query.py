"""JMESPath over a value, with a limit on the work of one expression.

An expression of a few hundred characters can double a list at every step. The size of each step's
output is therefore measured in its written form, and the total is limited.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jmespath.exceptions import JMESPathError  # type: ignore[import-untyped]
from jmespath.functions import Functions  # type: ignore[import-untyped]
from jmespath.parser import Parser  # type: ignore[import-untyped]
from jmespath.visitor import Options, TreeInterpreter  # type: ignore[import-untyped]

from app.core.errors import ToolFailed
from app.tools.data.json_text import MAX_DEPTH, depth_of

_MAX_WORK = 3_000_000
_CHARS_PER_STEP = 16
_BITS_PER_STEP = 53
# These create a value; all others pass on an existing one.
_MAKERS = frozenset(
    {
        "filter_projection",
        "flatten",
        "multi_select_dict",
        "multi_select_list",
        "projection",
        "slice",
        "value_projection",
    }
)
_TAKE_EXPRESSIONS = frozenset({"map", "max_by", "min_by", "sort_by"})


def query(value: Any, expression: str) -> Any:
    """Evaluate `expression` on `value`; None for no result.

    Raises:
        ToolFailed: `bad_expression`, or `query_too_costly`.
    """
    budget = _StepBudget()
    try:
        parsed = Parser().parse(expression).parsed
        _check_references(parsed)
        found = _Interpreter(budget).visit(parsed, value)
    except JMESPathError as error:
        reason = " ".join(str(error).split())[:300]
        raise ToolFailed(f"JMESPath error: {reason}", code="bad_expression") from None
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        # Some functions of the library receive values they do not expect.
        raise ToolFailed(
            f"JMESPath error: {str(error)[:200] or 'wrong argument'}", code="bad_expression"
        ) from None
    except RecursionError:
        raise ToolFailed("JMESPath error: nested too deeply", code="bad_expression") from None
    budget.measure(found)
    if _has_infinite(found):
        raise ToolFailed("JMESPath error: a number is too large, or invalid", code="bad_expression")
    if depth_of(found) > MAX_DEPTH:
        raise ToolFailed("JMESPath error: the result is nested too deeply", code="query_too_costly")
    return found


def _check_references(parsed: dict[str, Any]) -> None:
    """Refuse `&…` where the library would return it as a value, because it is not JSON."""
    waiting = [{"type": "query", "children": [parsed]}]
    while waiting:
        node = waiting.pop()
        takes = node["type"] == "function_expression" and node["value"] in _TAKE_EXPRESSIONS
        children = [child for child in node["children"] if isinstance(child, dict)]
        if not takes and any(child["type"] == "expref" for child in children):
            named = ", ".join(sorted(_TAKE_EXPRESSIONS))
            raise ToolFailed(
                f"JMESPath error: &expression is only valid as an argument of {named}",
                code="bad_expression",
            )
        waiting += children


def _has_infinite(value: Any) -> bool:
    """Return whether sums or `to_number` created numbers that JSON does not have."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, float) and not math.isfinite(item):
            return True
        if isinstance(item, dict | list):
            waiting.extend(item.values() if isinstance(item, dict) else item)
    return False


class _StepBudget:
    def __init__(self) -> None:
        self._left = _MAX_WORK

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise ToolFailed(
                "The query needs too many steps on this value: make it more selective",
                code="query_too_costly",
            )

    def measure(self, value: Any) -> None:
        """Spend the size of `value`; repeated parts count repeatedly."""
        waiting = [value]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                self.spend(1 + len(item) // _CHARS_PER_STEP)
            elif isinstance(item, dict):
                self.spend(1 + len(item) + sum(map(len, item)) // _CHARS_PER_STEP)
                waiting.extend(item.values())
            elif isinstance(item, list):
                self.spend(1 + len(item))
                waiting.extend(item)
            elif isinstance(item, int):
                self.spend(1 + item.bit_length() // _BITS_PER_STEP)
            else:
                self.spend(1)


class _Functions(Functions):  # type: ignore[misc]
    """Functions of the language; inputs and outputs are measured."""

    def __init__(self, budget: _StepBudget) -> None:
        self._budget = budget

    def call_function(self, function_name: str, resolved_args: Sequence[Any]) -> Any:
        for argument in resolved_args:
            self._budget.measure(argument)
        if function_name == "join":
            self._measure_join(resolved_args)
        made = super().call_function(function_name, resolved_args)
        self._budget.measure(made)
        return made

    def _measure_join(self, arguments: Sequence[Any]) -> None:
        """Measure joins: a long separator between many short texts is the only way to amplify."""
        between, *rest = arguments or [""]
        many = len(rest[0]) if rest and isinstance(rest[0], list) else 0
        if isinstance(between, str):
            self._budget.spend(len(between) * many // _CHARS_PER_STEP)


class _Interpreter(TreeInterpreter):  # type: ignore[misc]
    def __init__(self, budget: _StepBudget) -> None:
        super().__init__(Options(custom_functions=_Functions(budget)))
        self._budget = budget

    def visit(self, node: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        self._budget.spend(1)
        made = super().visit(node, *args, **kwargs)
        if node["type"] in _MAKERS:
            self._budget.measure(made)
        return made

    def visit_comparator(self, node: dict[str, Any], value: Any) -> Any:
        sides = [self.visit(side, value) for side in node["children"]]
        for side in sides:
            self._budget.measure(side)
        literals = [{"type": "literal", "value": side, "children": []} for side in sides]
        return super().visit_comparator({**node, "children": literals}, value)
