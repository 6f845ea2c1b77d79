"""What every implementation keeps of a workspace that is narrowed to some folders."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from app.core.errors import OutsideWorkspace, ToolFailed
from app.operations.fakes.workspace import fake_workspace
from app.operations.local.workspace import LocalWorkspace
from app.operations.protocols.operations import Operations
from app.operations.protocols.search import FindQuery, GrepQuery
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
from tests.operations.conftest import fill_folder

pytestmark = pytest.mark.requirement("CTX-11")

FILES = {
    "a/x.txt": "in a",
    "a/sub/y.txt": "deep in a",
    "ab/x.txt": "SECRET of ab",
    "b/x.txt": "SECRET of b",
    "c/d/z.txt": "in c/d",
    "c/x.txt": "SECRET of c",
    "top.txt": "SECRET of the root",
}
Narrow = Callable[..., Operations]


@pytest.fixture(params=["local", "sandboxed", "memory"])
async def narrow(
    request: pytest.FixtureRequest, root: Path, sandbox: Sandbox
) -> AsyncIterator[Narrow]:
    """Build operations on `FILES` that are narrowed to the given folders, for each backend."""
    async with AsyncExitStack() as stack:

        def build(*roots: str, files: Mapping[str, str] = FILES) -> Operations:
            if request.param == "memory":
                return fake_workspace(files, roots=roots)
            fill_folder(root, files)
            if request.param == "local":
                return stack.enter_context(LocalWorkspace(root, roots=roots)).operations
            workspace = SandboxedWorkspace(root, sandbox=sandbox, roots=roots)
            stack.push_async_callback(workspace.close)
            return workspace.operations

        yield build


OUTSIDE = (
    *(".", "b", "b/x.txt", "b/nothing", "top.txt", "nothing", "c", "c/x.txt"),
    # a name that begins alike, another case
    *("ab/x.txt", "A/x.txt"),
    # upwards, also to come back
    *("..", "../etc/passwd", "a/..", "a/../b/x.txt", "a/sub/../../b/x.txt", "a/../a/x.txt"),
    *("b/../a/x.txt", "./b/x.txt", "a/./../b/x.txt", "a//..//b/x.txt", "c/d/../x.txt"),
    *("/etc/passwd", "/", "~/x.txt"),
)


@pytest.mark.parametrize("path", OUTSIDE)
async def test_nothing_outside_of_the_roots_is_reached_by_any_operation(narrow: Narrow, path: str):
    operations = narrow("a", "c/d")
    files, search = operations.files, operations.search

    calls = (
        lambda: files.read(path, max_bytes=100),
        lambda: files.stat(path),
        lambda: files.list_dir(path),
        lambda: files.write(path, b"mine"),
        lambda: files.write(f"{path}/new/file", b"mine"),
        lambda: files.delete(path),
        lambda: files.make_dir(f"{path}/new"),
        lambda: search.find(FindQuery(path=path)),
        lambda: search.grep(GrepQuery("SECRET", path=path)),
    )
    for call in calls:
        with pytest.raises(ToolFailed) as caught:
            await call()
        assert "SECRET" not in str(caught.value.details)
        assert caught.value.details.get("code", caught.value.code) in (
            "outside_workspace",
            "not_a_file",
        )


async def test_the_refusal_names_the_folders_that_may_be_used(narrow: Narrow):
    with pytest.raises(OutsideWorkspace, match=r"'b/x\.txt'; allowed are 'a', 'c/d'") as caught:
        await narrow("a", "c/d").files.read("b/x.txt", max_bytes=100)
    assert caught.value.details == {"path": "b/x.txt", "roots": ["a", "c/d"]}


async def test_inside_of_the_roots_paths_are_those_of_the_workspace(narrow: Narrow):
    operations = narrow("a", "c/d")
    files = operations.files

    assert await files.read("a/x.txt", max_bytes=100) == b"in a"
    assert await files.read(f"{operations.root}/a/x.txt", max_bytes=100) == b"in a"
    assert await files.read("a/sub/../x.txt", max_bytes=100) == b"in a"
    assert [child.path for child in await files.list_dir("a")] == ["a/sub", "a/x.txt"]
    assert (await files.write("c/d/new/file", b"new")).path == "c/d/new/file"
    assert await files.make_dir("a/made/deep") is True
    assert await files.make_dir("a") is False
    assert (await files.delete("a/x.txt")).before == b"in a"
    assert operations.roots == ("a", "c/d")


async def test_search_finds_what_is_in_a_root_and_nothing_beside_it(narrow: Narrow):
    search = narrow("a", "c/d").search

    found = await search.find(FindQuery(path="a", pattern="**/*.txt"))
    beside = await search.find(FindQuery(path="a", pattern="../b/*"))
    lines = await search.grep(GrepQuery("in|SECRET", path="c/d"))

    assert [entry.path for entry in found.entries] == ["a/sub/y.txt", "a/x.txt"]
    assert beside.entries == ()
    assert [line.path for line in lines.lines] == ["c/d/z.txt"]


async def test_ignore_files_count_from_the_root_on(narrow: Narrow):
    files = {**FILES, ".gitignore": "x.txt\n", "a/.gitignore": "y.txt\n"}
    search = narrow("a", files=files).search

    found = await search.find(FindQuery(path="a/sub"))
    whole = await search.find(FindQuery(path="a"))

    assert found.entries == ()
    assert "a/sub/y.txt" not in [entry.path for entry in whole.entries]


async def test_two_files_change_together_only_when_both_are_inside(narrow: Narrow):
    files = narrow("a", "c/d").files

    with pytest.raises(OutsideWorkspace):
        await files.apply(["a/x.txt", "b/x.txt"], dict.fromkeys)
    moved = await files.apply(
        ["a/x.txt", "c/d/x.txt"],
        lambda states: {"a/x.txt": None, "c/d/x.txt": states["a/x.txt"]},
    )

    assert [edit.path for edit in moved] == ["a/x.txt", "c/d/x.txt"]
    assert await files.read("c/d/x.txt", max_bytes=100) == b"in a"
