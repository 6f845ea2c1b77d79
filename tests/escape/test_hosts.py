"""What the attempts at hosts rest on, and what one attempt alone cannot show."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from scripts.parts import SANDBOX
from tests.escape.attempt import Attempt, Limits
from tests.escape.attempts.ways import WAYS
from tests.escape.driver import judge
from tests.escape.front import ALLOWED
from tests.escape.judges import canary_reached
from tests.escape.sandboxed import SandboxedRunner, sandboxed
from tests.operations.egress.servers import Hosts, hello, programs
from tests.support.binaries import needs

pytestmark = [pytest.mark.asyncio, needs(SANDBOX)]

_REACHING = {
    "the name": "hello(HOST)",
    "the name in capitals": "hello(HOST.upper())",
    "two records": """
b"\\x16\\3\\1" + sized(hello(HOST)[5:60]) + b"\\x16\\3\\1" + sized(hello(HOST)[60:])
""",
}
_ENDING = """
import os
for pid in (PROXY_PROCESS, -PROXY_PROCESS, 1, os.getppid(), *range(2, 40)):
    for number in (15, 9, 19):
        if pid not in (os.getpid(), -os.getpgid(0)):
            try:
                os.kill(pid, number)
            except OSError:
                pass
"""


@pytest.fixture
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a short name: the path of a socket is limited."""
    return tmp_path_factory.mktemp("h")


@pytest.fixture
async def runner(tmp_path: Path) -> AsyncIterator[SandboxedRunner]:
    async with sandboxed("sandbox-with-hosts", tmp_path / "private") as made:
        yield made


@pytest.mark.parametrize("data", _REACHING.values(), ids=_REACHING)
async def test_the_front_is_reached_by_what_names_it(
    data: str, runner: SandboxedRunner, base: Path
) -> None:
    source = f"{WAYS}\nHOST = {ALLOWED!r}\nsent(opened, HOST, 443, {data.strip()})"
    attempt = Attempt("allowed", "hosts", source, canary_reached, limits=Limits(wall_s=60))

    _, harms = await judge(runner, attempt, "bash", base, {})

    assert harms["canary_reached"] == "reached ['the front as another host']"


async def test_no_program_ends_the_proxy(runner: SandboxedRunner, base: Path) -> None:
    await runner.rest()
    process = runner.proxy_process
    source = f"PROXY_PROCESS = {process}\n{_ENDING}"
    attempt = Attempt("end-proxy", "hosts", source, canary_reached, limits=Limits(wall_s=60))

    evidence, harms = await judge(runner, attempt, "bash", base, {})

    assert evidence.outcome.begun
    assert harms == {"namespace_made": harms["namespace_made"]}  # its own, as every run has
    assert runner.proxy_process == process


_SAYS_ITS_ADDRESS = """
import socket, time
print(socket.getaddrinfo("secret.example", 80)[0][4][0], flush=True)
time.sleep(60)
"""
_WITH_ITS_ADDRESS = r"""
import socket
for number in range(10, 20):
    for host in ("secret.example", f"198.18.0.{number}"):
        for place in ((f"198.18.0.{number}", 80), ("127.0.0.1", 3128)):
            try:
                with socket.create_connection(place) as client:
                    line = f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"
                    client.sendall(line.encode())
                    print(client.recv(4096).split()[1].decode())
            except OSError:
                pass
"""


async def test_a_sandbox_cannot_use_the_rules_and_names_of_another(tmp_path: Path) -> None:
    places = Hosts()
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    async with (
        places.serving("secret.example", 80, hello),
        programs(tmp_path / "one", places, "secret.example:80") as one,
        one.beside(tmp_path / "other", "other.example:80") as other,
        one.going_on(_SAYS_ITS_ADDRESS),
    ):
        before = (await one.run("curl", "-sS", "http://secret.example/")).said
        asked = list(places.asked)
        ran = await other.python(_WITH_ITS_ADDRESS)

    assert before.startswith("GET /")
    assert set(ran.said.split()) == {"403"}
    assert places.asked == asked
