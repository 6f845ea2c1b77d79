"""Services of the data tools: the clock, and the operator's rules."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.clock import Clock, SystemClock
from app.toolkit.context import ToolContext
from app.toolkit.services import Services

CLOCK = "clock"
CALCULATOR_RULES = "calculator_rules"


@dataclass(frozen=True, slots=True)
class CalculatorRules:
    """Service `CALCULATOR_RULES`: whether functions such as `sqrt` may be called."""

    functions: bool = False


def clock_of(ctx: ToolContext) -> Clock:
    """Return the service's clock, or the system's if a call runs without the service."""
    clock: Clock = ctx.services.get(CLOCK) or SystemClock()
    return clock


def calculator_rules(services: Services) -> CalculatorRules:
    """Return the operator's calculator rules; by default, only operators are allowed."""
    rules = services.get(CALCULATOR_RULES)
    return rules if isinstance(rules, CalculatorRules) else CalculatorRules()
