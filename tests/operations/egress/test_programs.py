"""Programs in the sandbox reach listed hosts by name, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.execution.doctor.sandbox_checks import sandbox_checks
from app.operations.sandbox import kernel_probe
from app.operations.sandbox.status import judge
from scripts.parts import CURL, SANDBOX
from tests.operations.egress.servers import Hosts, echo, hello, programs
from tests.support.binaries import needs
from tests.support.certificates import certificate, server_context

pytestmark = [pytest.mark.asyncio, needs(SANDBOX)]


@pytest.mark.requirement("WB-03")
@needs(CURL)
async def test_plain_http_reaches_a_listed_host(tmp_path: Path) -> None:
    places = Hosts()
    async with (
        places.serving("web.example", 80, hello),
        programs(tmp_path, places, "web.example:80") as running,
    ):
        ran = await running.run("curl", "-sS", "http://web.example/a?b=1")

    assert ran.said == "GET /a?b=1 HTTP/1.1 | Host: web.example\n"
    assert ran.code == 0
    assert ran.verdicts() == [("web.example", 80, "allowed")]
    assert ran.made[0].bytes_up > 0
    assert ran.made[0].bytes_down > len(ran.said)
    assert places.asked == [("web.example", 80)]


@pytest.mark.requirement("WB-04", "WB-07")
@needs(CURL)
async def test_a_host_that_is_not_listed_is_not_found(tmp_path: Path) -> None:
    places = Hosts()
    async with programs(tmp_path, places, "web.example:80") as running:
        ran = await running.run("curl", "-sS", "http://other.example/")

    assert "Could not resolve host" in ran.said
    assert ran.verdicts() == [("other.example", 0, "not_allowed")]
    assert ran.made[0].reason == "other.example is not an allowed host of this project"
    assert places.asked == []


@pytest.mark.parametrize(
    ("url", "port"),
    [("https://web.example/", 443), ("http://web.example/", 80), ("telnet://web.example:22", 22)],
)
@needs(CURL)
async def test_a_usual_port_that_is_not_listed_is_refused_by_name(
    url: str, port: int, tmp_path: Path
) -> None:
    places = Hosts()
    async with programs(tmp_path, places, "web.example:7000") as running:
        ran = await running.run("curl", "-sS", url)

    assert ran.verdicts() == [("web.example", port, "not_allowed")]
    assert ran.made[0].reason == f"web.example:{port} is not an allowed host of this project"
    assert places.asked == []


@needs(CURL)
async def test_tls_passes_through_untouched(tmp_path: Path) -> None:
    places, pem = Hosts(), certificate(tmp_path, "web.example")
    async with (
        places.serving("web.example", 443, hello, tls=server_context(pem)),
        programs(tmp_path, places, "web.example") as running,
    ):
        ran = await running.run(
            "curl", "-sS", "--http1.1", "--cacert", pem.name, "https://web.example/"
        )

    assert ran.said == "GET / HTTP/1.1 | Host: web.example\n"
    assert ran.verdicts() == [("web.example", 443, "allowed")]


HELLO = """
import socket, ssl, sys
host, name = sys.argv[1:]
context = ssl.create_default_context(cafile="web.example.pem")
context.check_hostname = False
with socket.create_connection((host, 443)) as plain:
    print(context.wrap_socket(plain, server_hostname=name or None).version())
"""


@pytest.mark.requirement("WB-06")
@pytest.mark.parametrize("name", ["other.example", "www.web.example", ""])
async def test_a_tls_greeting_that_names_another_host_is_refused(name: str, tmp_path: Path) -> None:
    places, pem = Hosts(), certificate(tmp_path, "web.example")
    (tmp_path / "hello.py").write_text(HELLO)
    async with (
        places.serving("web.example", 443, hello, tls=server_context(pem)),
        programs(tmp_path, places, "web.example", "other.example") as running,
    ):
        right = await running.run("python3", "hello.py", "web.example", "web.example")
        wrong = await running.run("python3", "hello.py", "web.example", name)

    assert right.said.startswith("TLSv1")
    assert "access denied" in wrong.said.lower()
    assert wrong.verdicts() == [("web.example", 443, "mismatch")]


SERVER_FIRST = """
import socket
with socket.create_connection(("db.example", 5432)) as server:
    server.sendall(b"one")
    print(server.recv(9))
    server.shutdown(socket.SHUT_WR)
    print(server.recv(9))
"""


async def test_other_ports_pass_as_they_are(tmp_path: Path) -> None:
    places = Hosts()
    async with (
        places.serving("db.example", 5432, echo),
        programs(tmp_path, places, "db.example:5432") as running,
    ):
        ran = await running.python(SERVER_FIRST)

    assert ran.said == "b'one'\nb''\n"
    assert [(one.bytes_up, one.bytes_down) for one in ran.made] == [(3, 3)]


ONE_AFTER_THE_OTHER = """
import socket
for _ in range(300):
    with socket.create_connection(("db.example", 5432)) as server:
        server.sendall(b"one")
        assert server.recv(9) == b"one"
