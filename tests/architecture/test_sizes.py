"""Sizes that hold for every module, with no list of exceptions.

Migrations are not among them: each is a list of what changes, as long as the change.
"""

import ast

from tests.support.source import modules, sources

MODULE_LINES = 500
FUNCTION_LINES = 60
CONSTRUCTOR_PARAMETERS = 8
FOLDERS = ("app", "tests", "scripts", "benchmarks")


def test_no_module_is_longer_than_the_limit():
    long = {
        path: length
        for path, text in sources(*FOLDERS)
        if (length := len(text.splitlines())) > MODULE_LINES
    }
    assert long == {}


def test_no_function_is_longer_than_the_limit():
    long = {
        f"{path}:{node.lineno} {node.name}": length
        for path, _, tree in modules(*FOLDERS)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    }
    assert long == {}


def test_no_constructor_takes_more_parameters_than_the_limit():
    long = {
        f"{path}:{node.lineno}": count
        for path, _, tree in modules("app", holding="__init__")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name == "__init__"
        # All but `self`.
        and (count := len(_parameters(node.args)) - 1) > CONSTRUCTOR_PARAMETERS
    }
    assert long == {}


def test_the_modules_of_the_application_are_seen():
    seen = {path for path, _ in sources(*FOLDERS)}
    assert {"app/core/errors.py", "scripts/bootstrap.py", "tests/conftest.py"} <= seen


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
