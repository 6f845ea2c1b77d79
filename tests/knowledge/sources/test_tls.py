"""Why TLS to a database fails, by a server that greets as MySQL does."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from app.core.errors import ToolFailed
from app.knowledge.sources.drivers.mysql import MysqlDriver
from app.knowledge.sources.drivers.protocol import ConnectionTarget
from app.knowledge.sources.model import DatabaseAddress
from tests.support.certificates import certificate, server_context

_SECURE, _PROTOCOL_41, _PLUGINS, _TLS = 0x8000, 0x0200, 0x80000, 0x0800


def greeting(*, tls: bool) -> bytes:
    """The first packet of a MySQL server."""
    flags = _SECURE | _PROTOCOL_41 | _PLUGINS | (_TLS if tls else 0)
    low, high = (flags & 0xFFFF).to_bytes(2, "little"), (flags >> 16).to_bytes(2, "little")
    body = b"\x0a8.0.30\0" + bytes(4) + b"12345678\0" + low + b"\x21\x02\0" + high
    body += b"\x15" + bytes(10) + b"123456789012\0" + b"mysql_native_password\0"
    return len(body).to_bytes(3, "little") + b"\0" + body


def serve_one(listener: socket.socket, context: ssl.SSLContext | None) -> None:
    """Greet one client, and turn to TLS where there is a context for that."""
    client, _ = listener.accept()
    with client, suppress(OSError):
        client.sendall(greeting(tls=context is not None))
        client.recv(36, socket.MSG_WAITALL)
        if context is None:
            client.sendall(b"\x12\0\0\2\xff\x15\x04#08S01Bad shake")
            client.recv(1)
        else:
            context.wrap_socket(client, server_side=True).recv(1)


@asynccontextmanager
async def served(context: ssl.SSLContext | None) -> AsyncIterator[int]:
    """The port of such a server; a thread's, because TLS begins in the midst of a stream."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(asyncio.to_thread(serve_one, listener, context))
        yield listener.getsockname()[1]
        await serving


@pytest.mark.parametrize(
    ("begins", "ends", "name", "trusts", "code", "said"),
    [
        (-9, -1, "localhost", True, "expired", "it has expired"),
        (1, 9, "localhost", True, "not_yet_valid", "it is not valid yet"),
        (-1, 9, "db.example", True, "other_name", "it belongs to another host name"),
        (-1, 9, "localhost", False, "unknown_issuer", "does not trust its issuer"),
    ],
)
async def test_what_is_wrong_with_a_certificate_is_said(
    tmp_path: Path, *, begins: int, ends: int, name: str, trusts: bool, code: str, said: str
):
    path = certificate(tmp_path, name, begins=begins, ends=ends)
    async with served(server_context(path)) as port:
        trusted = str(path) if trusts else None
        address = DatabaseAddress("localhost", port, user="u", tls="verify", tls_ca_file=trusted)
        with pytest.raises(ToolFailed, match=f"certificate is not accepted: .*{said}") as caught:
            await MysqlDriver().connect(ConnectionTarget("Shop", address, "password"))
    assert caught.value.details["cause"] == f"source_certificate_{code}"
    assert "localhost" not in caught.value.message


async def test_a_server_without_tls_is_said_to_have_none():
    async with served(None) as port:
        address = DatabaseAddress("localhost", port, user="u", tls="verify")
        with pytest.raises(ToolFailed, match="it does not use TLS") as caught:
            await MysqlDriver().connect(ConnectionTarget("Shop", address, "password"))
    assert caught.value.details["cause"] == "source_no_tls"
