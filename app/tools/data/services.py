"""The seeds' service for arithmetic, apart from the tool."""

from __future__ import annotations

from app.tools.data.arithmetic import Number, evaluate


class CalculatorService:
    """Computes expressions."""

    def __init__(self, *, functions: bool = False) -> None:
        """Bind it.

        Args:
            functions: whether expressions may call functions, as the operator sets it.
        """
        self._functions = functions

    def calculate(self, expression: str) -> Number:
        """The value of `expression`.

        Raises:
            ToolFailed: as `evaluate`.
        """
        return evaluate(expression, functions=self._functions)
