"""Arithmetic on a text, without `eval`: nine operators, bounded numbers, no recursion.

A short list of functions and constants is supported if the caller allows them.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from app.core.errors import ToolFailed

Number = int | float

MAX_BITS = 10_000
"""Largest integer: some 3,010 digits, under Python's own limit of 4,300 for text."""

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_OPERATORS = "+ - * / // % **"

_MAX_DIGITS = 300
_MANY = 1000


def evaluate(expression: str, *, functions: bool = False) -> Number:
    """Return the value of an expression: a finite float, or an int of at most `MAX_BITS`.

    Args:
        functions: allow calls of `FUNCTIONS` and the names of `CONSTANTS`.

    Raises:
        ToolFailed: code `not_allowed` for calls and names, otherwise `calculation_error`.
    """
    values: list[Number] = []
    for node in _operands_first(_parse(expression, functions=functions)):
        try:
            values.append(_bounded(_apply(node, values)))
        except ZeroDivisionError:
            raise _refused("division by zero") from None
        except OverflowError:
            raise _refused("a number is too large") from None
        except ValueError as error:
            raise _refused(str(error)) from None
    return values.pop()


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


def _parse(expression: str, *, functions: bool) -> ast.expr:
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        raise _refused(f"not an arithmetic expression ({error.msg})") from None
    except (ValueError, RecursionError, MemoryError):
        raise _refused("not a valid arithmetic expression") from None
    nodes = list(ast.walk(tree))
    called = set()
    for node in nodes:
        if isinstance(node, ast.Call):
            if not (functions and _is_known(node)):
                raise ToolFailed("Function calls not allowed", code="not_allowed")
            called.add(id(node.func))
    for node in nodes:
        if not isinstance(node, ast.Name) or id(node) in called:
            continue
        if not (functions and node.id in CONSTANTS):
            raise ToolFailed("Variable names not allowed", code="not_allowed")
    return tree.body


def _is_known(call: ast.Call) -> bool:
    plain = not call.keywords and not any(isinstance(arg, ast.Starred) for arg in call.args)
    return plain and isinstance(call.func, ast.Name) and call.func.id in FUNCTIONS


def _operands_first(root: ast.expr) -> list[ast.expr]:
    """Return every operand before its operator, left before right."""
    ordered: list[ast.expr] = []
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        ordered.append(node)
        if isinstance(node, ast.BinOp):
            open_nodes += (node.left, node.right)
        elif isinstance(node, ast.UnaryOp):
            open_nodes.append(node.operand)
        elif isinstance(node, ast.Call):
            open_nodes += node.args
    return ordered[::-1]


def _apply(node: ast.expr, values: list[Number]) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=operation) if type(operation) in _UNARY:
            return _UNARY[type(operation)](values.pop())
        case ast.BinOp(op=operation):
            right, left = values.pop(), values.pop()
            if isinstance(operation, ast.Pow):
                return _power(left, right)
            if type(operation) in _BINARY:
                return _BINARY[type(operation)](left, right)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _called(name, [values.pop() for _ in args][::-1])
        case ast.Name(id=name):
            return CONSTANTS[name]
    hint = "; powers are written **" if _is_xor(node) else ""
    raise _refused(f"only numbers, parentheses and {_OPERATORS} are allowed{hint}")


def _called(name: str, arguments: list[Number]) -> Number:
    function = FUNCTIONS[name]
    if not function.least <= len(arguments) <= function.most:
        raise _refused(f"{name} requires {function.least} to {function.most} numbers")
    result: Number = function.call(*arguments)
    return result


def _is_xor(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor)


def _power(base: Number, exponent: Number) -> Number:
    whole = isinstance(base, int) and isinstance(exponent, int)
    # The result has at least this many bits, and at most twice as many.
    if whole and exponent * (int(base).bit_length() - 1) > MAX_BITS:
        raise _refused("a number is too large")
    result = base**exponent
    if isinstance(result, complex):
        raise _refused("the result is not a real number")
    return result


def _bounded(number: Number) -> Number:
    if isinstance(number, int):
        if number.bit_length() > MAX_BITS:
            raise _refused("a number is too large")
    elif not math.isfinite(number):
        raise _refused("the result is not a finite number")
    return number


def _refused(reason: str) -> ToolFailed:
    return ToolFailed(f"Calculation error: {reason}", code="calculation_error")
