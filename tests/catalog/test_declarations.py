"""Whatever a plugin declares is checked when it registers; a bad plugin is left out."""

from __future__ import annotations

import signal
from pathlib import Path
from textwrap import dedent

import pytest

from app.catalog.plugins import load_plugins
from app.catalog.registry import ToolRegistry
from app.execution.hooks.validation import check_hooks

HEAD = """
from pathlib import Path
from pydantic import Field
from app.execution.hooks.model import HookAction, HookConfig, HookResult, HookType
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import (
    Alias, PermissionClass, SideEffectScope, Tool, ToolArgs, tool
)

class Args(ToolArgs):
    text: str = Field(default="x", description="Some text.")

async def guard(context):
    return None
"""
PLAIN = """
async def odd(args: Args, ctx: ToolContext) -> ToolResult:
    "Does something odd."
    return ToolResult.ok(1)

TOOLS = (odd,)
"""
OPTIONS = {
    "a permission as text": ('permission="read"', "permission_class", "PermissionClass.READ"),
    "an effect as text": ('side_effect="NONE"', "side_effect_scope", "SideEffectScope.NONE"),
    "a reader that writes": (
        "permission=PermissionClass.READ, side_effect=SideEffectScope.DB_WRITE",
        "READ tool cannot",
        "PermissionClass.WRITE",
    ),
    "an unknown option": ("permision=1", "did you mean 'permission'", ""),
    "the manifest's word": ("permission_class=1", "did you mean 'permission'", ""),
    "a kind that is none": ('kind="reading"', "kind must be one of", "Choose"),
    "a list as kind": ("kind=[]", "kind must be one of", "Choose"),
    "a shell that is none": ('shell="zsh"', "shell must be one of", "Choose"),
    "a shell without a command": ('shell="bash"', "command_argument", "Name the argument"),
    "a sandbox that is none": ('sandbox="iron"', "sandbox must be one of", "Choose"),
    "a route that is none": ('routing_hint="x"', "routing_hint must be one of", "Choose"),
    "a flag as text": ('requires_confirmation="no"', "True or False", "requires_confirmation=True"),
    "a flag as number": ("core=1", "core must be True or False", "core=True"),
    "no category": ('category=""', "category must be a word", "general"),
    "a category of objects": ("category=object()", "category must be a word", "general"),
    "a toolset of lines": ('toolset="a\\nb"', "toolset must be a word", "general"),
    "tags as text": ('tags="abc"', "tags must be a tuple", "tags=("),
    "tags of numbers": ("tags=(1,)", "tags must be a tuple", "tags=("),
    "a program as text": ('programs="git"', "programs must be a tuple", "programs=("),
    "a platform as number": ("platforms=1", "platforms must be a tuple", "platforms=("),
    "a requirement as text": ('requires="x"', "requires must be a tuple", "requires=("),
    "a lone surrogate": ('tags=("\\ud800",)', "surrogate", "Remove"),
    "a deadline as text": ('timeout_s="5"', "timeout_s must be", "omit it"),
    "a deadline of nothing": ("timeout_s=0", "timeout_s must be", "omit it"),
    "a deadline without end": ('timeout_s=float("inf")', "timeout_s must be", "omit it"),
    "a deadline that is none": ('timeout_s=float("nan")', "timeout_s must be", "omit it"),
    "less than no text": ("max_output_chars=-1", "max_output_chars must be", "omit it"),
    "half a letter": ("max_output_chars=1.5", "max_output_chars must be", "omit it"),
    "an alias as text": ('aliases=("x",)', "tuple of Alias", "Alias("),
    "an alias with spaces": ('aliases=(Alias("a b"),)', "must start with a letter", "Choose"),
    "an alias twice": (
        'aliases=(Alias("Odd"), Alias("Odd"))',
        "duplicate alias",
        "Name it only once",
    ),
    "an alias that is no text": ("aliases=(Alias(5),)", "must start with a letter", "Choose"),
    "an adapter as text": ('aliases=(Alias("y", adapt="z"),)', "must be functions", "functions"),
    "a family as text": ('aliases=(Alias("y", families="z"),)', "families", "families=("),
    "argument names as list": ("argument_aliases=[]", "argument_aliases", "{"),
    "an argument name as number": ('argument_aliases={"a": 1}', "argument_aliases", "{"),
    "a finder of paths as text": ('paths_in="x"', "paths_in must be a function", "function"),
    "a reason to ask as text": ('asks="x"', "asks must be a function", "function"),
    "a result as text": ('return_schema="x"', "return_schema must be", "dict"),
    "a result that is no schema": (
        'return_schema={"type": "txt"}',
        "not a valid JSON Schema",
        "Correct",
    ),
    "a result with objects": ('return_schema={"default": Path("x")}', "not plain JSON", "Use"),
    "a result with no number": ('return_schema={"d": float("nan")}', "not plain JSON", "Use"),
    "a result with odd keys": ("return_schema={1: 2}", "not plain JSON", "Use"),
    "a result without end": (
        "return_schema=(lambda d: (d.update(d=d), d)[1])({})",
        "not plain JSON",
        "Use",
    ),
    "a number beyond 64 bits": ('return_schema={"const": 2**70}', "converted to JSON", "64-bit"),
    "a name with spaces": ('name="two words"', "must start with a letter", "Choose"),
    "a name that is no text": ("name=5", "must start with a letter", "Choose"),
    "a name too long": ('name="a" * 65', "must start with a letter", "Choose"),
}
FUNCTIONS = {
    "an unknown annotation": (
        PLAIN.replace("-> ToolResult", "-> Nowhere"),
        "Nowhere",
        "Correct",
    ),
    "no context": (PLAIN.replace(", ctx: ToolContext", ""), "cannot be called", "async def"),
    "three parameters": (PLAIN.replace("ToolContext)", "ToolContext, more)"), "cannot be", "async"),
    "a context of another kind": (PLAIN.replace("ctx: ToolContext", "ctx: dict"), "dict", "ctx:"),
    "bytes as result": (PLAIN.replace("-> ToolResult", "-> bytes"), "returns", "ToolResult"),
    "a set as result": (PLAIN.replace("-> ToolResult", "-> set"), "returns", "ToolResult"),
    "a path as result": (PLAIN.replace("-> ToolResult", "-> Path"), "returns", "ToolResult"),
    "no docstring": (PLAIN.replace('    "Does something odd."\n', ""), "docstring", "Correct"),
    "a blank docstring": (PLAIN.replace("Does something odd.", " "), "docstring", "Correct"),
    "no async": (PLAIN.replace("async def", "def"), "must be an async function", "Correct"),
    "arguments of another kind": (PLAIN.replace("args: Args", "args: dict"), "ToolArgs", "Correct"),
}


