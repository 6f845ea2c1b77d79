"""Commands behind the real walls: what they print, and what they find around them."""

from __future__ import annotations

import errno
import json
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from app.core.clock import SystemClock
from app.core.redaction import Redactor
from app.domain.processes import SESSION_PROCESSES, SHELL_STATES
from app.execution.background.processes import Processes
from app.execution.background.states import SessionShells
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
from app.toolkit.context import ToolContext
from app.toolkit.ports import ARTIFACTS
from app.toolkit.services import Services
from app.toolkit.tool import Tool
from app.tools.code.execute_python import execute_python
from app.tools.shell.bash import bash
from app.tools.shell.process import process
from scripts.parts import SANDBOX
from tests.reports.samples import Row, samples
from tests.support.binaries import needs, require_binary
from tests.tools.calls import call
from tests.tools.code.conftest import Shelf

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (bash, execute_python, process)}


AUTHOR = ("Ann B", "ann@example.org")


@pytest.fixture
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    async with Sandbox(getattr(request, "param", None)) as opened:
        yield opened


@pytest.fixture
async def ctx(tmp_path: Path, sandbox: Sandbox) -> AsyncIterator[ToolContext]:
    """A call of a session in a workspace of its own."""
    processes = Processes(tmp_path / "processes", Redactor([]), SystemClock())
    services = Services(**{ARTIFACTS: Shelf()})
    services.register(SESSION_PROCESSES, processes)
    services.register(SHELL_STATES, SessionShells())
    root = tmp_path / "ws"
    root.mkdir()
    async with SandboxedWorkspace(root, sandbox=sandbox) as workspace:
        yield ToolContext(
            tool_call_id="call_1",
            operation_id="call_1",
            session_id="ses_1",
            project_id="project_1",
            services=services,
            bound_operations=workspace.operations,
        )
    await processes.close()


def is_there(path: Path) -> bool:
    return path.exists()


async def shown(ctx: ToolContext, row: Row) -> str:
    """Everything that the result of a row's call shows; the call succeeds as the row says."""
    root = Path(ctx.operations.root)
    (root / row["file"]).write_bytes(bytes.fromhex(row["before"]))
    result = await call(TOOLS[row["tool"]], ctx, **row["args"])
    assert result.success is row["right"]["success"], result.text
    return "\n".join([result.text or "", json.dumps(result.data, ensure_ascii=False)])


@pytest.mark.parametrize("row", samples("shell_progress_frames"))
async def test_of_a_line_that_is_drawn_again_the_last_frame_is_shown(ctx: ToolContext, row: Row):
    found = await shown(ctx, row)
    assert row["right"]["contains"] in found
    if row["right"]["not_contains"]:
        assert row["right"]["not_contains"] not in found


@needs(SANDBOX)
@pytest.mark.parametrize("row", samples("shell_loopback_inside_one_command"))
async def test_programs_of_one_command_reach_each_other(ctx: ToolContext, row: Row):
    assert row["right"]["contains"] in await shown(ctx, row)


@needs(SANDBOX)
@pytest.mark.parametrize("row", samples("shell_slash_tmp"))
async def test_the_temporary_folder_can_be_written(ctx: ToolContext, row: Row):
    assert row["right"]["contains"] in await shown(ctx, row)


