"""Arithmetic service of the original design, usable without the tool."""

from __future__ import annotations

from app.tools.data.arithmetic import Number, evaluate


class CalculatorService:
    """Evaluates expressions."""

    def __init__(self, *, functions: bool = False) -> None:
        """Create the service.

        Args:
            functions: whether expressions may call functions, as set by the operator.
        """
        self._functions = functions

    def calculate(self, expression: str) -> Number:
        """Return the value of `expression`.

        Raises:
            ToolFailed: see `evaluate`.
        """
        return evaluate(expression, functions=self._functions)
