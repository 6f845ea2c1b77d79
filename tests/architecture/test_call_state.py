"""The stages of a call return values; the executor alone changes the call."""

import ast
from collections.abc import Iterator

import pytest

from tests.support.source import modules

MAY_CHANGE = {"app/execution/executor.py", "app/execution/call.py"}
STATE = "CallState"


def test_only_the_executor_changes_the_state_of_a_call():
    changed = [
        f"{path}:{line}"
        for path, _, tree in modules("app", holding=STATE)
        if path not in MAY_CHANGE
        for line in changes(tree)
    ]
    assert changed == []


@pytest.mark.parametrize(
    "statement",
    ["call.note = ''", "call.asked.by, other = pair", "call.ask_reasons += ()", "call.take(found)"],
)
def test_a_change_of_a_call_is_found(statement: str):
    source = f"def stage(call: CallState):\n    {statement}\n"
    assert list(changes(ast.parse(source))) == [2]


def test_another_value_of_the_same_name_may_change():
    source = "def read(call: Request):\n    call.data = 1\n"
    assert list(changes(ast.parse(source))) == []


def changes(tree: ast.Module) -> Iterator[int]:
    """Lines that assign to something of a call, or let it take another judgement."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            calls = _calls(function)
            for node in ast.walk(function):
                yield from {target.lineno for target in _changed(node) if _root(target) in calls}


def _calls(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names in a function that stand for a call: parameters, and what is made of them."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    calls = {
        argument.arg
        for argument in named
        if argument.annotation is not None and STATE in ast.unparse(argument.annotation)
    }
    returned = function.returns is not None and STATE in ast.unparse(function.returns)
    return calls | ({"call"} if returned else set())


def _changed(node: ast.AST) -> Iterator[ast.Attribute]:
    """Attributes that a node assigns to; the method that changes a call counts as one."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    elif isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "take":
            yield function
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                yield part


def _root(attribute: ast.Attribute) -> str | None:
    """The name that a chain of attributes starts with."""
    node: ast.expr = attribute
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