@needs(SANDBOX)
async def test_the_loopback_is_the_commands_own(ctx: ToolContext):
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        result = await call(bash, ctx, command=f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo joined")
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert "Connection refused" in result.data["stderr"]


@needs(SANDBOX)
async def test_nothing_outside_is_reached(ctx: ToolContext):
    code = """
import socket
for family, kind in ((2, 1), (2, 2), (10, 1)):
    with socket.socket(family, kind) as one:
        print(one.connect_ex((("192.0.2.1", "2001:db8::1")[family == 10], 443)))
for family, kind, number in ((1, 1, 0), (16, 3, 0), (2, 3, 1), (2, 1, 262), (2, 2, 136), (2, 2, 1)):
    try:
        socket.socket(family, kind, number)
        print("made")
    except PermissionError:
        print("refused")
"""
    result = await call(bash, ctx, command=f"python3 - <<'E'\n{code}\nE")
    unreachable = {str(errno.ENETUNREACH), str(errno.EADDRNOTAVAIL)}
    said = result.data["stdout"].split()
    assert set(said[:3]) <= unreachable
    assert said[3:] == ["refused"] * 6


@needs(SANDBOX)
async def test_a_temporary_file_is_there_in_the_next_call_and_not_outside(ctx: ToolContext):
    name = f"kept-{secrets.token_hex(8)}"
    await call(bash, ctx, command=f"echo kept > /tmp/{name}")
    result = await call(
        bash, ctx, command=f"cat /tmp/{name} $TMPDIR/{name} /var/tmp/{name}; ls /tmp"
    )
    assert result.data["stdout"].splitlines()[:3] == ["kept"] * 3
    assert not any(is_there(Path(place, name)) for place in ("/tmp", "/var/tmp"))


@needs(SANDBOX)
async def test_what_a_command_leaves_in_its_temporary_folder_leads_no_later_one_astray(
    ctx: ToolContext, tmp_path: Path
):
    """Where the workspace lies below `/tmp`, its path is made again in the private folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    root = Path(ctx.operations.root)
    first = root.parts[2] if root.parts[1] == "tmp" else "x"
    plant = f'rm -rf "$TMPDIR/{first}"; ln -s {outside} "$TMPDIR/{first}"; true'
    await call(bash, ctx, command=plant)
    result = await call(bash, ctx, command="pwd; echo written > here.txt")
    assert (result.success, result.data["stdout"]) == (True, f"{root}\n")
    assert (root / "here.txt").read_text() == "written\n"
    assert list(outside.iterdir()) == []


CUT_OFF = {
    "a name": "python3 -c \"import socket; socket.gethostbyname('example.org')\"",
    "an address": "exec 3<>/dev/tcp/192.0.2.1/443",
    "quietly": "getent hosts example.org >/dev/null 2>&1",
}
NOT_CUT_OFF = {
    "nothing asked": "echo 'Could not resolve host' >&2; exit 3",
    "nobody listens": "exec 3<>/dev/tcp/127.0.0.1/9",
    "its own names": "getent hosts localhost sandbox; exit 3",
}


@needs(SANDBOX)
@pytest.mark.parametrize("case", CUT_OFF)
async def test_a_command_that_lacks_the_network_is_said_to(ctx: ToolContext, case: str):
    result = await call(bash, ctx, command=CUT_OFF[case])
    assert "TOLLGATE_SANDBOX__ALLOWED_HOSTS" in result.for_model()
    assert not result.success


@needs(SANDBOX)
@pytest.mark.parametrize("case", NOT_CUT_OFF)
async def test_a_command_that_fails_otherwise_is_not(ctx: ToolContext, case: str):
    result = await call(bash, ctx, command=NOT_CUT_OFF[case])
    assert not result.success
    assert "No network" not in result.for_model()


@needs(SANDBOX)
async def test_code_that_lacks_the_network_is_said_to(ctx: ToolContext):
    code = "import socket\nsocket.create_connection(('192.0.2.1', 443))"
    result = await call(execute_python, ctx, code=code, strictness="lenient")
    assert "Code has no network" in str(result.error)


COMMIT = "git init -q . && echo a > a && git add a && git commit -qm first"


async def test_a_commit_without_an_author_names_the_settings(ctx: ToolContext):
    require_binary("git")
    result = await call(bash, ctx, command=COMMIT)
    assert not result.success
    assert "TOLLGATE_SANDBOX__GIT_NAME" in result.for_model()


@pytest.mark.parametrize("sandbox", [SandboxConfig(git_author=AUTHOR)], indirect=True)
async def test_commits_have_the_author_of_the_settings(ctx: ToolContext):
    require_binary("git")
    result = await call(bash, ctx, command=f"{COMMIT} && git log --format='%an <%ae> %cn <%ce>'")
    assert result.data["stdout"] == "Ann B <ann@example.org> Ann B <ann@example.org>\n"
