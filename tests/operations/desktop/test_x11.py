"""Texts typed into a real window on a virtual display."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from app.operations.desktop.programs import X11Programs
from app.operations.desktop.protocol import DriverFailed, TextJob
from app.operations.desktop.x11 import X11Driver, X11Options
from app.operations.local.environment import SAFE_PATH
from tests.operations.desktop.display import TITLE, chat_window, virtual_display
from tests.support.binaries import require_binary

TEXTS = [
    "你好，世界！\n第二行\t“引号” 'single' \"double\"",
    "$(touch /tmp/x); `id` && rm -rf ~ | cat > a \\ % -- --file -",
    "--window 1 key Return",
    "\n leading and trailing \n",
    "日本語 العربية Ελληνικά café\u200b\u2060",
    "x" * 4000,
]
# Ends before it has told the display, as the real one may on a busy machine.
LATE_XCLIP = """#!/bin/bash
case "$*" in
*-i*) cat > {folder}/text; (sleep 0.2; {real} "$@" < {folder}/text) & ;;
*) exec {real} "$@" ;;
esac
"""


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with virtual_display() as found:
        yield found


def driver(environment: dict[str, str], **options: Any) -> X11Driver:
    return X11Driver(X11Programs(environment), X11Options(**{"pause_s": 0.05, **options}))


class Leave:
    """Counts what the driver asks and tells; `refusal` is raised when it asks for leave."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.refusal = refusal
        self.asked = 0
        self.stages: list[str] = []

    async def begin(self) -> None:
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal

    async def report(self, stage: str) -> None:
        self.stages.append(stage)


@pytest.mark.parametrize("text", TEXTS)
async def test_a_text_arrives_as_it_was_written(environment: dict[str, str], text: str):
    leave = Leave()
    async with chat_window(environment) as window:
        job = TextJob("项目 (A) [1]", text)
        sent = await driver(environment).send_text(job, begin=leave.begin, report=leave.report)
        got = await window.next("text")
    assert got == {"group": "项目 (A) [1]", "text": text}
    assert (sent.verified, leave.asked) == (True, 1)
    assert leave.stages == ["finding the window", "searching for the group", "pasting the text"]


async def test_several_texts_after_each_other_are_each_sent_once(environment: dict[str, str]):
    leave = Leave()
    async with chat_window(environment) as window:
        for number in range(3):
            job = TextJob(f"g{number}", f"text {number}")
            await driver(environment).send_text(job, begin=leave.begin, report=leave.report)
            assert await window.next("text") == {"group": job.target, "text": job.text}
    assert sum("text" in reported for reported in window.reported) == 3


async def test_the_clipboard_is_put_back(environment: dict[str, str]):
    programs, leave = X11Programs(environment), Leave()
    await programs.set_clipboard("was da lag: ü".encode())
    async with chat_window(environment):
        job = TextJob("g", "text")
        await driver(environment).send_text(job, begin=leave.begin, report=leave.report)
        assert await programs.clipboard() == "was da lag: ü".encode()


async def test_a_clipboard_that_is_written_late_is_waited_for(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    late = tmp_path / "xclip"
    late.write_text(LATE_XCLIP.format(folder=tmp_path, real=require_binary("xclip")))
    late.chmod(0o755)
    monkeypatch.setattr("app.operations.desktop.programs.SAFE_PATH", f"{tmp_path}:{SAFE_PATH}")
    programs = X11Programs(environment)
    for text in (b"one", b"another"):
        await programs.set_clipboard(text)
        assert await programs.clipboard() == text


async def test_a_window_of_the_group_itself_needs_no_search(environment: dict[str, str]):
    leave = Leave()
    async with (
        chat_window(environment, "客户群", "detached") as window,
        chat_window(environment, "other", "detached"),
    ):
        detached = driver(environment, detached=True)
        job = TextJob("客户群", "你好")
        await detached.send_text(job, begin=leave.begin, report=leave.report)
        assert await window.next("text") == {"group": "客户群", "text": "你好"}
        missing = TextJob("客户", "你好")
        with pytest.raises(DriverFailed, match="No window has the title") as failed:
            await detached.send_text(missing, begin=leave.begin, report=leave.report)
    assert failed.value.details == {"reason": "window_not_found"}


async def test_ascii_can_be_typed_where_nothing_can_be_pasted(environment: dict[str, str]):
    leave = Leave()
    typing = driver(environment, paste=False)
    async with chat_window(environment) as window:
        job = TextJob("Group 1", 'a "b" $(c) \\d')
        await typing.send_text(job, begin=leave.begin, report=leave.report)
        assert await window.next("text") == {"group": "Group 1", "text": job.text}
        with pytest.raises(DriverFailed) as failed:
            await typing.send_text(
                TextJob("Group 1", "你好"), begin=leave.begin, report=leave.report
            )
    assert failed.value.details == {"reason": "text_not_sendable"}


async def test_without_leave_nothing_is_sent_and_nothing_stays(environment: dict[str, str]):
    refused = Leave(DriverFailed("taken back"))
    async with chat_window(environment) as window:
        with pytest.raises(DriverFailed, match="taken back"):
            await driver(environment).send_text(
                TextJob("g", "secret"), begin=refused.begin, report=refused.report
            )
        # Without searching, the next text would be added to whatever is still there.
        leave = Leave()
        job = TextJob("g", "next")
        await driver(environment).send_text(job, begin=leave.begin, report=leave.report)
        assert await window.next("text") == {"group": "g", "text": "next"}


async def test_two_windows_of_one_title_are_one_too_many(environment: dict[str, str]):
    leave = Leave()
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(chat_window(environment, TITLE))
        with pytest.raises(DriverFailed) as failed:
            await driver(environment).send_text(
                TextJob("g", "x"), begin=leave.begin, report=leave.report
            )
    assert failed.value.details == {"reason": "window_ambiguous"}
    assert leave.asked == 0


@pytest.mark.parametrize("title", ["微信.", ".*", "^微信$", "(", "WEIXIN"])
async def test_a_title_is_no_pattern(environment: dict[str, str], title: str):
    leave = Leave()
    async with chat_window(environment), chat_window(environment, "weixin"):
        with pytest.raises(DriverFailed) as failed:
            await driver(environment, title=title).send_text(
                TextJob("g", "x"), begin=leave.begin, report=leave.report
            )
    assert failed.value.details == {"reason": "window_not_found"}


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("g", "\x1b[2J"),
        ("g", "a\rb"),
        ("g", "\x00"),
        ("g", "\x03"),
        ("g", "a\u2028b"),
        ("g\n", "x"),
        ("\x1b", "x"),
    ],
)
async def test_keys_that_hide_in_texts_are_refused_before_anything_is_touched(
    target: str, text: str
):
    leave = Leave()
    nowhere = driver({"DISPLAY": ":65000"})
    with pytest.raises(DriverFailed) as failed:
        await nowhere.send_text(TextJob(target, text), begin=leave.begin, report=leave.report)
    assert failed.value.details == {"reason": "text_not_sendable"}
    assert leave.stages == []


async def test_without_a_display_the_driver_says_so():
    with pytest.raises(DriverFailed, match="DISPLAY is not set"):
        await driver({}).check()
    leave = Leave()
    with pytest.raises(DriverFailed):
        await driver({"DISPLAY": ":65000"}).send_text(
            TextJob("g", "x"), begin=leave.begin, report=leave.report
        )
    assert leave.asked == 0
