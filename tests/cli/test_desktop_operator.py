"""`tollgate desktop-operator` against a real service, and in a real window."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.channels.operator_messages import Done
from app.channels.task_rows import DesktopTask, TaskFilter
from app.cli.desktop_link import checked_address
from app.cli.desktop_operator import DesktopOperator, OperatorOptions, PrintDriver, operate
from app.config.channels import ChannelSettings
from app.core.errors import InvalidInput
from app.execution.calls import CallRequest
from app.operations.desktop.programs import X11Programs
from app.operations.desktop.protocol import Begin, Report, Sent, TextJob
from app.operations.desktop.x11 import X11Driver, X11Options
from tests.channels.operator_lab import GROUP, channel, claim_of, operator
from tests.cli.program import tollgate
from tests.operations.desktop.display import chat_window, virtual_display
from tests.support.service import PATIENCE_S, Running, serving, settings_for

TEXT = "你好，\"世界\"！\n第二行 $(id) 'x'"
VARIABLE = "OPERATOR_OF_THIS_TEST"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    quick = ChannelSettings(wait_s=PATIENCE_S, lease_s=30)
    settings = settings_for(tmp_path, anthropic_api_key=None, channels=quick)
    async with serving(settings) as found:
        await channel(found.service.channels)
        yield found


def options(running: Running, **changes: Any) -> OperatorOptions:
    usual: dict[str, Any] = {
        "url": running.url,
        "token_env": VARIABLE,
        "name": "desk-1",
        "driver": "print",
        "dry_run": False,
        "once": True,
        "insecure": False,
        "x11": X11Options(pause_s=0.05),
    }
    return OperatorOptions(**usual | changes)


async def token(running: Running, *scopes: str) -> str:
    return (await running.service.tokens.create("deb", scopes or ("desktop",)))[0]


@asynccontextmanager
async def calling(running: Running, text: str = TEXT) -> AsyncIterator[None]:
    """A call of the tool, until it has ended."""
    arguments = {"text": text, "target": GROUP, "channel_id": "shop", "watermark": "none"}
    request = CallRequest("c1", "weixin_send_text", arguments)
    run = await running.service.runs.call_tools(running.session(), [request], caller="rest")
    yield
    async with asyncio.timeout(PATIENCE_S):
        await run.done


async def task(running: Running) -> DesktopTask:
    page = running.service.channels.desktop.page
    [found] = await page(TaskFilter(), limit=10, before=None)
    return found


async def test_a_call_ends_in_a_real_window(running: Running):
    with virtual_display() as environment:
        driver = X11Driver(X11Programs(environment), X11Options(pause_s=0.05))
        at_desk = DesktopOperator(options(running), await token(running), driver)
        async with chat_window(environment) as window, calling(running):
            assert await at_desk.run() == 0
            assert await window.next("text") == {"group": GROUP, "text": TEXT}
    found = await task(running)
    assert (found.status, found.result) == ("succeeded", '{"verified":true,"detail":""}')


async def test_a_printed_text_says_that_it_was_not_sent(
    running: Running, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv(VARIABLE, await token(running))
    async with calling(running, "a\u202eb"):
        assert await operate(options(running)) == 0
    assert capsys.readouterr().out == f"to {GROUP}: a\\u202eb\n"
    found = await task(running)
    assert found.result == '{"verified":false,"detail":"printed, not sent"}'


async def test_a_rehearsal_sends_nothing_and_says_so(
    running: Running, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv(VARIABLE, await token(running))
    async with calling(running):
        assert await operate(options(running, dry_run=True)) == 0
    assert capsys.readouterr().out.startswith(f"dry run, to {GROUP}: 你好")
    found = await task(running)
    assert (found.status, found.code, found.started_at) == ("failed", "driver_failed", None)


@pytest.mark.parametrize("scope", ["chat", None])
async def test_an_operator_that_may_not_come_in_ends(running: Running, scope: str | None):
    await token(running)
    secret = "tg_wrong" if scope is None else await token(running, scope)
    stranger = DesktopOperator(options(running), secret, PrintDriver())
    assert await stranger.run() == 1


class Relay:
    """A way to the service that can be cut."""

    def __init__(self, running: Running) -> None:
        self._port = int(running.url.rpartition(":")[2])
        self._writers: set[asyncio.StreamWriter] = set()
        self.url = ""

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Relay]:
        server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            self.cut()

    def cut(self) -> None:
        """End every connection, as a bad network would."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward, back = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers |= {writer, back}
        await asyncio.gather(_copy(reader, back), _copy(onward, writer), return_exceptions=True)
        self._writers -= {writer, back}


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
    writer.close()


