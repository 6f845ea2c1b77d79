"""Plugins: files, packages, entry points, and the broken ones."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from app.catalog.catalog import PluginProblem
from app.catalog.plugins import load_plugins
from app.catalog.registry import ToolRegistry
from app.catalog.seed_api import PluginApi, get_service, register, tool
from app.core.errors import ConfigurationError
from tests.catalog.factories import EMPTY, context, make_tool

DECORATED = """
    from app.catalog.seed_api import tool

    @tool(name="{name}", description="Greets.", parameters={{"type": "object"}})
    def {name}(arguments):
        return {{"hello": "{name}"}}

    assert {name}({{}}) == {{"hello": "{name}"}}
"""


def write(folder: Path, name: str, source: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(source), encoding="utf-8")
    return path


def load(folder: Path, registry: ToolRegistry | None = None):
    registry = registry or ToolRegistry()
    problems = load_plugins(registry, folder, installed=False)
    assert registry.snapshot().problems == problems
    return registry.snapshot(), problems


@pytest.mark.requirement("REG-09", "REG-27")
async def test_a_decorated_function_in_a_file_is_a_tool_and_nothing_else_is_edited(tmp_path):
    write(tmp_path, "greet.py", DECORATED.format(name="greet"))
    catalog, problems = load(tmp_path)
    assert problems == ()
    greet = catalog.tools["greet"]
    assert greet.source == "plugin"
    result = await greet.function(greet.validate(b"{}"), context())
    assert result.data == {"hello": "greet"}


@pytest.mark.requirement("REG-10")
async def test_a_lambda_is_registered_without_a_decorator(tmp_path):
    source = """
        from app.catalog.seed_api import register

        register("double", lambda arguments: arguments["n"] * 2, "Doubles.",
                 {"properties": {"n": {"type": "integer"}}}, category="custom")
    """
    write(tmp_path, "double.py", source)
    catalog, problems = load(tmp_path)
    assert problems == ()
    double = catalog.tools["double"]
    assert double.category == "custom"
    assert (await double.function(double.validate(b'{"n": 4}'), context())).data == 8


def test_a_plugin_may_list_tools_or_register_them_itself(tmp_path):
    listed = """
        from tests.catalog.factories import make_tool
        TOOLS = (make_tool("one"), make_tool("two", "deux"))
    """
    own = """
        from tests.catalog.factories import make_tool

        def register(registry):
            registry.register(make_tool("three"), hooks=["hook"])
            registry.define("four", lambda arguments: None, "Four.", {})
    """
    write(tmp_path, "listed.py", listed)
    write(tmp_path, "own.py", own)
    catalog, problems = load(tmp_path)
    assert problems == ()
    assert list(catalog.tools) == ["one", "two", "three", "four"]
    assert {item.source for item in catalog.tools.values()} == {"plugin"}
    assert catalog.hooks == {"three": ("hook",)}


def test_a_package_may_be_split_into_modules(tmp_path):
    write(tmp_path, "pack/__init__.py", "from .inner import TOOLS\n")
    inner = """
        from tests.catalog.factories import make_tool
        TOOLS = (make_tool("packed"),)
    """
    write(tmp_path, "pack/inner.py", inner)
    catalog, problems = load(tmp_path)
    assert (list(catalog.tools), problems) == (["packed"], ())


BROKEN = {
    "syntax.py": ("def broken(:\n", "SyntaxError", "plugin_syntax"),
    "importing.py": ("import a_module_nobody_has\n", "ModuleNotFoundError", "plugin_import"),
    "raising.py": ("1 / 0\n", "ZeroDivisionError", "plugin_raised"),
    "leaving.py": ("raise SystemExit(1)\n", "SystemExit", "plugin_raised"),
    "nothing.py": ("x = 1\n", "defines no tools", "plugin_empty"),
    "wrong.py": ("TOOLS = (1,)\n", "expected a Tool, got int", "invalid_tool"),
    "unlistable.py": ("TOOLS = 5\n", "TOOLS must be a tuple", "invalid_tool"),
    "mute.py": (
        "class Mute(Exception):\n    def __str__(self):\n        raise Mute\nraise Mute\n",
        "Mute",
        "plugin_raised",
    ),
    "nul.py": ("\0", "null bytes", "plugin_syntax"),
    "schema.py": (
        "from app.catalog.seed_api import register\n"
        "register('bad', print, 'Bad.', {'type': 'object', 'properties': 5})\n",
        "not a valid JSON Schema",
        "invalid_tool",
    ),
    "name.py": (
        "from app.catalog.seed_api import register\nregister('no way', print, 'Bad.', {})\n",
        "must start with a letter",
        "invalid_tool",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.requirement("REG-09")
def test_a_broken_plugin_is_listed_and_stops_nobody(tmp_path, name):
    source, reason, code = BROKEN[name]
    path = write(tmp_path, name, source)
    write(tmp_path, "aaa.py", DECORATED.format(name="first"))
    write(tmp_path, "zzz.py", DECORATED.format(name="last"))
    before = set(sys.modules)
    catalog, problems = load(tmp_path)
    assert list(catalog.tools) == ["first", "last"]
    [problem] = problems
    assert (problem.name, problem.where, problem.code) == (path.stem, str(path), code)
    assert reason in problem.error
    private = [module for module in set(sys.modules) - before if module.startswith("_tollgate_")]
    assert not [module for module in private if module.endswith(f"_{path.stem}")]


def test_what_a_broken_plugin_registered_before_it_broke_is_taken_back(tmp_path):
    write(tmp_path, "half.py", DECORATED.format(name="half") + "\n    raise RuntimeError('x')\n")
    catalog, problems = load(tmp_path)
    assert catalog.tools == {}
    assert [problem.error for problem in problems] == ["RuntimeError: x"]


def test_a_plugin_cannot_take_a_name_that_is_in_use(tmp_path):
    registry = ToolRegistry()
    shipped = make_tool("bash", "exec")
    registry.register(shipped)
    source = DECORATED.format(name="fresh") + DECORATED.format(name="Bash")
    path = write(tmp_path, "thief.py", source)
    catalog, problems = load(tmp_path, registry)
    assert dict(catalog.tools) == {"bash": shipped}
    message = "Tool 'Bash' is already registered as 'bash': names that differ only in case"
    assert [problem.where for problem in problems] == [str(path)]
    assert problems[0].error.startswith(message)


def test_a_plugin_that_says_so_replaces_a_tool_and_shows_as_a_plugin(tmp_path):
    registry = ToolRegistry()
    registry.register(make_tool("bash", "exec"))
    source = """
        from tests.catalog.factories import make_tool

        def register(registry):
            registry.register(make_tool("bash"), replace=True)
    """
    write(tmp_path, "better.py", source)
    catalog, problems = load(tmp_path, registry)
    assert problems == ()
    assert [(row["name"], row["source"]) for row in catalog.rows()] == [("bash", "plugin")]


def test_helpers_hidden_files_and_other_files_are_no_plugins(tmp_path):
    for name in ("_helper.py", ".hidden.py", "notes.txt", "data/rows.csv"):
        write(tmp_path, name, "raise RuntimeError\n")
    catalog, problems = load(tmp_path)
    assert (dict(catalog.tools), problems) == ({}, ())


def test_a_missing_folder_holds_no_plugins_and_a_file_is_no_folder(tmp_path):
    assert load(tmp_path / "nowhere")[1] == ()
    path = write(tmp_path, "plugins", "")
    with pytest.raises(ConfigurationError, match="cannot read"):
        load(path)


def test_loading_leaves_the_import_path_alone_and_shadows_no_library(tmp_path):
    before = list(sys.path)
    write(tmp_path, "json.py", DECORATED.format(name="greet"))
    catalog, problems = load(tmp_path)
    assert (list(catalog.tools), problems) == (["greet"], ())
    assert sys.path == before
    assert hasattr(sys.modules["json"], "dumps")


def test_plugins_are_announced_once(tmp_path):
    for name in ("one", "two"):
        write(tmp_path, f"{name}.py", DECORATED.format(name=name))
    registry = ToolRegistry()
    seen: list[int] = []
    registry.on_change(lambda catalog: seen.append(len(catalog.tools)))
    load(tmp_path, registry)
    assert seen == [2]


def test_a_plugin_registers_while_it_is_loaded_and_not_later():
    api = PluginApi()
    api.close()
    with pytest.raises(ConfigurationError, match="while they are loaded"):
        api.register(make_tool())


def test_a_decorator_outside_plugin_loading_registers_nothing():
    def greet(arguments):
        return arguments

    assert tool("greet", "Greets.", EMPTY)(greet) is greet
    register("greet", greet, "Greets.", EMPTY)


@pytest.mark.parametrize("target", ["pack", "pack:TOOLS", "pack:register", "pack:one"])
def test_an_installed_package_brings_tools_through_its_entry_point(tmp_path, monkeypatch, target):
    source = """
        from tests.catalog.factories import make_tool
        one = make_tool("one")
        TOOLS = (one,)

        def register(registry):
            if not registry.registrations:
                registry.register(one)
    """
    write(tmp_path, "pack.py", source)
    info = "pack-1.0.dist-info"
    write(tmp_path, f"{info}/METADATA", "Metadata-Version: 2.1\nName: pack\nVersion: 1.0\n")
    points = f"[tollgate.tools]\nbroken = pack:missing\npack = {target}\n"
    write(tmp_path, f"{info}/entry_points.txt", points)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pack", raising=False)
    registry = ToolRegistry()
    problems = load_plugins(registry)
    monkeypatch.delitem(sys.modules, "pack")
    assert [item.name for item in registry.snapshot().tools.values()] == ["one"]
    assert registry.snapshot().tools["one"].source == "external"
    assert [(problem.name, problem.where) for problem in problems] == [
        ("broken", "entry point pack:missing")
    ]
    assert isinstance(problems[0], PluginProblem)


SEED_PLUGIN = """
    from backend.tools.factory import register, tool
    from backend.tools.core import ToolDefinition, ToolResult
    from backend.tools import get_service, register_service, registry

    register_service("greeting", "hello")

    @tool(
        name="greet",
        description="Greets.",
        parameters={"type": "object", "properties": {}, "required": []},
        category="custom",
    )
    def greet(arguments):
        return ToolResult.ok(get_service("greeting"))

    register("double", lambda arguments: 2 * arguments["n"], "Doubles.",
             {"properties": {"n": {"type": "integer"}}})
    registry.register(ToolDefinition("plain", "Plain.", {}, lambda arguments: "done"))
