"""Arithmetic on a text, without `eval`: nine operators, bounded numbers, no recursion."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

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


def evaluate(expression: str) -> Number:
    """The value of an arithmetic expression: a finite float or an int of at most `MAX_BITS`.

    Raises:
        ToolFailed: code `not_allowed` for calls and names, else `calculation_error`.
    """
    values: list[Number] = []
    for node in _operands_first(_parse(expression)):
        try:
            values.append(_bounded(_apply(node, values)))
        except ZeroDivisionError:
            raise _refused("division by zero") from None
        except OverflowError:
            raise _refused("the numbers get too large") from None
    return values.pop()


def _parse(expression: str) -> ast.expr:
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        raise _refused(f"not an arithmetic expression ({error.msg})") from None
    except (ValueError, RecursionError, MemoryError):
        raise _refused("not an arithmetic expression that can be read") from None
    nodes = list(ast.walk(tree))
    if any(isinstance(node, ast.Call) for node in nodes):
        raise ToolFailed("Function calls not allowed", code="not_allowed")
    if any(isinstance(node, ast.Name) for node in nodes):
        raise ToolFailed("Variable names not allowed", code="not_allowed")
    return tree.body


def _operands_first(root: ast.expr) -> list[ast.expr]:
    """Every operand before its operator, left before right."""
    ordered: list[ast.expr] = []
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        ordered.append(node)
        if isinstance(node, ast.BinOp):
            open_nodes += (node.left, node.right)
        elif isinstance(node, ast.UnaryOp):
            open_nodes.append(node.operand)
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
    hint = "; powers are written **" if _is_xor(node) else ""
    raise _refused(f"only numbers, parentheses and {_OPERATORS} are allowed{hint}")


def _is_xor(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor)


def _power(base: Number, exponent: Number) -> Number:
    whole = isinstance(base, int) and isinstance(exponent, int)
    # The result has at least this many bits, and at most twice as many.
    if whole and exponent * (int(base).bit_length() - 1) > MAX_BITS:
        raise _refused("the numbers get too large")
    result = base**exponent
    if isinstance(result, complex):
        raise _refused("the result is not a real number")
    return result


def _bounded(number: Number) -> Number:
    if isinstance(number, int):
        if number.bit_length() > MAX_BITS:
            raise _refused("the numbers get too large")
    elif not math.isfinite(number):
        raise _refused("the result is not a finite number")
    return number


def _refused(reason: str) -> ToolFailed:
    return ToolFailed(f"Calculation error: {reason}", code="calculation_error")
