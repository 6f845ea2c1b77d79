"""What the data tools need from the composition root: the time, and an operator's choices."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.clock import Clock, SystemClock
from app.toolkit.context import ToolContext
from app.toolkit.services import Services

CLOCK = "clock"
CALCULATOR_RULES = "calculator_rules"


@dataclass(frozen=True, slots=True)
class CalculatorRules:
    """The service `CALCULATOR_RULES`: whether functions such as `sqrt` may be called."""

    functions: bool = False


def clock_of(ctx: ToolContext) -> Clock:
    """The service's clock; the system's where a call runs without the service."""
    clock: Clock = ctx.services.get(CLOCK) or SystemClock()
    return clock


def calculator_rules(services: Services) -> CalculatorRules:
    """What the operator allows; without a word from him, operators only."""
    rules = services.get(CALCULATOR_RULES)
    return rules if isinstance(rules, CalculatorRules) else CalculatorRules()
