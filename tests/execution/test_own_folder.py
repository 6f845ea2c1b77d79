"""A workspace that holds the service's own data: nothing that agents use reaches it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.config.settings import Settings
from app.core.errors import ConfigurationError
from tests.execution.lab import Lab, open_lab


@pytest.fixture
async def around(settings: Settings) -> AsyncIterator[Lab]:
    """A service whose workspace is the folder around its data directory."""
    workspace = settings.data_dir.parent
    (workspace / "mine.txt").write_text("needle of mine")
    (settings.data_dir / "secret.txt").write_text("needle of the service")
    (workspace / "way").symlink_to(settings.data_dir.name)
    async with open_lab(settings.model_copy(update={"workspace": workspace})) as lab:
        yield lab


@pytest.fixture
def data(settings: Settings) -> str:
    return settings.data_dir.name


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "{}/secret.txt"}),
        ("read_file", {"path": "way/secret.txt"}),
        ("write_file", {"path": "{}/secret.txt", "content": "x"}),
        ("write_file", {"path": "way/new/deep.txt", "content": "x"}),
        ("list_dir", {"path": "{}"}),
        ("file_mkdir", {"path": "{}/hooks/mine"}),
        ("grep", {"pattern": "needle", "path": "{}"}),
        ("find_files", {"pattern": "*", "path": "way"}),
    ],
)
async def test_file_tools_stay_out(around: Lab, data: str, tool: str, arguments: dict[str, str]):
    outcome = await around.call(tool, **{k: v.format(data) for k, v in arguments.items()})

    assert outcome.status == "error"
    assert outcome.result.code == "permission_denied"


async def test_searches_pass_it_by(around: Lab, data: str):
    grepped = await around.call("grep", pattern="needle")
    found = await around.call("find_files", call_id="c2", pattern="*.txt")

    assert "mine.txt" in grepped.text
    assert "of the service" not in grepped.text
    assert "secret.txt" not in found.text


async def test_programs_find_an_empty_folder(around: Lab, data: str):
    command = (
        f"ls -A {data} | wc -l; python3 -c \"print(open('mine.txt').read())\"; "
        f"(echo x > {data}/new) 2>/dev/null || echo refused"
    )
    running = asyncio.create_task(around.call("bash", command=command))
    await around.answer("approve_once")
    outcome = await running

    assert outcome.result.data["stdout"].split("\n")[:3] == ["0", "needle of mine", "refused"]


async def test_the_data_directory_itself_is_no_workspace(settings: Settings):
    with pytest.raises(ConfigurationError, match="TOLLGATE_WORKSPACE"):
        async with open_lab(settings.model_copy(update={"workspace": settings.data_dir})):
            raise AssertionError


async def test_what_was_hidden_is_untouched(around: Lab, settings: Settings):
    assert (settings.data_dir / "secret.txt").read_text() == "needle of the service"
    assert os.access(Path(settings.database_path), os.R_OK)
