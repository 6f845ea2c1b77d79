"""What every implementation of `SearchOperations` does."""

from __future__ import annotations

import pytest

from app.core.errors import OutsideWorkspace, ToolFailed
from app.operations.protocols.operations import Operations
from app.operations.protocols.search import FindQuery, GrepLine, GrepQuery
from tests.operations.conftest import Fill

pytestmark = pytest.mark.requirement("OPS-03")

TREE = {
    ".gitignore": "build/\n*.log\n!keep.log\n",
    ".hidden/x.py": "needle\n",
    "build/out.py": "needle\n",
    "keep.log": "needle\n",
    "noise.log": "needle\n",
    "src/.gitignore": "generated_*\n!generated_ok.py\n",
    "src/app/main.py": "import os\nneedle = 1\n",
    "src/generated_ok.py": "needle\n",
    "src/generated_x.py": "needle\n",
    "src/readme.md": "Needle in text\n",
    "node_modules/p/index.js": "needle\n",
}


async def found(operations: Operations, **query) -> list[str]:
    result = await operations.search.find(FindQuery(**query))
    return [entry.path for entry in result.entries]


async def matching(operations: Operations, pattern: str, **query) -> list[str]:
    query.setdefault("mode", "files_with_matches")
    result = await operations.search.grep(GrepQuery(pattern, **query))
    return [path for path, _ in result.counts]


async def lines(operations: Operations, pattern: str, **query) -> tuple[GrepLine, ...]:
    return (await operations.search.grep(GrepQuery(pattern, **query))).lines


@pytest.mark.requirement("FIL-10")
async def test_find_matches_globs_in_path_order(fill: Fill):
    operations = fill(TREE)

    assert await found(operations, pattern="**/*.py") == [
        "src/app/main.py",
        "src/generated_ok.py",
    ]
    assert await found(operations, pattern="*.PY", case_insensitive=True) == [
        "src/app/main.py",
        "src/generated_ok.py",
    ]
    assert await found(operations, path="src", pattern="app/*.py") == ["src/app/main.py"]
    assert await found(operations, type="dir") == ["src", "src/app"]


async def test_find_leaves_out_ignored_and_hidden_unless_asked(fill: Fill):
    operations = fill(TREE)

    assert await found(operations, pattern="*.log") == ["keep.log"]
    assert await found(operations, pattern="*.py", respect_ignore=False) == [
        "build/out.py",
        "src/app/main.py",
        "src/generated_ok.py",
        "src/generated_x.py",
    ]
    assert ".hidden/x.py" in await found(operations, pattern="*.py", include_hidden=True)


async def test_an_ignored_folder_asked_for_by_name_is_searched(fill: Fill):
    operations = fill(TREE)

    assert await found(operations, path="build") == ["build/out.py"]
    assert await matching(operations, "needle", path="node_modules") == ["node_modules/p/index.js"]


async def test_rules_of_folders_above_the_start_count(fill: Fill):
    operations = fill({".gitignore": "src/secret/\n/top", "src/secret/x": "", "src/top": ""})

    assert await found(operations, path="src") == ["src/top"]


async def test_find_pages_and_counts(fill: Fill):
    operations = fill({f"f{number}": "x" * number for number in range(5)})

    page = await operations.search.find(FindQuery(limit=2, offset=2))
    whole = await operations.search.find(FindQuery(limit=0))

    assert [(entry.path, entry.size) for entry in page.entries] == [("f2", 2), ("f3", 3)]
    assert (page.total, page.truncated) == (5, True)
    assert (len(whole.entries), whole.total, whole.truncated) == (5, 5, False)


@pytest.mark.requirement("FIL-11")
async def test_grep_gives_file_line_number_and_text(fill: Fill):
    operations = fill(TREE)

    assert await lines(operations, r"needle\s*=") == (GrepLine("src/app/main.py", 2, "needle = 1"),)
    assert await matching(operations, "NEEDLE", case_insensitive=True) == [
        "keep.log",
        "src/app/main.py",
        "src/generated_ok.py",
        "src/readme.md",
    ]
    assert await matching(operations, "needle", glob="*.py") == [
        "src/app/main.py",
        "src/generated_ok.py",
    ]
    assert await matching(operations, "needle", path="src/generated_x.py") == ["src/generated_x.py"]


