"""`calculator`: evaluates an arithmetic expression."""

from __future__ import annotations

from pydantic import Field

from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import ToolArgs, tool
from app.tools.data.arithmetic import evaluate
from app.tools.data.returns import CALCULATOR_RESULT
from app.tools.data.services import calculator_rules

_EXACT_IN_JSON = 1 << 53


class CalculatorArgs(ToolArgs):
    expression: str = Field(
        min_length=1, max_length=1000, description="Such as (2 + 3) * 4; powers are written **."
    )


@tool(
    category="data",
    toolset="data",
    cacheable=True,
    tags=("math",),
    argument_aliases={"expr": "expression", "formula": "expression"},
    return_schema=CALCULATOR_RESULT,
)
async def calculator(args: CalculatorArgs, ctx: ToolContext) -> ToolResult:
    """Evaluate an arithmetic expression; prefer it over mental arithmetic.

    Only numbers, parentheses and + - * / // % **: no names, no functions unless the operator allows
    some. Returns the result; integers beyond 2**53 as text.
    """
    allowed = calculator_rules(ctx.services).functions
    value = evaluate(args.expression, functions=allowed)
    # JSON parsers round larger integers to the next double.
    exact = str(value) if isinstance(value, int) and abs(value) > _EXACT_IN_JSON else value
    return ToolResult.ok({"result": exact}, text=str(value))
