"""What a terminal would still show of a text, however it comes in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tools.shell.frames import Frames, last_frames


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("\r[1] a\r[2] b\nend", "[2] b\nend"),
        ("long text\rabc\n", "abcg text\n"),
        ("a\r\nb\r\n", "a\r\nb\r\n"),
        ("|\b/\b-\bdone\n", "done\n"),
        ("one\ntwo\n\x1b[2A\x1b[2KONE\n\x1b[2KTWO\nthree\n", "ONE\nTWO\nthree\n"),
        ("fetching\x1b[2K\x1b[1Gready\n", "ready\n"),
        ("\x1b[32mok\x1b[0m\n", "\x1b[32mok\x1b[0m\n"),
        ("50%\r", "50%"),
        ("a\x1b[999999Cb\n\x1b[999999Gc", "a" + " " * 299 + "b\n" + " " * 300 + "c"),
        ("a\x1b[99999999Ab\x1b[99999999Bc", "ab" + "\n" * 100 + "  c"),
    ],
)
def test_the_last_frame_stays(text: str, wanted: str):
    assert last_frames(text) == wanted


PIECES = ["a", "b", "\r", "\n", "\r\n", "\x08", "\x1b[K", "\x1b[2A", "\x1b[1G", "\x1b[31m", " "]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.integers(1, 7))
def test_it_is_the_same_in_pieces(text: str, size: int):
    found: list[str] = []
    frames = Frames(found.append)
    for start in range(0, len(text), size):
        frames.add(text[start : start + size])
    frames.finish()
    assert "".join(found) == last_frames(text)


@pytest.mark.parametrize("piece", ["\r", "x\r\r", "\x1b[1K", "\x1b[1P", "x\x08"])
def test_no_text_takes_more_than_its_length(piece: str):
    # With time by the square of its length, each of these takes minutes.
    assert len(last_frames("x" * 20_000 + "\r" * (piece == "\x1b[1P") + piece * 300_000)) < 400_000


@given(st.lists(st.text("abc\n", max_size=30_000), max_size=8))
def test_a_text_without_frames_stays_as_it_is(pieces: list[str]):
    found: list[str] = []
    frames = Frames(found.append)
    for piece in pieces:
        frames.add(piece)
    frames.finish()
    assert "".join(found) == "".join(pieces)


def test_a_line_without_end_is_not_kept_for_ever():
    found: list[str] = []
    frames = Frames(found.append)
    frames.add("\rx")
    for _ in range(10):
        frames.add("y" * 50_000)
    assert len("".join(found)) > 400_000
