"""Server names in real TLS hellos, and what is refused as none."""

from __future__ import annotations

import itertools
import ssl
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.operations.egress.client_hello import (
    ALERT_ACCESS_DENIED,
    MAX_BYTES,
    MAX_RECORDS,
    NotTls,
    server_name,
)

Extension = tuple[int, bytes]


def real_hello(
    name: str | None = "www.Example.com",
    *,
    oldest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2,
    newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
    protocols: Sequence[str] = (),
) -> bytes:
    """The first message of Python's own client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version, context.maximum_version = oldest, newest
    if protocols:
        context.set_alpn_protocols(list(protocols))
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def sized(content: bytes, size: int = 2) -> bytes:
    """Content after its own length."""
    return len(content).to_bytes(size) + content


def records(message: bytes, *ends: int, kind: int = 22) -> bytes:
    """The message in records that end at these places of it."""
    bounds = [0, *ends, len(message)]
    parts = [message[start:end] for start, end in itertools.pairwise(bounds)]
    return b"".join(bytes((kind, 3, 1)) + sized(part) for part in parts)


def message_of(hello: bytes) -> bytes:
    """The handshake message of a hello in one record."""
    return hello[5:]


def name_extension(*names: bytes, kind: int = 0) -> Extension:
    return 0, sized(b"".join(bytes((kind,)) + sized(name) for name in names))


def message(
    *extensions: Extension,
    version: bytes = b"\x03\x03",
    session: bytes = b"",
    ciphers: bytes = b"\x13\x01",
    compression: bytes = b"\x00",
    tail: bytes | None = None,
) -> bytes:
    """A handshake message; `tail` replaces the extensions."""
    body = version + bytes(32) + sized(session, 1) + sized(ciphers) + sized(compression, 1)
    if tail is None:
        tail = sized(b"".join(kind.to_bytes(2) + sized(content) for kind, content in extensions))
    return b"\x01" + sized(body + tail, 3)


HELLO = real_hello()


@pytest.mark.parametrize(
    "hello",
    [
        HELLO,
        real_hello(protocols=["h2", "http/1.1"]),
        real_hello(newest=ssl.TLSVersion.TLSv1_2),
        real_hello(oldest=ssl.TLSVersion.TLSv1_3),
    ],
)
def test_the_name_in_a_real_hello_is_read_in_lower_case(hello: bytes):
    assert server_name(hello) == "www.example.com"


def test_a_real_hello_without_a_name_is_complete():
    assert server_name(real_hello(None)) == ""


def test_a_name_of_another_script_is_read_as_it_is_sent():
    assert server_name(real_hello("bücher.example")) == "xn--bcher-kva.example"


@pytest.mark.parametrize("hello", [HELLO, real_hello(None, newest=ssl.TLSVersion.TLSv1_2)])
def test_every_start_of_a_hello_needs_more_bytes(hello: bytes):
    assert {server_name(hello[:count]) for count in range(len(hello))} == {None}


def test_a_hello_split_anywhere_into_two_records_is_read():
    hello = message_of(HELLO)
    found = {server_name(records(hello, place)) for place in range(1, len(hello))}
    assert found == {"www.example.com"}


def test_a_hello_in_many_records_is_read_and_each_start_of_it_needs_more_bytes():
    hello = message_of(HELLO)
    size = len(hello) // (MAX_RECORDS - 1) + 1
    split = records(hello, *range(size, len(hello), size))
    assert server_name(split) == "www.example.com"
    assert {server_name(split[:count]) for count in range(len(split))} == {None}


def test_more_records_than_a_client_sends_are_refused():
    hello = message_of(HELLO)
    with pytest.raises(NotTls, match="too many records"):
        server_name(records(hello, *range(1, len(hello))))


def test_what_follows_the_record_of_the_hello_is_not_read():
    assert server_name(HELLO + b"\x14\x03\x03\x00\x01\x01" + b"early data") == "www.example.com"


def test_a_hello_of_a_client_that_hides_its_name_has_the_outer_name():
    hidden = (0xFE0D, b"\x00" + bytes(4) + b"\x01" + sized(bytes(32)) + sized(bytes(64)))
    hello = message(hidden, name_extension(b"outer.example"))
    assert server_name(records(hello)) == "outer.example"


def test_a_hello_without_extensions_has_no_name():
    assert server_name(records(message(tail=b""))) == ""
    assert server_name(records(message())) == ""


@pytest.mark.parametrize(
    "hello",
    [
        message(version=b"\x02\x00"),
        message(session=bytes(33)),
        message(ciphers=b""),
        message(ciphers=b"\x13\x01\x02"),
        message(compression=b""),
        message(tail=b"\x00"),
        message(tail=sized(b"\x00\x00\x00")),
        message(tail=sized(b"\x00\x00\x00\x09\x00")),
        message(tail=sized(b"") + b"\x00"),
        message((0, b"")),
        message((0, sized(b""))),
        message((0, sized(b"\x00" + sized(b"a.example")) + b"\x00")),
        message((0, sized(b"\x00\x00\x20a.example"))),
        message((0, b"\x00\x20\x00" + sized(b"a.example"))),
        message(name_extension(b"a.example"), name_extension(b"a.example")),
        message(name_extension(b"a.example"), (10, b""), name_extension(b"b.example")),
        message(name_extension(b"a.example", b"b.example")),
        message(name_extension(b"a.example", kind=1)),
        message(name_extension(b"")),
        message(name_extension(b"a" * 256)),
        message(name_extension(b"a\x00.example")),
        message(name_extension(b"a b.example")),
        message(name_extension(b"a.example\n")),
        message(name_extension("bücher.example".encode())),
        message(name_extension(b"a.example")) + b"\x01",
        b"\x01\x00\x00\x00",
        b"\x02" + message()[1:],
    ],
)
def test_a_malformed_hello_is_refused(hello: bytes):
    with pytest.raises(NotTls):
        server_name(records(hello))


@pytest.mark.parametrize(
    "start",
    [
        b"GET / HTTP/1.1\r\n",
        b"S",
        b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10",
        b"\x15",
        b"\x17",
        b"\x16\x02",
        b"\x16\x03\x05",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\x40\x01",
        b"\x16\x03\x01\x00\x04\x02",
        b"\x16\x03\x01\x00\x10\x01\x01\x00\x00",
        b"\x16\x03\x01\x00\x10\x01\x00\x00\x08",
    ],
)
def test_the_start_of_another_protocol_is_refused_at_its_last_byte(start: bytes):
    with pytest.raises(NotTls):
        server_name(start)


@pytest.mark.parametrize("kind", [20, 21, 23, 24])
def test_a_record_of_another_type_within_a_hello_is_refused(kind: int):
    hello = message_of(HELLO)
    with pytest.raises(NotTls, match="not a handshake record"):
        server_name(records(hello[:50]) + bytes((kind,)))
    with pytest.raises(NotTls, match="not a handshake record"):
        server_name(records(hello[:50]) + records(hello[50:], kind=kind))


def test_an_empty_record_within_a_hello_is_refused():
    hello = message_of(HELLO)
    with pytest.raises(NotTls, match="empty"):
        server_name(records(hello, 50, 50))


def test_the_largest_hello_is_read_and_a_larger_one_is_refused_at_its_length():
    ciphers = bytes(40_000)
    padding = bytes(MAX_BYTES - len(message((21, b""), name_extension(b"a"), ciphers=ciphers)))
    hello = message((21, padding), name_extension(b"a"), ciphers=ciphers)
    assert len(hello) == MAX_BYTES
    assert server_name(records(hello, *range(16_384, MAX_BYTES, 16_384))) == "a"

    larger = message((21, padding + b"\x00"), name_extension(b"a"), ciphers=ciphers)
    with pytest.raises(NotTls, match="64 KiB"):
        server_name(records(larger, 4)[:9])


def test_a_server_that_refuses_is_understood_by_a_real_client():
    context = ssl.create_default_context()
    incoming = ssl.MemoryBIO()
    client = context.wrap_bio(incoming, ssl.MemoryBIO(), server_hostname="a.example")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    incoming.write(ALERT_ACCESS_DENIED)
    with pytest.raises(ssl.SSLError, match=r"(?i)access.denied"):
        client.do_handshake()


def outcome(data: bytes) -> str | None:
    """The result for these bytes; another exception than the documented one ends the test."""
    try:
        return server_name(data)
    except NotTls:
        return "refused"


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(HELLO) - 1), st.integers(0, 255)), max_size=4))
def test_a_changed_hello_is_read_or_refused_and_more_bytes_never_change_that(
    changes: list[tuple[int, int]],
):
    hello = bytearray(HELLO)
    for place, value in changes:
        hello[place] = value
    starts = [outcome(bytes(hello[:count])) for count in range(len(hello) + 1)]
    decided = [found for found in starts if found is not None]
    assert len(set(decided)) <= 1
    assert None not in starts[len(starts) - len(decided) :]


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_extensions_are_read_or_refused(extensions: bytes, name: bytes):
    for tail in (extensions, sized(extensions), sized(b"\x00\x00" + sized(name) + extensions)):
        assert outcome(records(message(tail=tail))) is not None


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes):
    for start in (b"", b"\x16\x03\x01", HELLO[:9]):
        outcome(start + data)