@pytest.mark.requirement("FIL-11")
async def test_grep_skips_binary_and_large_files(fill: Fill):
    operations = fill({"a.bin": b"needle\0", "b.txt": "needle", "c.txt": "needle" * 9})

    result = await operations.search.grep(GrepQuery("needle", max_file_bytes=20))

    assert result.lines == (GrepLine("b.txt", 1, "needle"),)
    assert (result.files_searched, result.files_skipped) == (1, 2)


@pytest.mark.requirement("FIL-11")
async def test_grep_pages_over_files(fill: Fill):
    operations = fill({"a": "x1\nx2\n", "b": "x3\n", "c": "x4\nx5"})

    result = await operations.search.grep(GrepQuery("x", limit=3, offset=1))

    assert [line.text for line in result.lines] == ["x2", "x3", "x4"]
    assert (result.total, result.truncated) == (5, True)


async def test_grep_counts_lines_per_file(fill: Fill):
    operations = fill({"a": "xx\nx\n", "b": "-", "c": "x"})

    result = await operations.search.grep(GrepQuery("x", mode="count", limit=1))

    assert (result.counts, result.total, result.truncated) == ((("a", 2),), 2, True)


async def test_context_lines_are_not_repeated(fill: Fill):
    operations = fill({"a": "1\n2 x\n3\n4 x\n5\n6\n7\n"})

    result = await lines(operations, "x", before=1, after=2)

    assert [(line.line_number, line.is_match) for line in result] == [
        (1, False),
        (2, True),
        (3, False),
        (4, True),
        (5, False),
        (6, False),
    ]


async def test_literals_are_not_patterns(fill: Fill):
    operations = fill({"a": "f(x)\nfx\nF(X)\n"})

    assert [line.line_number for line in await lines(operations, "f(x)", fixed_strings=True)] == [1]
    insensitive = await lines(operations, "f(x)", fixed_strings=True, case_insensitive=True)
    assert [line.line_number for line in insensitive] == [1, 3]


async def test_chinese_and_broken_utf8_are_searched(fill: Fill):
    operations = fill({"a": "第一行\n你好，世界\n".encode() + b"\xff\xfe \xe4\xbd\n"})

    assert [line.text for line in await lines(operations, "你.，")] == ["你好，世界"]
    assert [line.text for line in await lines(operations, " ")] == ["�� �"]


async def test_a_match_stays_in_its_line_unless_multiline(fill: Fill):
    operations = fill({"a": "begin\nend\n"})

    assert await lines(operations, r"begin\s+end") == ()
    spanning = await lines(operations, r"begin.end", multiline=True)
    assert [line.text for line in spanning] == ["begin", "end"]


@pytest.mark.parametrize(
    ("pattern", "position"), [("a(b", None), ("x[z-a]", 2), ("(?=x)", 0), (r"a\Cb", 1)]
)
async def test_invalid_patterns_say_where_and_why(fill: Fill, pattern: str, position: int | None):
    with pytest.raises(ToolFailed, match="Invalid pattern") as caught:
        await fill().search.grep(GrepQuery(pattern))

    assert caught.value.details["code"] == "invalid_pattern"
    assert caught.value.details["position"] == position
    assert caught.value.details["reason"]


async def test_invalid_globs_are_refused(fill: Fill):
    search = fill().search

    for call in (search.find(FindQuery(pattern="[a")), search.grep(GrepQuery("x", glob="{a"))):
        with pytest.raises(ToolFailed, match="Invalid glob") as caught:
            await call
        assert caught.value.details["code"] == "invalid_pattern"


async def test_searching_where_no_folder_is_says_so(fill: Fill):
    search = fill({"a.txt": ""}).search

    with pytest.raises(ToolFailed, match="File not found"):
        await search.grep(GrepQuery("x", path="gone"))
    with pytest.raises(ToolFailed, match="not a directory"):
        await search.find(FindQuery(path="a.txt"))


@pytest.mark.requirement("CTX-08")
@pytest.mark.parametrize("path", ["..", "/etc", "a/../.."])
async def test_searching_outside_is_refused(fill: Fill, path: str):
    search = fill({"a/b": ""}).search

    with pytest.raises(OutsideWorkspace):
        await search.find(FindQuery(path=path))
    with pytest.raises(OutsideWorkspace):
        await search.grep(GrepQuery("x", path=path))