"""


@pytest.mark.requirement("REG-09", "REG-10", "FS-01")
async def test_a_plugin_with_the_seeds_import_paths_is_loaded_as_it_is(tmp_path):
    write(tmp_path, "seed.py", SEED_PLUGIN)
    catalog, problems = load(tmp_path)
    assert problems == ()
    assert list(catalog.tools) == ["greet", "double", "plain"]
    results = [
        await catalog.tools[name].function(catalog.tools[name].validate(given), context())
        for name, given in (("greet", b"{}"), ("double", b'{"n": 2}'), ("plain", b"{}"))
    ]
    assert [result.data for result in results] == ["hello", 4, "done"]


def test_a_package_of_that_name_comes_first(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "backend"]:
        monkeypatch.delitem(sys.modules, name)
    write(tmp_path, "site/backend/__init__.py", "WHOSE = 'theirs'\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    load(tmp_path)
    assert importlib.import_module("backend").WHOSE == "theirs"
    monkeypatch.delitem(sys.modules, "backend")


def test_a_plugin_of_services_alone_is_loaded(tmp_path):
    write(
        tmp_path,
        "shared.py",
        "from app.catalog.seed_api import register_service\nregister_service('colour', 'red')\n",
    )
    assert load(tmp_path)[1] == ()
    assert get_service("colour") == "red"
    assert get_service("nothing") is None


@pytest.mark.parametrize("call", ["('', 1)", "(5, 1)", "('x', None)"])
def test_a_service_without_name_or_object_leaves_its_plugin_out(tmp_path, call):
    write(
        tmp_path,
        "bad.py",
        f"from app.catalog.seed_api import register_service\nregister_service{call}\n",
    )
    [problem] = load(tmp_path)[1]
    assert "a service requires a name" in problem.error
