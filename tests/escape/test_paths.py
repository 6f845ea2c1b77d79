"""Paths that lead out of the workspace, in every spelling, to every kind of operation."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from app.core.errors import TollgateError
from app.operations.local.workspace import LocalWorkspace
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessSpec
from app.operations.protocols.search import FindQuery, GrepQuery
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
from tests.operations.conftest import names
from tests.operations.local.test_symlink_race import state_of

SECRET = "a secret that lies outside"

# How `..` and `/` have been written by those who got past a check of the text.
CLIMBS = (
    "../",
    "..//",
    "./../",
    ".././",
    "sub/../../",
    "sub/./.././../",
    "gone/../../",
    "hello.txt/../../",
    "%2e%2e/",
    "%2e%2e%2f",
    "..%2f",
    "..%252f",
    "%252e%252e%252f",
    "..%c0%af",
    "%c0%ae%c0%ae/",
    "..\\",
    "..\\/",
    "....//",
    "..;/",
    "\uff0e\uff0e/",
    "\u2025/",
    "..\u2215",
    "..\uff0f",
    "\udc2e\udc2e/",
    "..\udcc0\udcaf",
    "..\x00/",
    "../\x00",
    "..\r\n/",
    " ../",
    "\t../",
    ".\u200b./",
    "file://../",
    "~/../",
    "$PWD/../",
)
TARGETS = ("ws-evil/secret.txt", "outside/secret.txt", "ws-evil", "outside")
ABSOLUTE = (
    "{base}/outside/secret.txt",
    "{base}/ws-evil/secret.txt",
    "{base}/ws/../outside/secret.txt",
    "{base}/ws/../ws-evil/secret.txt",
    "{base}/ws-evil",
    "//{base}/outside/secret.txt",
    "/{base}/ws/..//outside/secret.txt",
    "/etc/passwd",
    "/proc/self/environ",
    "/proc/self/root{base}/outside/secret.txt",
    "/proc/self/cwd/../outside/secret.txt",
    "/proc/thread-self/root{base}/outside/secret.txt",
    "/dev/fd/3",
    "file://{base}/outside/secret.txt",
)
LINKS = (
    "{base}/outside",
    "../outside",
    "../ws-evil",
    "/proc/self/root{base}/outside",
    "../../../../../../../../../../proc/self/root{base}/outside",
    "/proc/self/cwd",
    "/",
)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "ws" / "sub").mkdir(parents=True)
    (tmp_path / "ws" / "hello.txt").write_text("hello")
    for name in ("outside", "ws-evil"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "secret.txt").write_text(SECRET)
    return tmp_path


@pytest.fixture
def operations(base: Path) -> Iterator[Operations]:
    with LocalWorkspace(base / "ws") as workspace:
        yield workspace.operations


async def try_everything(operations: Operations, path: str) -> list[str]:
    """Do all there is to do with `path`; what came back. Only typed errors are answers."""
    said = []
    for step in steps(operations, path):
        try:
            said.append(repr(await step()))
        except TollgateError as error:
            said.append(f"{error.message} {error.details}")
    return said


def steps(operations: Operations, path: str) -> list[Callable[[], Awaitable[object]]]:
    files, search = operations.files, operations.search
    return [
        lambda: files.read(path, max_bytes=9999),
        lambda: files.stat(path),
        lambda: files.list_dir(path),
        lambda: search.find(FindQuery(path=path)),
        lambda: search.grep(GrepQuery("secret", path=path)),
        lambda: files.write(path, b"changed"),
        lambda: files.write(path, b"changed", append=True),
        lambda: files.write(f"{path}/new.txt", b"new"),
        lambda: files.edit(path, bytes.upper),
        lambda: files.make_dir(f"{path}/new"),
        lambda: files.delete(f"{path}/secret.txt"),
        lambda: files.delete(path),
    ]


def outside_of(base: Path) -> dict[str, tuple[int, int, int, bytes]]:
    return state_of(base / "outside") | state_of(base / "ws-evil")


@pytest.mark.requirement("CTX-08", "B-16")
@pytest.mark.parametrize("climb", CLIMBS, ids=ascii)
async def test_no_spelling_of_the_parent_leads_out(operations: Operations, base: Path, climb: str):
    before = outside_of(base)

    said = [await try_everything(operations, climb + target) for target in TARGETS]

    assert SECRET not in str(said)
    assert outside_of(base) == before
    assert names(base) == ["outside", "ws", "ws-evil"]


@pytest.mark.requirement("CTX-08")
@pytest.mark.parametrize("path", ABSOLUTE)
async def test_no_absolute_path_leads_out(operations: Operations, base: Path, path: str):
    before = outside_of(base)

    said = await try_everything(operations, path.format(base=base))

    assert SECRET not in str(said)
    assert "root:" not in str(said)
    assert outside_of(base) == before


@pytest.mark.requirement("CTX-08")
@pytest.mark.parametrize("target", LINKS)
async def test_no_link_leads_out(operations: Operations, base: Path, target: str):
    (base / "ws" / "link").symlink_to(target.format(base=base))
    before = outside_of(base)

    said = [
        await try_everything(operations, path)
        for path in ("link/secret.txt", "link/../outside/secret.txt", "sub/../link/secret.txt")
    ]

    assert SECRET not in str(said)
    assert outside_of(base) == before


@pytest.mark.requirement("CTX-08")
async def test_a_hard_link_is_never_written_through(operations: Operations, base: Path):
    for name in ("written", "appended", "edited", "deleted"):
        os.link(base / "outside" / "secret.txt", base / "ws" / name)

    await operations.files.write("written", b"changed")
    await operations.files.write("appended", b"changed", append=True)
    await operations.files.edit("edited", bytes.upper)
    await operations.files.delete("deleted")

    assert (base / "outside" / "secret.txt").read_text() == SECRET
    assert (base / "outside" / "secret.txt").stat().st_nlink == 1


@pytest.mark.requirement("CTX-08")
@pytest.mark.parametrize("folder", ["..", "../outside", "link", "sub/../../outside", "/", "/proc"])
async def test_no_program_starts_outside(base: Path, folder: str):
    (base / "ws" / "link").symlink_to("../outside")
    sandbox = Sandbox(SandboxConfig(temporary=base / "private"))
    try:
        async with SandboxedWorkspace(base / "ws", sandbox=sandbox) as workspace:
            processes = workspace.operations.processes
            with pytest.raises(TollgateError) as caught:
                async with processes.open(ProcessSpec(("pwd",), cwd=folder)):
                    pass
    finally:
        await sandbox.close()
    assert caught.value.code == "outside_workspace"