async def test_an_ignore_file_for_searches_counts_before_gitignore(fill: Fill):
    operations = fill(
        {".gitignore": "*.log\n", ".ignore": "!keep.log\ndata/\n", "keep.log": "", "no.log": ""}
        | {"data/x": "", "sub/.ignore": "y\n", "sub/y": "", "sub/z": "", ".rgignore": "sub\n"}
    )

    assert await found(operations) == ["keep.log", "sub/z"]


async def test_find_goes_down_as_far_as_asked(fill: Fill):
    operations = fill({"a": "", "b/c": "", "b/d/e": ""})

    assert await found(operations, type="all", max_depth=1) == ["a", "b"]
    assert await found(operations, type="all", max_depth=2) == ["a", "b", "b/c", "b/d"]
    assert await found(operations, path="b", max_depth=1) == ["b/c"]
    assert await matching(operations, "", max_depth=1) == []


async def test_a_glob_turned_round_leaves_out(fill: Fill):
    operations = fill({"a.py": "x", "b.md": "x", "!c.md": "x"})

    assert await found(operations, pattern="!*.md") == ["a.py"]
    assert await matching(operations, "x", glob="!*.py") == ["!c.md", "b.md"]
    assert await found(operations, pattern=r"\!*") == ["!c.md"]
    assert await matching(operations, "x", glob="*.PY", glob_case_insensitive=True) == ["a.py"]


@pytest.mark.requirement("FIL-11")
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-16-be"])
async def test_text_with_a_byte_order_mark_is_searched(fill: Fill, encoding: str):
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    text = mark + "import 你好\nsecond\n".encode(encoding)
    operations = fill({"a": "first\n", "b": text, "c": "import\n"})

    assert await lines(operations, "^import") == (
        GrepLine("b", 1, "import 你好"),
        GrepLine("c", 1, "import"),
    )
    assert await matching(operations, r"\Asecond|\Aimport") == ["b", "c"]


async def test_words_are_those_of_every_script(fill: Fill):
    operations = fill({"a": "cat\nconcat\n_cat\n(cat)\nécat\n猫cat\nbobcat cat"})

    result = await lines(operations, "cat", word=True)
    assert [line.line_number for line in result] == [1, 4, 7]
    literal = await lines(operations, "(cat)", word=True, fixed_strings=True)
    assert [line.line_number for line in literal] == [4]
    unbalanced = await lines(operations, "(cat", word=True, fixed_strings=True)
    assert [line.line_number for line in unbalanced] == [4]
    alternatives = await lines(operations, "concat|CAT", word=True, case_insensitive=True)
    assert [line.line_number for line in alternatives] == [1, 2, 4, 7]


@pytest.mark.parametrize("pattern", ["a)(b", "a)|(b"])
async def test_a_broken_pattern_is_not_mended_by_the_frame_of_a_word(fill: Fill, pattern: str):
    with pytest.raises(ToolFailed) as caught:
        await fill().search.grep(GrepQuery(pattern, word=True))
    assert caught.value.details["code"] == "invalid_pattern"


async def test_lines_without_a_match_are_found(fill: Fill):
    operations = fill({"a": "x\n1\nx\n2\n\n", "b": "x\n", "c": "3"})

    wanted = [(line.path, line.line_number) for line in await lines(operations, "x", invert=True)]
    assert wanted == [("a", 2), ("a", 4), ("a", 5), ("c", 1)]
    assert await matching(operations, "x", invert=True) == ["a", "c"]
    spanning = await lines(operations, r"1.x", invert=True, multiline=True)
    assert [(line.path, line.line_number) for line in spanning] == [
        ("a", 1),
        ("a", 4),
        ("a", 5),
        ("b", 1),
        ("c", 1),
    ]


async def test_a_file_named_by_its_path_may_be_larger(fill: Fill):
    operations = fill({"a": "needle" * 9})
    limits = {"max_file_bytes": 20, "max_named_bytes": 60}

    assert await matching(operations, "needle", **limits) == []
    assert await matching(operations, "needle", path="a", **limits) == ["a"]
    assert await matching(operations, "needle", path="a", max_named_bytes=50) == []