"""


async def test_connections_that_both_sides_have_closed_are_over(tmp_path: Path) -> None:
    places = Hosts()
    async with (
        places.serving("db.example", 5432, echo),
        programs(tmp_path, places, "db.example:5432") as running,
    ):
        ran = await running.python(ONE_AFTER_THE_OTHER)

    assert (ran.code, ran.said) == (0, "")
    assert ran.verdicts() == [("db.example", 5432, "allowed")] * 300
    assert len(places.asked) < 300  # an answer of the service is kept for seconds


REQUESTS = """
import socket
with socket.create_connection(("web.example", 80)) as server:
    server.sendall(b"GET /1 HTTP/1.1\\r\\nHost: web.example\\r\\n\\r\\n"
                   b"GET /2 HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n")
    print(server.makefile().read())
"""


@pytest.mark.requirement("WB-06")
async def test_a_second_request_never_reaches_the_server(tmp_path: Path) -> None:
    places = Hosts()
    async with (
        places.serving("web.example", 80, hello),
        programs(tmp_path, places, "web.example:80", "other.example:80") as running,
    ):
        ran = await running.python(REQUESTS)

    assert "GET /1" in ran.said
    assert "GET /2" not in ran.said


@needs(CURL)
async def test_the_explicit_proxy_speaks_connect_and_socks(tmp_path: Path) -> None:
    places, pem = Hosts(), certificate(tmp_path, "web.example")
    listed = ("web.example", "web.example:80")
    async with (
        places.serving("web.example", 443, hello, tls=server_context(pem)),
        places.serving("web.example", 80, hello),
        programs(tmp_path, places, "web.example:80,443") as running,
    ):
        curl = ("curl", "-sS", "--http1.1", "--cacert", pem.name, "--proxy")
        said = [
            await running.run(*curl, proxy, url)
            for proxy in ("http://127.0.0.1:3128", "socks5h://127.0.0.1:3128")
            for url in ("https://web.example/", "http://web.example/")
        ]
        refused = await running.run(*curl, "http://127.0.0.1:3128", "https://other.example/")
        plain = await running.run(*curl, "http://127.0.0.1:3128", "http://other.example/")

    assert [ran.said for ran in said] == ["GET / HTTP/1.1 | Host: web.example\n"] * 4, listed
    assert "403" in refused.said
    assert refused.verdicts() == [("other.example", 443, "not_allowed")]
    assert plain.said == "tollgate: other.example:80 is not an allowed host of this project\n"


LOOPBACK = """
import http.server, threading, urllib.request
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen("http://localhost:8000/").status)
"""


@pytest.mark.requirement("WB-11")
async def test_loopback_is_private_and_free(tmp_path: Path) -> None:
    places = Hosts()
    async with programs(tmp_path, places, "web.example") as running:
        ran = await running.python(LOOPBACK)

    assert ran.said.splitlines()[-1] == "200"
    assert ran.made == ()


@pytest.mark.requirement("WB-05")
@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://169.254.169.254/", "http://[::1]/", "http://10.0.0.1/"),
        *("http://2130706433/", "http://[::ffff:169.254.169.254]/", "http://0.0.0.0/"),
        *("http://1.1.1.1/", "http://[64:ff9b::a9fe:a9fe]/"),
    ],
)
@needs(CURL)
async def test_an_address_that_is_not_listed_is_not_reached(url: str, tmp_path: Path) -> None:
    places = Hosts()
    async with programs(tmp_path, places, "web.example:80") as running:
        ran = await running.run("curl", "-sS", url)

    assert places.asked == []
    assert [one.verdict for one in ran.made] == ["refused"]
    assert "tollgate" in ran.said


@pytest.mark.requirement("WB-09")
@needs(CURL)
async def test_a_killed_proxy_cuts_off_and_the_next_command_works(tmp_path: Path) -> None:
    places = Hosts()
    async with (
        places.serving("web.example", 80, hello),
        programs(tmp_path, places, "web.example:80") as running,
    ):
        first = await running.run("curl", "-sS", "http://web.example/")
        await running.kill_proxy()
        second = await running.run("curl", "-sS", "http://web.example/")

    assert first.code == second.code == 0


@pytest.mark.requirement("WB-01")
@needs(CURL)
async def test_without_namespaces_nothing_is_reached_and_the_doctor_says_so(
    tmp_path: Path,
) -> None:
    places, found = Hosts(), kernel_probe.probe(None)
    status = judge(replace(found, layers=found.layers - {"namespaces"}), weaker="ask")
    async with (
        places.serving("web.example", 80, hello),
        programs(tmp_path, places, "web.example:80", status=status) as running,
    ):
        ran = await running.run("curl", "-sS", "http://web.example/")

    assert ran.code != 0
    assert ran.made == ()
    said = {check.code: check.found for check in sandbox_checks(status)}
    assert said["network_by_host"] == "off: allowed_hosts of projects need namespaces"


WHO_AM_I = """
import grp, os, pwd
me = pwd.getpwuid(os.getuid())
print(me.pw_name, grp.getgrgid(os.getgid()).gr_name, me.pw_dir == os.environ["HOME"])
print(os.path.expanduser("~tollgate") == os.environ["HOME"], pwd.getpwnam("root").pw_uid)
"""


async def test_programs_with_a_network_find_their_user_and_its_home(tmp_path: Path) -> None:
    async with programs(tmp_path, Hosts(), "web.example") as running:
        ran = await running.python(WHO_AM_I)
    assert ran.said == "tollgate tollgate True\nTrue 0\n"