def load(folder: Path, source: str):
    (folder / "odd.py").write_text(source, encoding="utf-8")
    (folder / "zzz.py").write_text(f"{HEAD}\n@tool()\n{PLAIN.replace('odd', 'fine')}")
    registry = ToolRegistry()
    problems = load_plugins(registry, folder, installed=False, check_hooks=check_hooks)
    return registry.snapshot(), problems


def assert_left_out(folder: Path, source: str, said: str, fix: str, line: int | None = None):
    catalog, problems = load(folder, source)
    assert list(catalog.tools) == ["fine"]
    [problem] = problems
    assert said in problem.error
    assert fix in problem.fix
    assert problem.fix
    path, _, number = problem.at.rpartition(":")
    assert path == str(folder / "odd.py")
    if line is not None:
        assert int(number) == line
    catalog.rows()


@pytest.mark.parametrize("case", OPTIONS)
def test_an_option_that_cannot_be_used_is_named_with_its_line_and_its_fix(tmp_path, case):
    option, said, fix = OPTIONS[case]
    at = HEAD.count("\n") + 2
    assert_left_out(tmp_path, f"{HEAD}\n@tool({option})\n{PLAIN.lstrip()}", said, fix, at)


@pytest.mark.parametrize("case", FUNCTIONS)
def test_a_function_that_cannot_be_called_is_named_with_its_line(tmp_path, case):
    text, said, fix = FUNCTIONS[case]
    assert_left_out(tmp_path, f"{HEAD}\n@tool()\n{text.lstrip()}", said, fix)


def test_every_fault_of_a_tool_is_said_together(tmp_path):
    source = f'{HEAD}\n@tool(permission="read", core=1, tags="x")\n{PLAIN.lstrip()}'
    _, [problem] = load(tmp_path, source)
    for field in ("permission_class", "core", "tags"):
        assert field in problem.error


