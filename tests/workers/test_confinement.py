"""What a worker process cannot do, tried by one that tries."""

from __future__ import annotations

import os
import re
import socket
from contextlib import closing
from pathlib import Path

import pytest

from app.agents.delegation.ports import WorkerScope
from app.config.sections import SubAgentSettings
from app.core.errors import ToolFailed
from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.kernel_probe import Probe
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.status import judge
from app.workers.pool import WorkerPool
from tests.operations.conftest import names
from tests.operations.sandbox.procs import environment
from tests.workers.conftest import OpenPool, begin, execute, said
from tests.workers.programs import TRIES

KEY = "sk-ant-marker-7f3a9c51e0"
_MAPPED = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r")


def memory(pid: int) -> bytes:
    """Everything readable that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    ranges = [found for line in lines if (found := _MAPPED.match(line)) and "[v" not in line]
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as file:
        parts = []
        for found in ranges:
            start, end = (int(number, 16) for number in found.groups())
            file.seek(start)
            try:
                parts.append(file.read(end - start))
            except OSError:
                continue  # a page beyond the end of a mapped file
    return b"\0".join(parts)


async def test_no_key_of_the_service_is_in_its_environment_or_memory(
    open_pool: OpenPool, place: WorkerScope, root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("TOLLGATE_ADMIN_TOKEN", KEY)
    async with open_pool().take(place) as worker:
        await begin(worker, root)
        read = await execute(worker, "read_file", {"path": "a.txt"})
        seen, variables = memory(worker.pid), environment(worker.pid)

    assert worker.pid not in (0, os.getpid())
    assert read.success
    assert set(variables) <= {
        *("PATH", "HOME", "LANG", "TERM", "TZ", "USER", "LOGNAME", "TMPDIR", "LC_CTYPE"),
        *("PIP_RETRIES", "npm_config_fetch_retries"),
    }
    assert b"hello" in seen  # the search finds what is there
    assert KEY.encode() not in seen
    assert KEY.encode() in memory(os.getpid())


async def test_the_workspace_can_be_read_and_not_written(
    open_pool: OpenPool, place: WorkerScope, root: Path
):
    async with open_pool(TRIES).take(place) as worker:
        read = await said(worker, f"open({str(root / 'a.txt')!r}).read()")
        tries = [
            await said(worker, code)
            for code in (
                f"open({str(root / 'a.txt')!r}, 'w')",
                f"open({str(root / 'new')!r}, 'x')",
                f"os.mkdir({str(root / 'made')!r})",
                f"os.remove({str(root / 'a.txt')!r})",
                f"os.rename({str(root / 'a.txt')!r}, {str(root / 'b.txt')!r})",
                f"os.symlink('/', {str(root / 'link')!r})",
                f"os.chmod({str(root / 'a.txt')!r}, 0o777)",
                f"os.utime({str(root / 'a.txt')!r}, (1, 1))",
                f"os.truncate({str(root / 'a.txt')!r}, 0)",
            )
        ]

    assert read == "hello\n"
    assert set(tries) <= {"OSError", "PermissionError"}
    assert names(root) == ["a.txt", "docs", "src"]
    assert (root / "a.txt").read_text() == "hello\n"


async def test_nothing_outside_the_workspace_can_be_read(
    open_pool: OpenPool, place: WorkerScope, root: Path, data: Path, tmp_path: Path
):
    (tmp_path / "other.txt").write_text("of another project")
    package = Path(os.__file__).parent
    async with open_pool(TRIES).take(place) as worker:
        tries = [
            await said(worker, f"open({path!r}).read()")
            for path in (
                str(tmp_path / "other.txt"),
                str(data / "tollgate.db"),
                "/etc/passwd",
                f"/proc/{os.getpid()}/environ",
                str(Path(__file__)),
            )
        ]
        listed = [
            await said(worker, f"os.listdir({str(path)!r})") for path in (data, tmp_path, "/root")
        ]
        known = await said(worker, f"len(os.listdir({str(package)!r})) > 50")

    assert set(tries) <= {"PermissionError", "FileNotFoundError"}
    # In a `/tmp` of its own only folders are seen that lead to what it may read.
    leading = {"['data', 'ws']", "['tmp']"}
    assert set(listed) <= {"PermissionError", "FileNotFoundError", *leading}
    assert known == "True"


async def test_a_data_directory_in_the_workspace_is_out_of_sight(
    tmp_path: Path, root: Path, data: Path
):
    # The private folders cannot lie in it then; the service puts them elsewhere.
    config = SandboxConfig(hidden=(str(data),))
    async with (
        Sandbox(config) as sandbox,
        WorkerPool(sandbox, SubAgentSettings(warm=0), program=TRIES) as pool,
    ):
        if "namespaces" not in (await sandbox.level("bash")).layers:
            with pytest.raises(ToolFailed, match="cannot be hidden"):
                await pool.take(WorkerScope(str(tmp_path))).__aenter__()
            return
        async with pool.take(WorkerScope(str(tmp_path))) as worker:
            seen = await said(worker, f"os.listdir({str(tmp_path)!r})")
            inside = await said(worker, f"open({str(data / 'tollgate.db')!r}).read()")

    assert root.name in seen
    assert inside in ("FileNotFoundError", "PermissionError")


async def test_a_worker_of_some_folders_reads_no_others(open_pool: OpenPool, root: Path):
    narrow = WorkerScope(str(root), ("src",))
    async with open_pool(TRIES).take(narrow) as worker:
        inside = await said(worker, f"open({str(root / 'src' / 'main.py')!r}).read()")
        outside = await said(worker, f"open({str(root / 'docs' / 'guide.md')!r}).read()")
        above = await said(worker, f"os.listdir({str(root)!r})")
    async with open_pool().take(narrow) as worker:
        await begin(worker, root)
        read = await execute(worker, "read_file", {"path": "src/main.py"})
        refused = await execute(worker, "read_file", {"path": "docs/guide.md"})
        found = await execute(worker, "grep", {"pattern": "hello", "path": "src"})

    assert inside == "print('hello')\n"
    assert outside in ("PermissionError", "FileNotFoundError")
    assert above in ("PermissionError", "['src']")
    assert read.success
    assert (refused.success, refused.code) == (False, "outside_workspace")
    assert found.success


async def test_a_folder_that_is_a_link_opens_nothing(open_pool: OpenPool, root: Path, data: Path):
    (root / "way").symlink_to(data)
    with pytest.raises(ToolFailed):
        await open_pool(TRIES).take(WorkerScope(str(root), ("way",))).__aenter__()


async def test_no_connection_leaves_a_worker(open_pool: OpenPool, place: WorkerScope):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        async with open_pool(TRIES).take(place) as worker:
            tcp = await said(worker, f"socket.create_connection(('127.0.0.1', {port}), 5)")
            datagram = await said(
                worker,
                "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53))",
            )
            path = await said(worker, "socket.socket(socket.AF_UNIX).connect('/run/docker.sock')")

    assert {tcp, datagram, path} <= {"PermissionError", "OSError", "ConnectionRefusedError"}


async def test_it_cannot_reach_the_service_by_signals(open_pool: OpenPool, place: WorkerScope):
    async with open_pool(TRIES).take(place) as worker:
        answer = await said(worker, f"os.kill({os.getpid()}, 0)")

    assert answer in ("PermissionError", "ProcessLookupError")


async def test_more_memory_than_the_setting_ends_it(open_pool: OpenPool, place: WorkerScope):
    async with open_pool(TRIES, memory_mb=128).take(place) as worker:
        within = await said(worker, "len(bytearray(1 << 20))")
        with pytest.raises(AssertionError, match=r"it exited with code 1|memory limit"):
            await said(worker, "len(bytearray(b'x') * (1 << 28))")

    assert within == str(1 << 20)


async def test_a_place_without_a_workspace_has_an_empty_folder(open_pool: OpenPool, root: Path):
    async with open_pool(TRIES).take(WorkerScope()) as worker:
        here = await said(worker, "os.listdir('.')")
        there = await said(worker, f"open({str(root / 'a.txt')!r}).read()")
    async with open_pool().take(WorkerScope()) as worker:
        await begin(worker, None)
        counted = await execute(worker, "calculator", {"expression": "1+1"})
        read = await execute(worker, "read_file", {"path": "a.txt"})

    assert here == "[]"
    assert there in ("PermissionError", "FileNotFoundError")
    assert counted.text == "2"
    assert (read.success, read.code) == (False, "project_required")


async def test_a_weaker_sandbox_starts_no_worker(tmp_path: Path, place: WorkerScope):
    layers = frozenset({"seccomp", "no_new_privs", "rlimits", "caps-dropped"})
    weaker = judge(Probe(layers), weaker="ask")
    async with (
        Sandbox(SandboxConfig(temporary=tmp_path / "private"), status=weaker) as sandbox,
        WorkerPool(sandbox, SubAgentSettings()) as pool,
    ):
        with pytest.raises(ToolFailed) as caught:
            await pool.take(place).__aenter__()

    assert caught.value.details["code"] == "sandbox_unavailable"


async def test_a_workspace_that_is_gone_is_named(open_pool: OpenPool, tmp_path: Path):
    with pytest.raises(ToolFailed) as caught:
        await open_pool().take(WorkerScope(str(tmp_path / "gone"))).__aenter__()

    assert caught.value.details["code"] == "workspace_missing"
