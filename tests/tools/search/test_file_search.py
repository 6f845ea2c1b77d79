"""`file_search` on an in-memory workspace."""

from __future__ import annotations

import pytest

from app.core.errors import InvalidArguments
from app.toolkit.result import RawResult
from app.tools.search.file_search import file_search
from tests.tools.calls import call


@pytest.fixture
async def tree(operations):
    await operations.files.write("Report.TXT", b"first\nthe Budget of 2026\n")
    await operations.files.write("src/budget.py", b"total = 1\n")
    await operations.files.write("src/deep/plan.txt", "预算 budget()\n".encode())


@pytest.mark.requirement("FIL-12", "B-09", "B-19")
async def test_a_query_alone_searches_the_content(ctx, tree):
    result = await call(file_search, ctx, query="budget")
    assert result.data == {
        "searched": "content",
        "files": ["Report.TXT", "src/deep/plan.txt"],
        "matches": [
            {"path": "Report.TXT", "line": 2, "text": "the Budget of 2026"},
            {"path": "src/deep/plan.txt", "line": 1, "text": "预算 budget()"},
        ],
        "total": 2,
        "truncated": False,
    }
    assert result.text == "Report.TXT:2:the Budget of 2026\nsrc/deep/plan.txt:1:预算 budget()"


@pytest.mark.requirement("FIL-12", "B-09", "B-19")
async def test_a_pattern_alone_searches_the_names_whatever_their_case(ctx, tree):
    result = await call(file_search, ctx, pattern="*.txt")
    assert result.data == {
        "searched": "names",
        "files": ["Report.TXT", "src/deep/plan.txt"],
        "total": 2,
        "truncated": False,
    }
    assert result.raw_result is not None
    assert [row["size"] for row in result.raw_result.data] == [25, 16]


@pytest.mark.requirement("FIL-12", "B-19")
async def test_both_find_the_files_of_that_name_with_that_content(ctx, tree):
    result = await call(file_search, ctx, pattern="p*.txt", query="BUDGET()")
    assert result.data["files"] == ["src/deep/plan.txt"]
    assert result.raw_result == RawResult("table", [{"path": "src/deep/plan.txt"}])


async def test_a_query_is_plain_text(ctx, tree):
    result = await call(file_search, ctx, query="budget.*")
    assert result.text == "No results in content"


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({}, ["Report.TXT", "src", "src/budget.py", "src/deep", "src/deep/plan.txt"]),
        ({"type": "dir"}, ["src", "src/deep"]),
        ({"type": "file"}, ["Report.TXT", "src/budget.py", "src/deep/plan.txt"]),
        ({"max_depth": 0}, ["Report.TXT", "src"]),
        ({"max_depth": 1}, ["Report.TXT", "src", "src/budget.py", "src/deep"]),
        ({"max_depth": 0, "path": "src"}, ["src/budget.py", "src/deep"]),
        ({"max_depth": 1, "query": "t"}, ["Report.TXT", "src/budget.py"]),
    ],
)
async def test_the_search_is_narrowed_by_type_and_depth(ctx, tree, arguments, files):
    assert (await call(file_search, ctx, **arguments)).data["files"] == files


async def test_twenty_results_are_the_most_unless_asked(ctx, operations):
    for number in range(25):
        await operations.files.write(f"f{number:02}", b"x\n")
    names = await call(file_search, ctx, pattern="f*")
    lines = await call(file_search, ctx, query="x", limit=2)
    assert (len(names.data["files"]), names.data["total"]) == (20, 25)
    assert lines.for_model() == (
        "f00:1:x\nf01:1:x\n[2 of 25 shown: raise limit, or narrow path or pattern]"
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"query": "x", "path": "gone"}, "file_not_found"),
        ({"pattern": "*", "path": "/etc"}, "outside_workspace"),
        ({"query": "x", "path": "../other"}, "outside_workspace"),
        ({"pattern": "[a"}, "invalid_pattern"),
    ],
)
async def test_a_search_that_cannot_run_is_refused(ctx, tree, arguments, code):
    result = await call(file_search, ctx, **arguments)
    assert (result.success, result.code) == (False, code)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": "x", "type": "dir"}, "query searches file contents"),
        ({"limit": 101}, "limit must be <="),
        ({"limit": 0}, "limit must be >="),
        ({"max_depth": -2}, "max_depth must be >="),
    ],
)
async def test_arguments_that_do_not_fit_are_refused(ctx, arguments, message):
    with pytest.raises(InvalidArguments, match=message):
        await call(file_search, ctx, **arguments)
