"""Language servers on demand, with a small real one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config.language_servers import LanguageServerSettings, LanguageServersSettings
from app.core.errors import ToolFailed
from app.operations.language_servers.pool import LanguageServerPool, installed_servers
from app.operations.local.workspace import LocalWorkspace
from app.operations.protocols.operations import Operations
from tests.operations.language_servers import small_server

SMALL = LanguageServerSettings(
    name="small",
    command=[sys.executable, "-I", str(Path(small_server.__file__))],
    extensions={".small": "small"},
    settings={"small": {"depth": 3}},
)


@pytest.fixture
def operations(tmp_path: Path) -> Any:
    with LocalWorkspace(tmp_path) as workspace:
        yield workspace.operations


@asynccontextmanager
async def open_pool(**settings: Any) -> AsyncIterator[LanguageServerPool]:
    other = SMALL.model_copy(update={"name": "other", "extensions": {"other": "other"}})
    pool = LanguageServerPool(LanguageServersSettings(**settings), [SMALL, other])
    try:
        yield pool
    finally:
        await pool.close()


async def hover(pool: LanguageServerPool, operations: Operations, path: str, text: str) -> str:
    """What a server says about `text`, which is written to `path` first."""
    await operations.files.write(path, text.encode())
    async with pool.use(operations, path=path) as server:
        document = await server.open(path)
        params = {
            "textDocument": {"uri": document.uri},
            "position": {"line": 0, "character": 0},
        }
        answer = await server.request("textDocument/hover", params)
        return str(answer["contents"])


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def until(done: Callable[[], bool]) -> None:
    """Let others run until `done`, which nothing tells."""
    while not done():  # noqa: ASYNC110 - the end of a process in the background has no event
        await asyncio.sleep(0)


async def test_one_server_answers_all_questions_about_its_files(operations: Operations):
    async with open_pool() as pool:
        texts = [hover(pool, operations, f"{number}.small", f"{number}") for number in range(5)]
        answers = await asyncio.gather(*texts)
        assert len({answer.split()[0] for answer in answers}) == 1
        assert [answer.split()[1] for answer in answers] == ["0", "1", "2", "3", "4"]
        assert pool.running == ["small"]
    assert gone(int(answers[0].split()[0]))


async def test_a_server_that_dies_fails_its_question_and_is_started_again(operations: Operations):
    async with open_pool() as pool:
        first = await hover(pool, operations, "a.small", "hello")
        with pytest.raises(ToolFailed, match="'small' has exited: I am dying") as caught:
            await hover(pool, operations, "a.small", "die")
        assert caught.value.details["code"] == "language_server_died"
        second = await hover(pool, operations, "a.small", "hello")
        assert first.split()[0] != second.split()[0]


async def test_a_server_that_keeps_dying_is_left_alone_for_a_while(operations: Operations):
    async with open_pool() as pool:
        codes = []
        for _ in range(4):
            with pytest.raises(ToolFailed) as caught:
                await hover(pool, operations, "a.small", "die")
            codes.append(caught.value.details["code"])
        assert codes[:2] == ["language_server_died"] * 2
        assert codes[-1] == "language_server_broken"
        assert caught.value.details["retry_after_s"] > 0


async def test_what_is_no_message_ends_the_server(operations: Operations):
    async with open_pool() as pool:
        with pytest.raises(ToolFailed, match="a header without Content-Length"):
            await hover(pool, operations, "a.small", "garbage")
        assert (await hover(pool, operations, "a.small", "hello")).endswith("hello")


async def test_a_server_gets_its_settings_and_may_change_nothing(operations: Operations):
    async with open_pool() as pool:
        answer = await hover(pool, operations, "a.small", "ask")
        assert json.loads(answer) == [[3, None], False, -32601]


async def test_an_error_of_the_server_is_reported(operations: Operations):
    async with open_pool() as pool:
        with pytest.raises(ToolFailed, match="'small' refused: not today"):
            await hover(pool, operations, "a.small", "refuse")


async def test_published_diagnostics_belong_to_what_is_on_the_disk(operations: Operations):
    async with open_pool() as pool:
        for version in (1, 2):
            await operations.files.write("a.small", f"text {version}".encode())
            async with pool.use(operations, path="a.small") as server:
                items = await server.diagnostics(await server.open("a.small"))
            assert [item["message"] for item in items] == [f"v{version}"]


async def test_a_server_that_nobody_asks_is_ended(operations: Operations):
    async with open_pool(idle_s=0.05) as pool:
        pid = int((await hover(pool, operations, "a.small", "hello")).split()[0])
        async with asyncio.timeout(60):
            await until(lambda: gone(pid))
        assert pool.running == []
        assert (await hover(pool, operations, "a.small", "back")).endswith("back")


async def test_one_too_many_takes_the_place_of_one_that_rests(operations: Operations):
    async with open_pool(max_running=1) as pool:
        await hover(pool, operations, "a.small", "hello")
        await hover(pool, operations, "a.other", "hello")
        assert pool.running == ["other"]
        async with pool.use(operations, name="other"):
            with pytest.raises(ToolFailed) as caught:
                await hover(pool, operations, "a.small", "hello")
        assert caught.value.details["code"] == "too_many_language_servers"


async def test_a_program_that_is_missing_is_an_error_of_the_question(operations: Operations):
    absent = SMALL.model_copy(update={"command": ["no-such-language-server"]})
    pool = LanguageServerPool(LanguageServersSettings(), [absent])
    with pytest.raises(ToolFailed) as caught:
        await hover(pool, operations, "a.small", "hello")
    assert caught.value.details["code"] == "program_not_found"
    await pool.close()


async def test_a_cancelled_start_leaves_nothing(operations: Operations):
    async with open_pool() as pool:
        asking = asyncio.create_task(hover(pool, operations, "a.small", "hello"))
        await until(lambda: bool(pool.running))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert pool.running == []
        assert (await hover(pool, operations, "a.small", "hello")).endswith("hello")


def test_only_servers_whose_programs_are_there_are_offered():
    absent = SMALL.model_copy(update={"name": "absent", "command": ["no-such-language-server"]})
    relative = SMALL.model_copy(update={"name": "own", "command": ["./tools/server"]})
    settings = LanguageServersSettings(servers=[absent, SMALL, relative])
    assert [server.name for server in installed_servers(settings)] == ["small", "own", "ty"]


def test_two_servers_of_one_name_are_refused():
    with pytest.raises(ValueError, match="duplicate language server names: small"):
        LanguageServersSettings(servers=[SMALL, SMALL])


def test_the_example_configuration_is_one():
    example = Path(__file__).parents[3] / "examples" / "language_servers.yml"
    written = yaml.safe_load(example.read_text(encoding="utf-8"))
    settings = LanguageServersSettings.model_validate(written["language_servers"])
    assert [server.name for server in settings.servers] == ["typescript", "gopls"]
