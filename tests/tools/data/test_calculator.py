"""`calculator`: what it computes and what it refuses."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import InvalidArguments, ToolFailed
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.services import Services
from app.tools.data.arithmetic import MAX_BITS, evaluate
from app.tools.data.calculator import calculator
from app.tools.data.services import CALCULATOR_RULES, CalculatorRules
from tests.tools.calls import call

HARMLESS_CONTEXT = ToolContext(tool_call_id="call_1", operation_id="call_1")
FUNCTIONS_ALLOWED = ToolContext(
    tool_call_id="call_1",
    operation_id="call_1",
    services=Services(**{CALCULATOR_RULES: CalculatorRules(functions=True)}),
)
ONLY_NUMBERS = "Calculation error: only numbers, parentheses and + - * / // % ** are allowed"
TOO_LARGE = "Calculation error: a number is too large"


@pytest.mark.requirement("DAT-01")
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(2+3)*4", 20),
        ("2**10", 1024),
        ("7 // 2", 3),
        ("-7 % 4", 1),
        ("10 / 4", 2.5),
        ("-3 + +2 - 1", -2),
        ("2 ** -1", 0.5),
        (" 1_000 * 1.5 ", 1500.0),
        ("-" * 999 + "1", -1),
        ("+".join(["1"] * 500), 500),
    ],
)
async def test_an_expression_of_the_nine_operators_has_its_value(expression, value):
    result = await call(calculator, HARMLESS_CONTEXT, expression=expression)
    assert result == ToolResult.ok({"result": value}, text=str(value))


@pytest.mark.requirement("DAT-01")
@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("abs(-1)", "Function calls not allowed"),
        ("__import__('os').system('id')", "Function calls not allowed"),
        ("x + 1", "Variable names not allowed"),
        ("os.sep", "Variable names not allowed"),
        ("9**9**9", TOO_LARGE),
        ("9**99999999", TOO_LARGE),
        ("10.0 ** 400", TOO_LARGE),
        ("(10**3000)*(10**3000)", TOO_LARGE),
        ("10**3000 * 1.5", TOO_LARGE),
        ("'a'*3", ONLY_NUMBERS),
        ("[1,2]", ONLY_NUMBERS),
        ("(1).__class__", ONLY_NUMBERS),
        ("1<<10**9", ONLY_NUMBERS),
        ("True + 1", ONLY_NUMBERS),
        ("1j * 1j", ONLY_NUMBERS),
        ("1 if 1 else 2", ONLY_NUMBERS),
        ("1 < 2", ONLY_NUMBERS),
        ("2 ^ 3", ONLY_NUMBERS + "; powers are written **"),
        ("1/0", "Calculation error: division by zero"),
        ("1 % 0", "Calculation error: division by zero"),
        ("0 ** -1", "Calculation error: division by zero"),
        ("1e999", "Calculation error: the result is not a finite number"),
        ("1e308 * 10", "Calculation error: the result is not a finite number"),
        ("(-8) ** 0.5", "Calculation error: the result is not a real number"),
        ("1 +", "Calculation error: not an arithmetic expression (invalid syntax)"),
        ("   ", "Calculation error: not an arithmetic expression (invalid syntax)"),
        (
            "(" * 400 + "1" + ")" * 400,
            "Calculation error: not an arithmetic expression (too many nested parentheses)",
        ),
    ],
)
async def test_anything_else_is_refused_with_its_reason(expression, error):
    result = await call(calculator, HARMLESS_CONTEXT, expression=expression)
    assert (result.success, result.error) == (False, error)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("sqrt(16) + abs(-2)", 6.0),
        ("round(2.567, 1)", 2.6),
        ("round(7 / 2)", 4),
        ("max(1, 2, 3) - min(4, 5)", -1),
        ("log(8, 2)", 3.0),
        ("2 * pi", 2 * math.pi),
        ("hypot(3, 4) ** 2", 25.0),
        ("floor(-1.5)", -2),
        ("max(1, min(5, 3) * 2)", 6),
    ],
)
async def test_an_operator_may_allow_functions(expression, value):
    result = await call(calculator, FUNCTIONS_ALLOWED, expression=expression)
    assert result.data == {"result": value}


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("eval('1')", "Function calls not allowed"),
        ("(1).bit_length()", "Function calls not allowed"),
        ("round(number=1.5)", "Function calls not allowed"),
        ("max(*[1, 2])", "Function calls not allowed"),
        ("sqrt(2)(3)", "Function calls not allowed"),
        ("sqrt + 1", "Variable names not allowed"),
        ("x", "Variable names not allowed"),
        ("sqrt(-1)", "Calculation error: math domain error"),
        ("exp(1000)", TOO_LARGE),
        ("log(1, 2, 3)", "Calculation error: log requires 1 to 2 numbers"),
        ("round(5, -10**9)", "Calculation error: round takes -300 to 300 whole digits"),
        ("round(5, 1.5)", "Calculation error: round takes -300 to 300 whole digits"),
    ],
)
async def test_with_functions_everything_else_stays_refused(expression, error):
    result = await call(calculator, FUNCTIONS_ALLOWED, expression=expression)
    assert (result.success, result.error) == (False, error)


async def test_an_integer_that_json_readers_would_round_comes_back_as_text():
    result = await call(calculator, HARMLESS_CONTEXT, expression="2**100")
    assert json.loads(result.to_json()) == {
        "success": True,
        "data": {"result": "1267650600228229401496703205376"},
        "error": None,
    }


async def test_an_expression_without_end_is_refused_before_it_is_read():
    with pytest.raises(InvalidArguments, match="expression"):
        await call(calculator, HARMLESS_CONTEXT, expression="1" * 1001)


@given(st.text(alphabet="0123456789+-*/%().,e jx'sqrtpi", min_size=1, max_size=60), st.booleans())
def test_every_text_has_a_bounded_value_or_a_typed_refusal(expression, functions):
    try:
        value = evaluate(expression, functions=functions)
    except ToolFailed as error:
        value = len(error.message)
    assert math.isfinite(value) if isinstance(value, float) else value.bit_length() <= MAX_BITS
