"""Reading code before it runs."""

from __future__ import annotations

import ast
import sys
from typing import NamedTuple

import pytest

from app.operations.sandbox.jail.python.check import (
    MAX_CHARS,
    CodeProblem,
    CodeRefusal,
    check,
    parse,
    used,
)
from app.operations.sandbox.jail.python.levels import STANDARD_BUILTINS, STRICT_BUILTINS


def refused(code: str, level: str = "standard", *extra: str) -> CodeRefusal:
    refusal = check(code, level, extra)
    assert refusal is not None
    return refusal


@pytest.mark.requirement("PYX-06")
def test_every_problem_is_reported_at_once_with_its_line_and_a_way_out():
    refusal = refused("import os, json\nx = eval('1')\nfrom subprocess import run\n")
    assert refusal.code == "not_allowed"
    assert refusal.message.startswith(
        "Blocked imports: os, subprocess. These modules are not allowed in 'standard' mode. "
        "Blocked functions: eval. These functions are not allowed in 'standard' mode.\n"
        "line 1: import os: use the tool bash, or strictness 'lenient'\n"
        "line 2: eval: write the code itself; for data use json.loads\n"
        "line 3: import subprocess: use the tool bash, or strictness 'lenient'\n"
        "Allowed modules: json, csv, "
    )
    assert [(problem.kind, problem.name, problem.line) for problem in refusal.problems] == [
        ("import", "os", 1),
        ("function", "eval", 2),
        ("import", "subprocess", 3),
    ]


@pytest.mark.requirement("PYX-07")
@pytest.mark.parametrize("level", ["standard", "strict"])
@pytest.mark.parametrize("name", STANDARD_BUILTINS)
def test_a_blocked_builtin_is_refused(level: str, name: str):
    refusal = refused(f"x = {name}", level)
    assert [problem.name for problem in refusal.problems] == [name]
    assert f"Blocked functions: {name}. These functions are not allowed in '{level}' mode." in (
        refusal.message
    )


@pytest.mark.requirement("PYX-08", "B-20")
@pytest.mark.parametrize("name", sorted(set(STRICT_BUILTINS) - set(STANDARD_BUILTINS)))
def test_strict_blocks_eight_more(name: str):
    assert check(f"{name}(1)", "standard") is None
    assert [problem.name for problem in refused(f"{name}(1)", "strict").problems] == [name]


@pytest.mark.requirement("PYX-03")
def test_lenient_allows_everything_that_parses():
    assert check("import os\neval('1')\nopen('x')\n__import__('ctypes')", "lenient") is None
    assert refused("def", "lenient").code == "syntax_error"


@pytest.mark.parametrize(
    "code",
    [
        "from xml.etree import ElementTree as ET",
        "from xml.etree.ElementTree import fromstring",
        "import xml.etree.ElementTree as ET",
        "from collections.abc import Mapping",
        "from __future__ import annotations",
        "import json.decoder",
    ],
)
def test_the_ways_to_import_an_allowed_module(code: str):
    assert check(code, "standard") is None


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("import xml", "xml"),
        ("from xml import etree", "xml"),
        ("from xml.etree import cElementTree, ElementTree", "xml.etree.cElementTree"),
        ("from xml.dom import minidom", "xml.dom"),
        ("import json, os.path", "os.path"),
        ("from . import json", "a module relative to this one"),
        ("from .json import loads", "a module relative to this one"),
        ("def f():\n    import os", "os"),
        ("try:\n    import os\nexcept: pass", "os"),
        ("import os as json", "os"),
        ("from os import *", "os"),
    ],
)
def test_the_ways_to_import_another(code: str, named: str):
    assert [problem.name for problem in refused(code).problems] == [named]


def test_names_of_its_own_are_the_programs_business():
    code = (
        "input = [1]\n"
        "def open(type): return type\n"
        "for vars in input: open(vars)\n"
        "sum(dir for dir in input)\n"
        "match input:\n    case [exit, *quit]: pass\n    case {'a': 1, **compile}: pass\n"
        "try: pass\nexcept ValueError as locals: locals\n"
        "exit, quit, compile, dir"
    )
    assert check(code, "strict") is None


