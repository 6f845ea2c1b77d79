"""What each level may import and call."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import pytest

from app.operations.sandbox.jail.python.levels import (
    LEVELS,
    SECONDS,
    STANDARD_BUILTINS,
    STANDARD_MODULES,
    STRICT_BUILTINS,
    STRICT_MODULES,
    absent,
    blocked_builtins,
    may_import,
)
from tests.operations.sandbox.jail.python.conftest import Python
from tests.operations.sandbox.jail.python.uses import STRICT_USES, USES
from tests.support.source import ROOT

HERE = [module for module in STANDARD_MODULES if absent(module) is None]


@pytest.mark.requirement("PYX-04", "PYX-05", "PYX-07", "PYX-08", "F-11")
def test_the_lists_are_those_of_the_seed():
    assert (len(set(STANDARD_MODULES)), len(set(STRICT_MODULES))) == (41, 21)
    assert set(STRICT_MODULES) <= set(STANDARD_MODULES) == set(USES)
    assert (len(set(STANDARD_BUILTINS)), len(set(STRICT_BUILTINS))) == (14, 22)
    assert blocked_builtins("lenient") == ()
    assert {"getattr", "setattr", "delattr"}.isdisjoint(blocked_builtins("standard"))


@pytest.mark.requirement("PYX-02")
def test_each_level_has_its_time():
    assert {level: SECONDS[level] for level in LEVELS} == {
        "lenient": 30,
        "standard": 10,
        "strict": 5,
    }


@pytest.mark.requirement("PYX-04", "F-1")
@pytest.mark.parametrize("module", HERE)
def test_a_module_of_the_standard_list_imports_and_works(python: Python, module: str):
    use, value = USES[module]
    ran = python(f"import {module}\n{use}")
    assert (ran.status, ran.error, ran.value or "None") == (0, None, value)


@pytest.mark.requirement("PYX-05", "F-1")
@pytest.mark.parametrize("module", STRICT_MODULES)
def test_a_module_of_the_strict_list_imports_and_works(python: Python, module: str):
    use, value = STRICT_USES.get(module) or USES[module]
    ran = python(f"import {module}\n{use}", "strict")
    assert (ran.status, ran.error, ran.value) == (0, None, value)


@pytest.mark.requirement("PYX-06")
@pytest.mark.parametrize("level", ["standard", "strict"])
@pytest.mark.parametrize(
    "module", ["os", "subprocess", "socket", "importlib", "ctypes", "sys", "builtins", "pathlib"]
)
def test_what_is_on_no_list_may_not_be_imported(level: str, module: str):
    assert not may_import(level, module)
    assert not may_import(level, f"{module}.path")
    assert may_import("lenient", module)


def test_no_module_of_the_library_beyond_the_lists_may_be_imported():
    beyond = {name for name in sys.stdlib_module_names if may_import("standard", name)}
    assert beyond == {name for name in STANDARD_MODULES if "." not in name} | {"__future__"}


@pytest.mark.requirement("B-22")
def test_a_name_on_the_list_covers_what_lies_beneath_it_and_nothing_else():
    assert may_import("standard", "xml.etree.ElementTree")
    assert may_import("standard", "collections.abc")
    assert not may_import("standard", "xml")
    assert not may_import("standard", "xml.etree")
    assert not may_import("standard", "xml.dom.minidom")
    assert not may_import("standard", "jsonschema")
    assert not may_import("standard", "json_tricks.json")


@pytest.mark.requirement("B-22")
def test_a_listed_module_that_python_has_lost_is_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch,
):
    class Version(NamedTuple):
        major: int
        minor: int

    monkeypatch.setattr(sys, "version_info", Version(3, 13))
    assert absent("uu") == "uu is not in this Python: it was removed in 3.13, this is 3.13"
    assert absent("json") is None
    monkeypatch.setattr(sys, "version_info", Version(3, 12))
    assert absent("uu") is None


def test_what_runs_inside_is_standard_library_and_does_not_bring_the_service_along():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from app.operations.sandbox.jail.python import run\n"
        "print(sorted(name for name in sys.modules if name.startswith('app.')))"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(ROOT)]
    loaded = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    inside = ("app.operations", "app.operations.sandbox", "app.operations.sandbox.jail")
    names = [name.strip("[]' \n") for name in loaded.split(",")]
    assert [
        name
        for name in names
        if name not in inside and not name.startswith("app.operations.sandbox.jail.python")
    ] == []
