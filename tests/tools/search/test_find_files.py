"""`find_files` on an in-memory workspace."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from app.core.errors import InvalidArguments
from app.operations.protocols.files import FileStat
from app.operations.protocols.search import FindQuery, FindResult, GrepQuery, GrepResult
from app.toolkit.result import RawResult
from app.tools.search.find_files import find_files
from tests.tools.calls import call, call_as


@dataclass
class RecordingSearch:
    """Answers every question with one file and keeps the questions."""

    queries: list[FindQuery] = field(default_factory=list)

    async def find(self, query: FindQuery) -> FindResult:
        self.queries.append(query)
        entry = FileStat("made/up.py", "file", 7, datetime(2026, 1, 2, tzinfo=UTC))
        return FindResult((entry,), 1, truncated=False)

    async def grep(self, query: GrepQuery) -> GrepResult:
        raise AssertionError(query)


@pytest.fixture
async def tree(operations):
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/notes.md", ".hidden/d.py"):
        await operations.files.write(path, b"x\n")


@pytest.mark.requirement("OPS-03", "TST-03")
async def test_the_search_operations_do_the_work(ctx):
    search = RecordingSearch()
    context = replace(ctx, bound_operations=replace(ctx.operations, search=search))
    result = await call(find_files, context, glob="*.py", path="src", sort="modified", offset=0)
    assert search.queries == [
        FindQuery(path="src", pattern="*.py", type="file", sort="modified", limit=200)
    ]
    entry = {"type": "file", "size": 7, "modified": "2026-01-02T00:00:00+00:00"}
    assert result.data == {
        "files": ["made/up.py"],
        "entries": [{"path": "made/up.py", **entry}],
        "count": 1,
        "total": 1,
        "truncated": False,
    }
    assert result.raw_result == RawResult("table", result.data["entries"])


@pytest.mark.requirement("FIL-10")
@pytest.mark.parametrize("name", ["find_files", "glob", "GlobTool"])
async def test_a_pattern_finds_exactly_the_files_it_matches(ctx, tree, name):
    result = await call_as(name, find_files, ctx, pattern="**/*.py")
    assert result.data["files"] == ["a.py", "src/b.py", "src/deep/c.py"]
    assert result.text == "a.py\nsrc/b.py\nsrc/deep/c.py"


async def test_every_word_of_a_query_must_stand_in_the_path(ctx, tree):
    result = await call(find_files, ctx, query="SRC py", head_limit=1)
    assert result.data["files"] == ["src/b.py"]
    assert (result.data["count"], result.data["total"], result.data["truncated"]) == (1, 2, True)
    rest = await call(find_files, ctx, query="SRC py", offset=1)
    assert rest.data["files"] == ["src/deep/c.py"]


async def test_a_page_says_how_to_go_on(ctx, tree):
    result = await call(find_files, ctx, pattern="*.py", head_limit=2)
    assert result.text == "a.py\nsrc/b.py\n[3 in total: continue with offset=2]"


@pytest.mark.requirement("FIL-10")
async def test_a_search_without_a_hit_says_so(ctx, tree):
    assert (await call(find_files, ctx, pattern="*.rs")).text == "No file matches"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"path": "gone"}, "file_not_found"),
        ({"path": "../other"}, "outside_workspace"),
        ({"pattern": "[a"}, "invalid_pattern"),
    ],
)
async def test_a_search_that_cannot_run_is_refused(ctx, tree, arguments, code):
    result = await call(find_files, ctx, **arguments)
    assert (result.success, result.code) == (False, code)


async def test_hidden_and_ignored_files_are_listed_when_asked_for(ctx, operations, tree):
    await operations.files.write(".gitignore", b"src/deep\n")
    usual = await call(find_files, ctx, pattern="*.py")
    everything = await call(find_files, ctx, pattern="*.py", include_ignored=True)
    assert usual.data["files"] == ["a.py", "src/b.py"]
    assert everything.data["files"] == [".hidden/d.py", "a.py", "src/b.py", "src/deep/c.py"]


async def test_two_hundred_are_listed_by_default_and_all_on_demand(ctx, operations):
    for number in range(203):
        await operations.files.write(f"f{number}", b"")
    first = await call(find_files, ctx)
    whole = await call(find_files, ctx, head_limit=0)
    assert (first.data["count"], first.data["total"], first.data["truncated"]) == (200, 203, True)
    assert (whole.data["count"], whole.data["truncated"]) == (203, False)


async def test_more_than_a_thousand_at_once_is_refused(ctx):
    with pytest.raises(InvalidArguments, match="head_limit must be <="):
        await call(find_files, ctx, head_limit=1001)