@pytest.mark.requirement("PYX-10")
def test_extra_modules_are_allowed_with_what_lies_beneath_them():
    assert (
        check("import numpy.linalg\nfrom pandas import DataFrame", "strict", {"numpy", "pandas"})
        is None
    )
    assert [
        problem.name for problem in refused("import numpy, pandas", "strict", "numpy").problems
    ] == ["pandas"]


def test_of_the_extra_modules_those_that_are_imported_are_needed():
    code = "import numpy.linalg as n, json\ndef f():\n    from scipy import stats\nimport pandas2"
    tree = parse(code)
    assert isinstance(tree, ast.Module)
    extra = {"numpy", "pandas", "scipy", "scipy.stats", "scipy.fft", "json.tool"}
    assert used(tree, extra) == ("numpy", "scipy", "scipy.stats")
    assert used(tree, ()) == ()


@pytest.mark.requirement("PYX-14")
def test_a_syntax_error_is_reported_with_its_line():
    refusal = refused("x = 1\nif x\n    pass")
    assert (refusal.code, refusal.problems) == ("syntax_error", ())
    assert refusal.message == "Syntax error in code: expected ':' (line 2)\n    if x"


@pytest.mark.requirement("B-22")
def test_a_module_that_python_has_lost_is_not_called_blocked(monkeypatch: pytest.MonkeyPatch):
    class Version(NamedTuple):
        major: int
        minor: int

    monkeypatch.setattr(sys, "version_info", Version(3, 14))
    refusal = refused("import uu")
    why = "uu is not in this Python: it was removed in 3.13, this is 3.14"
    assert refusal == CodeRefusal(
        "not_allowed", f"line 1: {why}", (CodeProblem("absent", "uu", 1, why),)
    )


def test_many_problems_and_long_names_make_no_long_message():
    many = refused("\n".join(f"import m{number}" for number in range(1_000)))
    assert "and 980 more" in many.message
    long = refused(f"import {'m' * 10_000}")
    assert max(len(many.message), len(long.message)) < 4_000


HOSTILE = {
    "brackets": "(" * 100_000,
    "braces": "{" * 3_000 + ":",
    "sums": "1" + "+1" * 9_000,
    "calls": "a" + "()" * 9_000,
    "attributes": "a" + ".b" * 9_000,
    "minus": "-" * 100_000 + "1",
    "not": "not " * 5_000 + "1",
    "conditions": "1 if 1 else " * 10_000 + "1",
    "elifs": "if a:0\n" + "elif a:0\n" * 10_000,
    "indents": "\n".join(" " * depth + "if 1:" for depth in range(200)),
    "f-strings": 'f"{' * 200,
    "digits": "1" * 100_000,
    "nul": "a = 1\0",
    "surrogate": 'x = "\ud800"',
    "continuations": "\\\n" * 10_000,
    "unknown character": 'x = "\\N{no such}"',
    "half an escape": 'x = "\\x"',
    "tabs": "if 1:\n\tx\n        y",
    "byte order": "\ufeff\ufeffx",
    "very long": "#" * (MAX_CHARS + 1),
}
READABLE = {
    "statements": "a;" * 9_000,
    "hexadecimal": "0x" + "f" * 10_000,
    "strings": '"a"' * 5_000,
    "an escape": 'x = "\\z"',
    "nothing": "",
    "form feeds": "\f" * 1_000 + "a",
    "a comment": "# é",
    "comparison": "1<" * 9_000 + "1",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_source_is_refused_and_nothing_is_raised(name: str):
    refusal = refused(HOSTILE[name], "strict")
    assert refusal.code in ("syntax_error", "code_too_complex", "code_too_long")
    assert 10 < len(refusal.message) < 1_000


@pytest.mark.parametrize("name", READABLE)
def test_odd_source_is_read(name: str):
    assert check(READABLE[name], "strict") is None


def test_reading_never_compiles_what_would_grow_without_end():
    bomb = "pass"
    for _ in range(18):
        inner = "\n".join(f" {line}" for line in bomb.split("\n"))
        bomb = f"try:\n {'x'}\nfinally:\n{inner}"
    assert check(bomb, "strict") is None
