"""Habits of the code that no linter knows."""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import AliasChoices, BaseModel

from app.config.settings import Settings
from tests.support.source import ROOT, modules, sources, texts

# The rooms that stand between code of others and the rest: each catches what it cannot name, once.
# A plugin's import is such a border too: it may raise anything, and must not stop the server.
BROAD_EXCEPT_ROOMS = (
    *("app/execution/", "app/api/ws/", "app/workers/", "app/catalog/plugins.py"),
    "app/core/error_boundary.py",
    # Children of their own: whatever goes wrong inside must end as a report on a pipe.
    *(
        f"app/operations/sandbox/jail/{name}.py"
        for name in ("payload", "supervisor", "zygote", "python/run")
    ),
    "app/tools/files/pdf_program.py",
    "app/tools/media/image_program.py",
)
# They look at processes and at a server from outside, which tell nobody when they change.
LOOKS_FROM_OUTSIDE = (
    *("tests/api/test_load.py", "tests/escape/sightings.py", "tests/escape/victim.py"),
    "tests/agents/victim.py",
    # What it looks at is a loop that stands still.
    "tests/core/test_loop_watch.py",
)
BROAD = {"Exception", "BaseException"}
PROMISE = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))")


def test_an_init_module_holds_a_docstring_and_nothing_else():
    others = [
        path
        for path, text in sources()
        if path.endswith("__init__.py")
        and (ast.get_docstring(ast.parse(text)) is None or _beyond_docstring(path, ast.parse(text)))
    ]
    assert others == []


def test_a_text_alone_is_documentation_and_not_the_rest_of_another():
    """A line that lost its bracket or its comma is a statement of its own, and its text is lost."""
    lost = [
        f"{path}:{line}" for path, text in sources("app", "scripts") for line in _lost_texts(text)
    ]
    assert lost == []


def _lost_texts(text: str) -> Iterator[int]:
    """The lines of texts that are statements, but neither docstrings nor below what they document.

    Documentation is written with three quotes, and stands first in a function.
    """
    lines = text.splitlines()
    stack: list[tuple[ast.AST, bool]] = [(ast.parse(text), False)]
    while stack:
        node, within = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            has_docstring = ast.get_docstring(node, clean=False) is not None
            stack += [(each, True) for each in node.body[has_docstring:]]
            continue
        within = within and not isinstance(node, ast.ClassDef)
        stack += [(each, within) for each in ast.iter_child_nodes(node)]
        if isinstance(node, ast.Expr) and _is_text(node.value):
            written = lines[node.lineno - 1].lstrip(" r")
            if not written.startswith('"""') or within:
                yield node.lineno


def _is_text(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str)
    return isinstance(value, ast.JoinedStr)


def test_the_migrations_folder_is_no_package_that_would_shadow_its_library():
    assert not (ROOT / "alembic" / "__init__.py").exists()


def test_a_promise_in_a_comment_names_its_issue():
    found = [
        f"{path}:{token.start[0]}"
        for path, text in sources()
        if PROMISE.search(text)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and PROMISE.search(token.string)
    ]
    assert found == []


def test_broad_excepts_stand_only_once_in_each_of_their_rooms():
    rooms: Counter[str] = Counter()
    elsewhere = []
    for path, _, tree in modules("app", holding="Exception|except:"):
        for node in ast.walk(tree):
            if not _catches_everything(node):
                continue
            room = next((room for room in BROAD_EXCEPT_ROOMS if path.startswith(room)), None)
            if room is None:
                elsewhere.append(f"{path}:{getattr(node, 'lineno', 0)}")
            else:
                rooms[room] += 1
    assert elsewhere == []
    assert {room: count for room, count in rooms.items() if count > 1} == {}


@pytest.mark.requirement("REG-28")
def test_a_tool_author_has_about_ten_classes_to_know():
    classes = [
        node.name
        for path, text in sources("app")
        if path.startswith("app/toolkit/")
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert 0 < len(classes) <= 15


def test_no_time_is_taken_without_a_zone():
    naive = [
        f"{path}:{node.lineno}"
        for path, _, tree in modules(holding="datetime")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value).split(".")[-1] == "datetime"
        and (node.func.attr == "utcnow" or (node.func.attr == "now" and not _arguments(node)))
    ]
    assert naive == []


