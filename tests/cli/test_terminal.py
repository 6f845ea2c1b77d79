import asyncio
import os
import pty
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.descriptor_writer import DescriptorWriter
from app.cli.terminal import forget_typed, harmless, read_line, without_keys
from app.core.escaping import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls -la\npwd", "ls -la\npwd"),
        ("echo safe\rrm -rf x", "echo safe\\x0drm -rf x"),
        ("\x1b[8mhidden", "\\x1b[8mhidden"),
        ("abc\u202egnp.exe", "abc\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\U000e0041", "\\U000e0041"),
        ("删除 é", "删除 é"),
    ],
)
def test_what_a_person_decides_on_hides_nothing(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_no_control_or_format_character_is_left_to_act(text):
    left = {unicodedata.category(character) for character in visible(text).replace("\n", "")}
    assert left & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} == set()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b[2J\x1b[Htext", "text"),
        ("\x1b]52;c;ZXZpbA==\x1b\\text", "text"),
        ("\x1bPq#0\x1b\\text", "text"),
        ("a\tb\r\n", "a\tb\r\n"),
        ("bell\x07 back\x08", "bell back"),
    ],
)
def test_output_of_a_tool_keeps_its_colours_and_loses_its_other_controls(text, shown):
    assert harmless(text) == shown


@given(st.text(alphabet="\x1b[]PX^_;:0123456789mHJ?\x07\\ abc"))
def test_only_colour_sequences_survive(text):
    rest = harmless(text)
    while (start := rest.find("\x1b")) >= 0:
        end = rest.index("m", start)
        assert set(rest[start + 2 : end]) <= set("0123456789;:")
        rest = rest[end + 1 :]


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("\x1b[A", ""),
        ("\x1bOA\x1b[1;5C\x1b[3~\x1b[[A", ""),
        ("he\x1b[Dllo", "hello"),
        ("\x1bb\x01kept\x7f", "kept"),
        ("\x1b[200~pasted\twords\x1b[201~", "pasted\twords"),
        ("مرحبا 删除 [A", "مرحبا 删除 [A"),
    ],
)
def test_keys_that_are_no_letters_are_not_sent(typed, sent):
    assert without_keys(typed) == sent


async def test_what_was_typed_before_a_question_is_no_answer_to_it():
    master, slave = pty.openpty()
    os.write(master, b"y\n")
    forget_typed(slave)
    line = asyncio.create_task(read_line(slave))
    os.write(master, b"no\n")
    async with asyncio.timeout(60):
        assert await line == "no"
    os.close(master)
    os.close(slave)


async def test_a_writer_drops_live_output_only_and_only_when_nobody_reads():
    read_end, write_end = os.pipe()
    writer = DescriptorWriter(write_end, limit=200_000)
    for _ in range(100):
        writer.put(b"x" * 10_000, droppable=True)
    writer.put(b"the end")
    assert writer.dropped > 0
    closing = asyncio.create_task(writer.close())
    received = b""
    while not received.endswith(b"the end"):
        received += await asyncio.to_thread(os.read, read_end, 65536)
    async with asyncio.timeout(60):
        await closing
    assert len(received) == 100 * 10_000 - writer.dropped + len(b"the end")
    os.close(read_end)
    os.close(write_end)


async def test_a_writer_tells_when_its_reader_has_gone():
    read_end, write_end = os.pipe()
    gone = asyncio.Event()
    writer = DescriptorWriter(write_end)
    writer.on_closed(gone.set)
    os.close(read_end)
    writer.put(b"x")
    async with asyncio.timeout(60):
        await gone.wait()
        await writer.close()
    os.close(write_end)