class Cutting:
    """A driver whose connection is cut at its first text: before it has leave, or after it."""

    def __init__(self, relay: Relay, when: str) -> None:
        self._relay = relay
        self._when = when
        self.sent = 0
        self.tried = 0

    async def check(self) -> None:
        """Nothing is needed."""

    async def send_text(self, job: TextJob, *, begin: Begin, report: Report) -> Sent:
        """Send, which is counted."""
        self.tried += 1
        if (self.tried, self._when) == (1, "before"):
            self._relay.cut()
        await begin()
        self.sent += 1
        if (self.tried, self._when) == (1, "after"):
            self._relay.cut()
        return Sent(verified=True)


@pytest.mark.parametrize(("when", "tried"), [("before", 2), ("after", 1)])
async def test_a_text_is_sent_once_and_reported_over_a_connection_that_is_cut(
    running: Running, when: str, tried: int
):
    async with Relay(running).opened() as relay:
        driver = Cutting(relay, when)
        chosen = options(running, url=relay.url, once=False)
        working = asyncio.create_task(DesktopOperator(chosen, await token(running), driver).run())
        async with calling(running):
            pass
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    found = await task(running)
    assert (driver.sent, driver.tried, found.status) == (1, tried, "succeeded")


async def until_busy(working: asyncio.Task[int], capsys: pytest.CaptureFixture[str]) -> None:
    """Wait until the operator was told to finish what it holds."""
    reported = ""
    async with asyncio.timeout(PATIENCE_S):
        while "Finish your current task" not in reported:
            assert not working.done(), reported
            await asyncio.wait([working], timeout=0.01)
            reported += capsys.readouterr().err


async def test_an_operator_that_comes_back_waits_until_its_former_life_is_over(
    running: Running, capsys: pytest.CaptureFixture[str]
):
    secret, made = await running.service.tokens.create("deb", ["desktop"])
    desk, former = running.service.channels.operators, operator("desk-1", key=made.id)
    queued = asyncio.Event()
    with desk.news.listening(queued.set):
        async with calling(running):
            async with asyncio.timeout(PATIENCE_S):
                await queued.wait()
            held = await desk.claim(former)
            assert held is not None
            await desk.start(former, claim_of(held))
            chosen = options(running)
            working = asyncio.create_task(DesktopOperator(chosen, secret, PrintDriver()).run())
            await until_busy(working, capsys)
            await desk.complete(former, claim_of(held), Done())
    async with calling(running, "the next"):
        assert await working == 0
    assert capsys.readouterr().out == f"to {GROUP}: the next\n"


def test_without_a_token_the_program_says_what_to_do(tmp_path: Path):
    done = tollgate(tmp_path, "desktop-operator", "--url", "ws://127.0.0.1:1")
    assert done.returncode == 2
    assert "TOLLGATE_DESKTOP_TOKEN holds no token" in done.stderr


@pytest.mark.parametrize("url", ["ws://example.org", "http://10.0.0.1:8420", "ftp://x", "x", ""])
def test_an_address_that_shows_the_token_to_others_is_refused(url: str):
    with pytest.raises(InvalidInput):
        checked_address(url, insecure=False)


@pytest.mark.parametrize(
    "url", ["wss://example.org", "https://x/y", "ws://127.0.0.1:1", "ws://[::1]:1"]
)
def test_an_address_that_does_not_is_taken(url: str):
    assert checked_address(url + "/", insecure=False) == url
