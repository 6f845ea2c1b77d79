import asyncio
import json
import logging
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.catalog.catalog import PluginProblem
from app.cli.bootstrap_token import LocalAccess
from app.cli.serve import START_FAILED, STOP_FAILED, banner, configure_logging
from app.config.settings import load_settings
from app.operations.local.workspace import LocalWorkspaces
from tests.cli.program import COMMAND, PATIENCE_S, announced, environment, tollgate
from tests.support import forked

Process = forked.Forked | subprocess.Popen[str]


@contextmanager
def started(
    data_dir: Path, *, before: str = "", **extra: str
) -> Iterator[tuple[Process, dict[str, str]]]:
    """A server of its own and the facts of its banner; `before` is what Python runs first."""
    process = forked.start(
        ["serve", "--port", "0"],
        cwd=data_dir,
        environment=environment(data_dir, **extra),
        before=before,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    with _described(process) as facts:
        yield process, facts


@contextmanager
def started_by_an_interpreter(data_dir: Path) -> Iterator[tuple[Process, dict[str, str]]]:
    """The same, as people start it."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0"],
        cwd=data_dir,
        env=environment(data_dir),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    with _described(process) as facts:
        yield process, facts


@contextmanager
def _described(process: Process) -> Iterator[dict[str, str]]:
    assert process.stdout is not None
    try:
        yield announced(process.stdout)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_says_what_it_is_and_ends_well_on_a_signal(installation, number):
    with started_by_an_interpreter(installation) as (process, facts):
        with urllib.request.urlopen(f"{facts['url']}/api/v1/health", timeout=PATIENCE_S) as answer:
            health = json.load(answer)
        process.send_signal(number)
        assert process.wait(timeout=PATIENCE_S) == 0
    assert health["status"] == "ok"
    assert facts["data"] == str(installation)
    assert facts["workspace"] == str(installation / "workspace")
    assert facts["access"].startswith("token required")
    assert facts["model"].startswith("no key")
    assert facts["sandbox"].startswith(health["sandbox"]["message"].rstrip("."))
    assert all(name in facts["sandbox"] for name in health["sandbox"]["levels"]["bash"]["layers"])
    assert facts["sandbox"].endswith("file tools cannot leave the workspace")


STOPPED_IN_A_CALLBACK = """
import signal, sys, weakref

class Collected:
    pass

def stop(event, _):
    global stop_once
    if event == "socket.bind" and stop_once:
        stop_once = False
        collected = Collected()
        reference = weakref.ref(collected, lambda _: signal.raise_signal(signal.SIGTERM))
        del collected

stop_once = True
sys.addaudithook(stop)
"""


def test_a_signal_that_the_start_could_not_hear_ends_it_when_it_is_done(installation):
    with started(installation, before=STOPPED_IN_A_CALLBACK) as (process, facts):
        assert process.wait(timeout=PATIENCE_S) == 0
    assert facts["data"] == str(installation)


HANGING_AT_THE_END = """
import asyncio
from contextlib import asynccontextmanager

import app.cli.serve as serve

opened = serve._opened
serve.STOP_S = 0.3

@asynccontextmanager
async def hanging(settings):
    async with opened(settings) as service:
        yield service
        await asyncio.Event().wait()

serve._opened = hanging
"""


def test_a_server_that_hangs_at_its_end_says_where_and_ends(installation, capfd):
    with started(installation, before=HANGING_AT_THE_END) as (process, _):
        process.terminate()
        assert process.wait(timeout=PATIENCE_S) == STOP_FAILED
    said = capfd.readouterr().err
    assert "the service did not stop within 0.3 s" in said
    assert "run_server" in said


def test_a_server_whose_routes_cannot_be_loaded_says_why_and_ends(installation, capfd):
    damaged = 'import sys; sys.modules["app.api.routes"] = None'
    with started(installation, before=damaged) as (process, _):
        assert process.wait(timeout=PATIENCE_S) == START_FAILED
    said = capfd.readouterr().err
    assert "failed to load the routes; stopping the service" in said
    assert "import of app.api.routes halted" in said
    assert said.endswith("error: The service failed to load; see its log\n")


def test_a_call_works_while_a_server_runs_on_the_same_data(installation):
    with started(installation):
        done = tollgate(installation, "call", "calculator", "expression=1+1")
    assert (done.returncode, done.stdout) == (0, "2\n")


def test_a_port_that_is_taken_is_one_clear_line(installation):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = tollgate(installation, "serve", "--port", port)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: Cannot listen on 127.0.0.1:{port}")
    assert done.stderr.count("\n") == 1


def test_other_machines_are_not_served_without_a_token(tmp_path):
    done = tollgate(tmp_path, "serve", "--host", "0.0.0.0", "--port", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "tollgate token create" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_stored_token_closes_the_house(tmp_path):
    assert tollgate(tmp_path, "init").returncode == 0
    assert tollgate(tmp_path, "token", "create", "me").returncode == 0
    with started(tmp_path) as (_, facts):
        assert facts["access"] == "token required"


def test_a_data_directory_that_cannot_be_made_stops_the_start(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = tollgate(tmp_path, "serve", "--data-dir", str(tmp_path / "file" / "x"), "--port", "0")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1


def test_what_keeps_the_service_from_starting_is_one_clear_line(tmp_path):
    done = tollgate(tmp_path, "serve", "--port", "0", TOLLGATE_SOURCES__KEYS="no-key")
    assert done.returncode != 0
    lines = done.stderr.splitlines()
    assert [line for line in lines if "TOLLGATE_SOURCES__KEYS" in line] == [lines[-1]]
    assert "Traceback" not in done.stderr
    assert "no-key" not in done.stderr


def test_the_banner_names_broken_plugins_and_never_a_key(tmp_path):
    settings = load_settings(data_dir=tmp_path, anthropic_api_key="sk-ant-secret")
    problem = PluginProblem(
        "bad", "bad.py", "it\x1b[2J broke", "plugin_raised", at="bad.py:3", fix="Mend it"
    )
    lines = banner(
        settings,
        "http://127.0.0.1:1",
        access=LocalAccess(),
        problems=(problem,),
        sandbox=LocalWorkspaces().status,
    )
    assert "  sandbox    Commands are not sandboxed" in "\n".join(lines)
    assert "  plugin     bad is not loaded (bad.py:3): it\\x1b[2J broke" in lines
    assert "  fix        Mend it" in lines
    assert "key set" in "\n".join(lines)
    assert "sk-ant-secret" not in "\n".join(lines)


def test_the_demo_ends_well_without_a_terminal(tmp_path):
    done = tollgate(tmp_path, "demo")
    assert done.returncode == 0, done.stderr
    for shown in (
        "building part 5 of 5",
        "declined",
        "approved by bootstrap",
        "denied by policy",
        "connection lost",
        "checking part 6 of 6",
        "identical to the live events",
    ):
        assert shown in done.stdout
    assert list(tmp_path.iterdir()) == []


async def test_logs_can_be_json(installation):
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *("serve", "--port", "0"),
        cwd=installation,
        env=environment(installation, TOLLGATE_LOG_FORMAT="json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE_S):
        while b"url" not in (line := await process.stdout.readline()):
            assert line
        host, _, port = line.split()[1].decode().rpartition("//")[2].partition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"GET /api/v1/ws HTTP/1.1\r\nHost: elsewhere\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        await writer.drain()
        entry = json.loads(await process.stderr.readline())
        writer.close()
        process.terminate()
        await process.communicate()
    assert (entry["level"], entry["logger"]) == ("warning", "app.api.rest.middleware")


def test_a_traceback_in_the_log_shows_no_variables(tmp_path, capfd):
    settings = load_settings(data_dir=tmp_path, _env_file=None)
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        configure_logging(settings)
        held = f"correct-{'horse'}-battery"
        try:
            int(held[:0])
        except ValueError:
            logging.getLogger("tollgate.test").exception("it broke")
        root.handlers[0].flush()
    finally:
        root.handlers[:], root.level = before

    written = capfd.readouterr().err
    assert "ValueError" in written
    assert "correct-horse-battery" not in written