ARGUMENTS = {
    "an invalid type": 'json_schema_extra={"type": "text"}',
    "an invalid list": 'json_schema_extra={"enum": 5}',
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_an_arguments_model_whose_schema_is_none_is_left_out(tmp_path, case):
    head = HEAD.replace('description="Some text."', ARGUMENTS[case])
    assert_left_out(
        tmp_path, f"{head}\n@tool()\n{PLAIN.lstrip()}", "not a valid JSON Schema", "Correct"
    )


HOOKS = {
    "a name that is no text": "HookConfig(5, HookType.PRE_TOOL_USE, guard)",
    "a type as text": 'HookConfig("g", "pre_tool_use", guard)',
    "no handler": 'HookConfig("g", HookType.PRE_TOOL_USE, None)',
    "a handler that is not async": 'HookConfig("g", HookType.PRE_TOOL_USE, print)',
    "a handler of two": 'HookConfig("g", HookType.PRE_TOOL_USE, two)',
    "names as text": 'HookConfig("g", HookType.PRE_TOOL_USE, guard, filter_names="bash")',
    "names as list": 'HookConfig("g", HookType.PRE_TOOL_USE, guard, filter_names=["bash"])',
    "a filter as text": 'HookConfig("g", HookType.PRE_TOOL_USE, guard, matches="bash")',
    "an order as text": 'HookConfig("g", HookType.PRE_TOOL_USE, guard, order="1")',
    "an answer that is none": 'HookConfig("g", HookType.PRE_TOOL_USE, guard, on_error="pass")',
    "a deadline as text": 'HookConfig("g", HookType.PRE_TOOL_USE, guard, timeout_s="1")',
    "a deadline that is none": (
        'HookConfig("g", HookType.PRE_TOOL_USE, guard, timeout_s=float("nan"))'
    ),
    "slots as number": 'HookConfig("g", HookType.PRE_TOOL_USE, guard, slots=3)',
    "a flag as text": 'HookConfig("g", HookType.PRE_TOOL_USE, guard, only_findings="no")',
    "a switch as flag": 'HookConfig("g", HookType.PRE_TOOL_USE, guard, active=True)',
    "text": '"g"',
}
TWO = "\nasync def two(one, other):\n    return None\n"


@pytest.mark.parametrize("case", HOOKS)
def test_a_hook_that_cannot_be_called_leaves_its_plugin_out(tmp_path, case):
    source = f"{HEAD}{TWO}\n@tool()\n{PLAIN.lstrip()}\nHOOKS = [{HOOKS[case]}]\n"
    catalog, [problem] = load(tmp_path, source)
    assert list(catalog.tools) == ["fine"]
    assert problem.brings_hooks
    assert problem.fix
    assert problem.at.startswith(str(tmp_path / "odd.py"))


@pytest.mark.parametrize("case", HOOKS)
def test_a_tool_whose_own_hook_cannot_be_called_is_left_out(tmp_path, case):
    own = f"def register(api):\n    api.register(odd, hooks=[{HOOKS[case]}])\n"
    body = PLAIN.lstrip().replace("TOOLS = (odd,)\n", own)
    catalog, [problem] = load(tmp_path, f"{HEAD}{TWO}\n@tool()\n{body}")
    assert list(catalog.tools) == ["fine"]
    assert problem.fix


SEED = """
from app.catalog.seed_api import register
register("odd", {handler}, "Odd.", {schema}{more})
"""
HAND_WRITTEN = {
    "a pattern beyond RE2": ("print", '{"properties": {"a": {"pattern": "(?=x)"}}}', ""),
    "an option of another kind": ("print", "{}", ', permission_class="READ"'),
    "a schema that is none": ("print", '{"properties": 5}', ""),
    "a schema that is no JSON": ("print", '{"properties": {"a": {"default": object()}}}', ""),
    "a handler that is none": ("5", "{}", ""),
    "an unknown option": ("print", "{}", ", colour=1"),
    "a description that is none": ("print", "{}", ', description=""'),
}


@pytest.mark.parametrize("case", HAND_WRITTEN)
def test_a_hand_written_tool_is_held_to_the_same(tmp_path, case):
    handler, schema, more = HAND_WRITTEN[case]
    source = SEED.format(handler=handler, schema=schema, more=more)
    catalog, [problem] = load(tmp_path, source)
    assert list(catalog.tools) == ["fine"]
    assert problem.fix
    assert problem.at == f"{tmp_path / 'odd.py'}:3" or "print" in source


@pytest.mark.parametrize(
    "raised", ["SystemExit(3)", "KeyboardInterrupt()", "GeneratorExit()", "BaseException('x')"]
)
def test_whatever_a_plugin_raises_while_it_is_imported_leaves_it_out(tmp_path, raised):
    assert_left_out(tmp_path, f"x = 1\nraise {raised}\n", raised.partition("(")[0], "", line=2)


def test_a_key_press_while_plugins_are_imported_ends_the_program(tmp_path):
    source = """
        import os, signal
        os.kill(os.getpid(), signal.SIGINT)
    """
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        load(tmp_path, dedent(source))
    assert signal.getsignal(signal.SIGINT) is before


def test_an_import_that_does_not_end_is_stopped_and_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("app.catalog.plugins.IMPORT_S", 3)
    stubborn = """
        import time
        while True:
            try:
                time.sleep(600)
            except Exception:
                pass
    """
    catalog, [problem] = load(tmp_path, dedent(stubborn))
    assert list(catalog.tools) == ["fine"]
    assert "did not finish within" in problem.error
    assert "when the tool is called" in problem.fix


def test_what_a_file_of_a_package_raises_is_found_in_that_file(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import TOOLS\n")
    (package / "inner.py").write_text("x = 1\n\nTOOLS = missing\n")
    [problem] = load_plugins(ToolRegistry(), tmp_path, installed=False)
    assert problem.at == f"{package / 'inner.py'}:3"


def test_a_module_that_is_not_there_is_named_in_the_fix(tmp_path):
    assert_left_out(tmp_path, "import a_module_nobody_has\n", "", "Install the package", line=1)