def test_no_test_sleeps():
    sleeping = [
        f"{path}:{node.lineno}"
        for path, _, tree in modules("tests", holding="sleep")
        for node in ast.walk(tree)
        if not path.startswith("tests/support/")  # a scripted peer is slow when told to be
        and path not in LOOKS_FROM_OUTSIDE
        and isinstance(node, ast.Call)
        and ast.unparse(node.func) in {"asyncio.sleep", "time.sleep", "anyio.sleep", "sleep"}
        # Zero seconds is a turn of the loop, not a wait.
        and [ast.unparse(value) for value in node.args] != ["0"]
    ]
    assert sleeping == []


def test_no_pattern_repeats_a_group_possessively():
    """Python 3.11.0 to 3.11.4 match such patterns wrongly, and Debian 12 has 3.11.2: an atomic
    group, `(?>(?:a|b)*)`, means the same and is right everywhere."""
    repeated = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")
    wrong = [
        f"{path}:{node.lineno}"
        for path, _, tree in modules("app", holding=r"[*+?}]\+")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and repeated.search(node.value)
    ]
    assert wrong == []


def test_a_time_limit_of_a_test_only_ends_a_hang():
    """Less than a minute is how long something may take, and a busy machine takes longer."""
    short = [
        f"{path}:{node.lineno}"
        for path, _, tree in modules("tests", holding="timeout")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "asyncio.timeout"
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, int | float)
        # Less than a second waits for what must not come.
        and 1 <= node.args[0].value < 60
    ]
    assert short == []


def test_every_setting_is_explained_in_the_example_environment():
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    prefix = Settings.model_config.get("env_prefix", "")
    missing = [
        names
        for names in _environment_names(Settings, prefix)
        if not any(re.search(rf"^#?\s*{name}=", example, re.MULTILINE) for name in names)
    ]
    assert missing == []


def test_no_file_names_a_place_of_the_machine_it_was_written_on():
    places = [f"{ROOT}/"] if len(ROOT.parts) > 2 else []
    found = [path for path, text in texts() if any(place in text for place in places)]
    assert found == []


def test_no_file_names_the_host_of_a_package_registry():
    # Where packages come from is the operator's choice; the names are joined so as not to be here.
    hosts = [
        ".".join(parts)
        for parts in (
            ("pypi", "org"),
            ("files", "pythonhosted", "org"),
            ("registry", "npmjs", "org"),
            ("deb", "debian", "org"),
        )
    ]
    found = [path for path, text in texts() if any(host in text for host in hosts)]
    assert found == []


def _beyond_docstring(path: str, tree: ast.Module) -> list[ast.stmt]:
    """The statements that an init module should not hold; the top one may name the version."""
    return [
        node
        for node in tree.body[1:]
        if path != "app/__init__.py" or not ast.unparse(node).startswith("__version__ =")
    ]


def _arguments(call: ast.Call) -> list[Any]:
    return [*call.args, *call.keywords]


def _names(node: ast.expr | None) -> set[str]:
    listed = node.elts if isinstance(node, ast.Tuple) else [node]
    return {ast.unparse(item) for item in listed if item is not None}


def _catches_everything(node: ast.AST) -> bool:
    """A handler for anything that does not raise on, or a suppression of anything."""
    if isinstance(node, ast.ExceptHandler):
        raises_on = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
        return (node.type is None or bool(_names(node.type) & BROAD)) and not raises_on
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
        return any(_names(value) & BROAD for value in node.args)
    return False


def _environment_names(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, ...]]:
    """Yield, for each setting, the names of which one must be explained."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _environment_names(kind, f"{prefix}{name.upper()}__")
            continue
        alias = field.validation_alias
        if isinstance(alias, AliasChoices):
            yield tuple(str(choice).upper() for choice in alias.choices)
        else:
            yield (alias.upper() if isinstance(alias, str) else f"{prefix}{name.upper()}",)
