"""`read_file` on an in-memory workspace."""

from __future__ import annotations

import pytest

from app.core.errors import InvalidArguments
from app.toolkit.result import RawResult, ToolResult
from app.tools.files.read_file import read_file
from tests.tools.calls import call, call_as


@pytest.fixture
async def poem(operations):
    await operations.files.write("poem.txt", "".join(f"line {n}\n" for n in range(1, 13)).encode())


@pytest.mark.requirement("FIL-07", "OPS-01")
async def test_a_file_is_read_with_a_header_and_line_numbers(ctx, poem):
    result = await call(read_file, ctx, path="poem.txt", start_line=9, end_line=10)
    text = "[File: poem.txt | Lines: 12 | Showing: 9-10]\n   9| line 9\n  10| line 10"
    assert result == ToolResult.ok(
        {
            "path": "poem.txt",
            "content": "line 9\nline 10\n",
            "encoding": "utf-8",
            "size": 87,
            "total_lines": 12,
            "start_line": 9,
            "end_line": 10,
            "truncated": False,
        },
        text=text,
        raw_result=RawResult("text", text),
    )


async def test_a_limited_read_says_where_to_go_on(ctx, poem):
    result = await call(read_file, ctx, path="poem.txt", offset=2, limit=2, show_line_numbers=False)
    assert result.for_model() == (
        "[File: poem.txt | Lines: 12 | Showing: 2-3]\nline 2\nline 3\n"
        "[More follows: continue with start_line=4]"
    )
    assert result.data["truncated"] is True


async def test_a_long_file_is_cut_at_a_line_and_at_the_character_limit(ctx, operations):
    await operations.files.write("wide.txt", ("x" * 999 + "\n").encode() * 300)
    first = await call(read_file, ctx, path="wide.txt")
    assert len(first.for_model()) <= 128_200
    assert first.data["content"].endswith("x\n")
    following = first.data["end_line"] + 1
    assert f"start_line={following}]" in first.for_model()
    second = await call(read_file, ctx, path="wide.txt", start_line=following)
    assert second.data["start_line"] == following


async def test_one_endless_line_is_cut(ctx, operations):
    await operations.files.write("line.json", b"x" * 300_000)
    result = await call(read_file, ctx, path="line.json")
    assert len(result.data["content"]) < 128_000
    assert result.data["truncated"] is True
    assert "[Line 1 is truncated" in result.for_model()


async def test_an_empty_file_is_said_to_be_empty(ctx, operations):
    await operations.files.write("empty", b"")
    result = await call(read_file, ctx, path="empty")
    assert result.for_model() == "[File: empty | Lines: 0 | Showing: 0-0]\n(empty file)"


async def test_several_files_are_read_at_once_and_a_missing_one_stops_nothing(ctx, operations):
    await operations.files.write("a", b"1\n")
    await operations.files.write("b", b"2\n")
    result = await call(read_file, ctx, paths=["a", "gone", "b"], show_line_numbers=False)
    assert result.success
    assert (result.data["read"], result.data["failed"]) == (2, 1)
    assert [file.get("content") for file in result.data["files"]] == ["1\n", None, "2\n"]
    assert result.for_model().endswith("[Read 2 of 3 files]")


async def test_it_is_a_failure_when_none_of_several_files_can_be_read(ctx):
    result = await call(read_file, ctx, paths=["gone", "lost"])
    assert (result.success, result.error) == (False, "None of the files could be read")


@pytest.mark.requirement("FIL-01")
async def test_file_read_reads_another_encoding_in_the_shape_its_users_know(ctx, operations):
    await operations.files.write("zh.txt", "第一行\n第二行\n".encode("gbk"))
    result = await call_as("file_read", read_file, ctx, path="zh.txt", encoding="gbk")
    assert result.to_dict() == {
        "success": True,
        "data": {"success": True, "content": "第一行\n第二行\n", "size": 8, "path": "zh.txt"},
        "error": None,
    }


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("gone.txt", "file_not_found", "File not found"),
        ("folder", "not_a_file", "Path is not a file"),
        ("old.txt", "wrong_encoding", "is not utf-8 text (invalid continuation byte at byte 3)"),
        ("tool", "binary_file", "a program of 11 bytes; only text can be read"),
        ("page.txt", "not_a_pdf", "pages requires a PDF document"),
        ("../secret", "outside_workspace", "Path is outside project directory"),
        ("/etc/passwd", "outside_workspace", "Path is outside project directory"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_its_reason(ctx, operations, path, code, message):
    await operations.files.write("old.txt", "café olé".encode("latin-1"))
    await operations.files.write("tool", b"\x7fELF\x02\x01\x01\x00\x00\x00\x00")
    await operations.files.write("page.txt", b"text")
    await operations.files.make_dir("folder")
    pages = {"pages": "1"} if path == "page.txt" else {}
    result = await call(read_file, ctx, path=path, **pages)
    assert (result.success, result.code) == (False, code)
    assert message in (result.error or "")


async def test_a_start_past_the_end_is_refused_with_the_length(ctx, poem):
    result = await call(read_file, ctx, path="poem.txt", start_line=13)
    assert result.error == "start_line 13 is past the end: 'poem.txt' has 12 lines"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "set either path or paths"),
        ({"path": "a", "paths": ["b"]}, "set either path or paths"),
        ({"paths": ["b"], "start_line": 2}, "require path"),
        ({"path": "a", "start_line": 3, "end_line": 2}, "end_line must not be before"),
        ({"path": "a", "encoding": "klingon"}, "unknown text encoding 'klingon'"),
        ({"path": "a", "encoding": "hex"}, "unknown text encoding 'hex'"),
        ({"path": "a", "pages": "3-2"}, "pages must list 1 to 20 pages"),
        ({"path": "a", "pages": "1-21"}, "pages must list 1 to 20 pages"),
        ({"path": "a", "pages": "0"}, "pages must match"),
        ({"path": "a", "limit": 100_001}, "limit must be <="),
        ({"paths": ["a"] * 21}, "paths must have at most 20"),
        ({"path": "a", "start_line": 0}, "start_line must be >="),
        ({"path": "a", "project_id": "other"}, "unknown argument project_id"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused(ctx, arguments, message):
    with pytest.raises(InvalidArguments, match=message):
        await call(read_file, ctx, **arguments)


async def test_lines_are_limited_to_two_thousand_unless_asked(ctx, operations):
    await operations.files.write("long", b"x\n" * 2500)
    result = await call(read_file, ctx, path="long")
    assert (result.data["end_line"], result.data["truncated"]) == (2000, True)


async def test_a_file_over_ten_megabytes_is_refused_whole(ctx, operations):
    await operations.files.write("big.log", b"x" * ((10 << 20) + 1))
    await operations.files.write("big.pdf", b"x" * ((10 << 20) + 1))
    for path in ("big.log", "big.pdf"):
        result = await call(read_file, ctx, path=path)
        assert (result.success, result.code) == (False, "file_too_large")
        assert f"{path!r} is larger than 10485760 bytes; use grep" in (result.error or "")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gb18030"])
async def test_the_encoding_is_reported_by_the_file_itself(ctx, operations, encoding):
    text = "第一行 first\n第二行\n"
    await operations.files.write("zh.txt", text.encode(encoding))
    result = await call(read_file, ctx, path="zh.txt")
    assert (result.data["content"], result.data["encoding"]) == (text, encoding)
    assert f"| Encoding: {encoding}]" in result.for_model()
