from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.operations.content_detection import with_plain_breaks
from app.operations.grep_page import GrepPage, Joined
from app.operations.protocols.search import GrepQuery, GrepResult
from app.operations.scan import STEP_BYTES, LineMatcher

CONTENT = st.text(st.sampled_from("ab \n\r"), max_size=60).map(str.encode)
PATTERNS = st.sampled_from(["a", "ab", "^a", "b$", "a.b", r"a\s*b", "[^a]+", "", "$", "a|b ", "^$"])


def plain(content: bytes) -> bytes:
    found = with_plain_breaks(bytearray(content), 0, len(content))
    return content if found is None else found


def numbers(pattern: str, content: bytes, **query) -> list[int]:
    wanted = GrepQuery(pattern, limit=0, **query)
    page = GrepPage(wanted, LineMatcher(wanted))
    page.add("f", bytearray(content), len(content))
    return [line.line_number for line in page.result().lines]


@given(PATTERNS, CONTENT)
def test_searching_a_buffer_finds_what_searching_each_line_finds(pattern: str, content: bytes):
    lines = plain(content).removesuffix(b"\n").split(b"\n") if content else []
    regex = re.compile(pattern.encode())

    expected = [number for number, line in enumerate(lines, 1) if regex.search(line)]

    assert numbers(pattern, content) == expected


@given(pattern=PATTERNS, content=CONTENT, step=st.integers(1, 12), invert=st.booleans())
def test_searching_by_steps_finds_the_same(
    pattern: str, content: bytes, step: int, *, invert: bool
):
    query = GrepQuery(pattern, limit=0, invert=invert)
    pages = [
        GrepPage(query, matcher)
        for matcher in (LineMatcher(query), LineMatcher(query, step_bytes=step))
    ]
    for page in pages:
        page.add("f", bytearray(content), len(content))
    assert pages[0].result() == pages[1].result()


def test_a_search_can_be_ended_between_two_steps():
    query = GrepQuery("x+y", limit=0)
    steps: list[None] = []

    def check() -> None:
        steps.append(None)
        if len(steps) == 3:
            raise TimeoutError

    page = GrepPage(query, LineMatcher(query, check))
    content = bytearray(b"no match here\n" * (10 * STEP_BYTES // 14))
    with pytest.raises(TimeoutError):
        page.add("f", content, len(content))


@pytest.mark.parametrize("joined", [False, True])
def test_a_line_too_long_for_its_pattern_is_skipped_and_counted(*, joined: bool):
    query = GrepQuery(r"([\pL]{0,20}b){0,9}c", limit=0)
    page = GrepPage(query, LineMatcher(query))
    line, other = b"a" * (1 << 20), b"bc\n"
    if joined:
        buffer = bytearray(line + b"\n" + other)
        files = [Joined("long", 0, len(line)), Joined("short", len(line) + 1, len(buffer) - 1)]
        page.add_joined(files, buffer)
    else:
        page.add("long", bytearray(line), len(line))
        page.add("short", bytearray(other), len(other))
    result = page.result()
    assert ([hit.path for hit in result.lines], result.files_skipped) == (["short"], 1)
    assert result.files_searched == 1


@given(st.text(st.sampled_from("ab("), min_size=1, max_size=3), CONTENT)
def test_a_literal_finds_what_its_escaped_pattern_finds(literal: str, content: bytes):
    assert numbers(literal, content, fixed_strings=True) == numbers(re.escape(literal), content)


def test_stale_bytes_behind_the_end_are_not_searched():
    query = GrepQuery("needle", limit=0)
    page = GrepPage(query, LineMatcher(query))

    page.add("f", bytearray(b"nothing\nneedle\n"), 8)

    assert page.result().lines == ()


def test_a_very_long_line_is_cut():
    query = GrepQuery("x$")
    page = GrepPage(query, LineMatcher(query))
    content = b"y" * 100_000 + b"x"

    page.add("f", bytearray(content), len(content))

    text = page.result().lines[0].text
    assert text.endswith("(line truncated)")
    assert len(text) < 20_000


def joined(query: GrepQuery, contents: list[bytes]) -> GrepResult:
    buffer, files = bytearray(), []
    for number, content in enumerate(map(plain, contents)):
        files.append(Joined(str(number), len(buffer), len(buffer) + len(content)))
        buffer += content + b"\n"
    page = GrepPage(query, LineMatcher(query))
    page.add_joined(files, buffer + b"a stale needle b")
    return page.result()


def one_by_one(query: GrepQuery, contents: list[bytes]) -> GrepResult:
    page = GrepPage(query, LineMatcher(query))
    for number, content in enumerate(contents):
        page.add(str(number), bytearray(content), len(content))
    return page.result()


OWN_TEXT = st.sampled_from(
    [r"\Aa", r"b\z", r"(?-m)^a", r"(?-m:b$)", r"\ba\b", r"\B", "(?i)A", "\x00"]
)


@given(
    PATTERNS | OWN_TEXT,
    st.lists(CONTENT | st.sampled_from([b"", b"\0", b"a\0b", b"\xe4\xbd", b"a" * 20]), max_size=6),
    st.sampled_from(["content", "files_with_matches", "count"]),
    st.fixed_dictionaries({"word": st.booleans(), "invert": st.booleans()}),
)
def test_files_searched_together_give_what_each_gives_alone(
    pattern: str, contents: list[bytes], mode: str, how: dict[str, bool]
):
    query = GrepQuery(pattern, mode=mode, limit=0, **how)  # type: ignore[arg-type]
    assert joined(query, contents) == one_by_one(query, contents)


@pytest.mark.parametrize("invert", [False, True])
def test_a_carriage_return_before_a_line_ending_stays_in_files_searched_together(*, invert: bool):
    query = GrepQuery("[^a]+", limit=0, invert=invert)
    contents = [b"\r\r\n", b"\0\r\r\n", b"a\r\r\na\r\n"]
    assert joined(query, contents) == one_by_one(query, contents)


@given(st.lists(CONTENT, max_size=5), st.integers(0, 6), st.integers(1, 6))
def test_a_page_is_the_same_however_files_are_fed(contents: list[bytes], offset: int, limit: int):
    query = GrepQuery("a", offset=offset, limit=limit, before=1, after=1)
    assert joined(query, contents) == one_by_one(query, contents)
