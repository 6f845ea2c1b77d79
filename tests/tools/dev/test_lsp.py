"""`lsp` with the real language server for Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.core.errors import InvalidArguments
from app.operations.language_servers.pool import LanguageServerPool
from app.toolkit.context import ToolContext
from app.tools.dev.lsp.lsp import lsp
from tests.tools.calls import call, call_as

SHAPES = '''"""Shapes."""
from abc import ABC, abstractmethod


class Shape(ABC):
    @abstractmethod
    def area(self) -> float:
        """The area."""


class Square(Shape):
    def __init__(self, side: float) -> None:
        self.side = side

    def area(self) -> float:
        return self.side * self.side


def total(shapes: list[Shape]) -> float:
    """Sum of all areas."""
    return sum(shape.area() for shape in shapes)
'''
MAIN = """from shapes import Square, total


def run() -> float:
    return total([Square(2.0), Square(3.0)])


名 = "𝒳"; count = undefined_thing
"""


@pytest.fixture(autouse=True)
def fixture_files(root: Path) -> None:
    (root / "shapes.py").write_text(SHAPES, encoding="utf-8")
    (root / "main.py").write_text(MAIN, encoding="utf-8")


def places(data: dict[str, Any]) -> list[tuple[str, int, int]]:
    return [(item["path"], item["line"], item["column"]) for item in data["results"]]


@pytest.mark.requirement("DEV-01")
async def test_a_definition_is_found_by_line_and_column(here: ToolContext):
    result = await call(lsp, here, operation="goToDefinition", path="main.py", line=5, column=13)
    assert result.error is None
    assert result.data["results"] == [
        {
            "path": "shapes.py",
            "line": 19,
            "column": 5,
            "text": "def total(shapes: list[Shape]) -> float:",
        }
    ]
    assert result.text == "shapes.py:19:5: def total(shapes: list[Shape]) -> float:"
    assert result.data["server"] == "ty"


@pytest.mark.requirement("DEV-01")
async def test_references_are_found_by_the_name_of_a_symbol(here: ToolContext):
    result = await call(lsp, here, operation="references", path="shapes.py", symbol="Square")
    assert set(places(result.data)) == {
        ("shapes.py", 11, 7),
        ("main.py", 1, 20),
        ("main.py", 5, 19),
        ("main.py", 5, 32),
    }
    without = await call(
        lsp,
        here,
        operation="findReferences",
        path="shapes.py",
        symbol="Square",
        include_declaration=False,
    )
    assert ("shapes.py", 11, 7) not in places(without.data)


@pytest.mark.requirement("DEV-01")
async def test_a_hover_tells_signature_and_documentation(here: ToolContext):
    result = await call_as(
        "LSPTool", lsp, here, action="hover", filePath="main.py", line=5, character=13
    )
    assert "def total(shapes: list[Shape]) -> float" in result.for_model()
    assert "Sum of all areas." in result.for_model()
    assert result.raw_result is not None
    assert result.raw_result.type == "text"


async def test_symbols_of_a_file_and_of_the_workspace(here: ToolContext):
    document = await call(lsp, here, operation="documentSymbol", path="shapes.py")
    named = [(item["kind"], item["name"], item["container"]) for item in document.data["results"]]
    assert ("class", "Square", "") in named
    assert ("method", "area", "Square") in named
    workspace = await call(lsp, here, operation="workspaceSymbol", query="Squ", server="ty")
    assert places(workspace.data) == [("shapes.py", 11, 1)]


async def test_diagnostics_of_the_whole_workspace(here: ToolContext):
    await here.operations.files.write("pkg/wrong.py", b"x: int = 'no'\n")
    await here.operations.files.write("also.py", b"y: str = 1\nz: str = 2\n")

    all_ = await call(lsp, here, operation="workspaceDiagnostics", server="ty")
    some = await call(lsp, here, operation="workspace_diagnostics", server="ty", limit=1)

    assert {place[0] for place in places(all_.data)} >= {"also.py", "pkg/wrong.py"}
    assert places(some.data)[0][0] == "also.py"
    assert some.data["truncated"] is True


async def test_implementations_of_an_abstract_method(here: ToolContext):
    result = await call(
        lsp, here, operation="goToImplementation", path="shapes.py", line=7, symbol="area"
    )
    assert ("shapes.py", 15, 9) in places(result.data)


async def test_a_name_is_looked_for_where_it_begins(here: ToolContext):
    source = b'"""What `walk` does."""\n\n\nasync def walk() -> None:\n    return None\n'
    await here.operations.files.write("named.py", source)

    result = await call(lsp, here, operation="prepareCallHierarchy", path="named.py", symbol="walk")

    assert places(result.data) == [("named.py", 4, 11)]


async def test_who_calls_a_function_and_whom_it_calls(here: ToolContext):
    incoming = await call(lsp, here, operation="incomingCalls", path="shapes.py", symbol="total")
    (caller,) = incoming.data["results"]
    assert (caller["name"], caller["path"]) == ("run", "main.py")
    assert [(at["line"], at["column"]) for at in caller["calls"]] == [(5, 12)]
    outgoing = await call(lsp, here, operation="outgoingCalls", path="main.py", symbol="run")
    assert {item["name"] for item in outgoing.data["results"]} >= {"total"}
    assert "    at main.py:5:12: return total(" in outgoing.for_model()


async def test_diagnostics_and_what_can_be_done_about_them(here: ToolContext):
    result = await call(lsp, here, operation="diagnostics", path="main.py")
    (found,) = result.data["results"]
    # Columns count characters, not bytes or UTF-16 units: 名 and 𝒳 stand before.
    assert (found["line"], found["column"]) == (8, MAIN.splitlines()[7].index("undef") + 1)
    assert found["severity"] == "error"
    assert "undefined_thing" in found["message"]
    offered = await call(lsp, here, operation="codeActions", path="main.py", line=8)
    assert offered.data["results"]
    assert all(action["title"] for action in offered.data["results"])
    assert (await call(lsp, here, operation="codeActions", path="main.py", line=1)).success


async def test_a_change_on_the_disk_is_seen_by_the_next_question(here: ToolContext, root: Path):
    first = await call(lsp, here, operation="diagnostics", path="main.py")
    assert first.data["total"] == 1
    (root / "main.py").write_text(MAIN + "another = missing_too\n", encoding="utf-8")
    second = await call(lsp, here, operation="diagnostics", path="main.py")
    assert second.data["total"] == 2
    # A file that was never shown to the server changes as well.
    (root / "other.py").write_text("from shapes import total\n", encoding="utf-8")
    references = await call(lsp, here, operation="references", path="shapes.py", symbol="total")
    assert ("other.py", 1, 20) in places(references.data)
    (root / "other.py").unlink()
    references = await call(lsp, here, operation="references", path="shapes.py", symbol="total")
    assert "other.py" not in {place[0] for place in places(references.data)}


async def test_every_name_of_a_file_is_the_same_file(here: ToolContext, root: Path):
    for path in ("main.py", "./main.py", str(root / "main.py")):
        result = await call(lsp, here, operation="references", path=path, line=4, symbol="run")
        assert places(result.data) == [("main.py", 4, 5)]


async def test_a_place_that_is_not_there_is_reported(here: ToolContext):
    late = await call(lsp, here, operation="hover", path="main.py", line=99, column=1)
    assert (late.code, late.error) == (
        "position_not_found",
        "line 99 is past the end: 'main.py' has 9 lines",
    )
    absent = await call(lsp, here, operation="hover", path="main.py", line=1, symbol="nowhere")
    assert absent.code == "position_not_found"
    assert "from shapes import Square, total" in str(absent.error)


@pytest.mark.requirement("DEV-01")
async def test_without_a_server_for_a_file_the_error_says_what_to_configure(
    here: ToolContext, root: Path
):
    (root / "main.zig").write_text("", encoding="utf-8")
    result = await call(lsp, here, operation="documentSymbol", path="main.zig")
    assert result.code == "no_language_server"
    assert "language_servers.servers in config.yml" in str(result.error)
    assert "ty (py, pyi)" in str(result.error)


@pytest.mark.parametrize("path", ["../secret.py", "/etc/passwd.py"])
async def test_a_file_outside_is_not_shown_to_a_server(
    here: ToolContext, pool: LanguageServerPool, path: str
):
    result = await call(lsp, here, operation="documentSymbol", path=path)
    assert result.success is False
    assert result.code == "outside_workspace"


@pytest.mark.parametrize(
    "arguments",
    [
        {"operation": "hover", "path": "main.py"},
        {"operation": "hover", "line": 1},
        {"operation": "workspaceSymbol"},
        {"operation": "codeActions", "path": "main.py"},
        {"operation": "codeActions", "path": "main.py", "line": 3, "end_line": 2},
        {"operation": "rename", "path": "main.py", "line": 1},
    ],
)
async def test_an_incomplete_question_is_refused(here: ToolContext, arguments: dict[str, Any]):
    with pytest.raises(InvalidArguments):
        await call(lsp, here, **arguments)
