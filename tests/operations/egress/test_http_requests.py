"""Plain HTTP of programs: one request to one host, or none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.operations.egress.http_requests import (
    MAX_HEAD,
    BadRequest,
    RequestReader,
    Target,
    refusal,
)

HOST = b"Host: a.example"


def head(*lines: bytes) -> bytes:
    return b"\r\n".join(lines) + b"\r\n\r\n"


def get(*headers: bytes) -> bytes:
    return head(b"GET /x HTTP/1.1", *headers)


def post(*headers: bytes, body: bytes = b"") -> bytes:
    return head(b"POST /x HTTP/1.1", HOST, *headers) + body


def read(data: bytes, *, port: int | None = 80) -> RequestReader:
    reader = RequestReader(port)
    reader.feed(data)
    return reader


def sent(data: bytes, *, port: int | None = 80) -> bytes:
    reader = read(data, port=port)
    assert reader.complete
    return reader.take()


def without_chunks(data: bytes) -> bytes:
    """A request whose body is whole, from one whose body is in chunks."""
    top, _, rest = data.partition(b"\r\n\r\n")
    if b"\r\nTransfer-Encoding: chunked" not in top:
        return data
    body = b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        count = int(size, 16)
        body += rest[:count]
        assert rest[count : count + 2] == b"\r\n"
        rest = rest[count + 2 :]
        if count == 0:
            assert rest == b""
            return top + b"\r\n\r\n" + body


def test_a_request_with_a_path_goes_to_its_host_at_the_port_of_the_connection():
    reader = read(get(HOST, b"Accept: */*"), port=8080)
    assert reader.target == Target("a.example", 8080)
    assert (reader.complete, reader.connect) == (True, False)
    assert reader.take() == head(
        *(b"GET /x HTTP/1.1", b"Host: a.example:8080", b"Accept: */*", b"Connection: close")
    )
    assert reader.take() == b""
    assert reader.rest() == b""


def test_a_request_with_an_address_goes_to_its_host_and_is_sent_with_a_path():
    data = head(b"GET http://a.example:8080/x?y=1 HTTP/1.1", b"Host: a.example:8080")
    reader = read(data, port=None)
    assert reader.target == Target("a.example", 8080)
    assert reader.take() == head(
        *(b"GET /x?y=1 HTTP/1.1", b"Host: a.example:8080", b"Connection: close")
    )


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (b"http://a.example", b"/"),
        (b"HTTP://A.Example.:80/", b"/"),
        (b"http://a.example?y", b"/?y"),
        (b"http://a.example//b.example/x", b"//b.example/x"),
        (b"http://a.example/http://b.example/", b"/http://b.example/"),
    ],
)
def test_the_path_of_an_address_is_what_the_server_is_sent(line: bytes, path: bytes):
    data = head(b"GET " + line + b" HTTP/1.1", HOST)
    assert sent(data).startswith(b"GET " + path + b" HTTP/1.1\r\nHost: a.example\r\n")


@pytest.mark.parametrize(
    ("host", "target", "written"),
    [
        (b"A.Example", Target("a.example", 80), b"a.example"),
        (b"a.example.", Target("a.example", 80), b"a.example"),
        (b"a.example:80", Target("a.example", 80), b"a.example"),
        (b"203.0.113.7", Target("203.0.113.7", 80), b"203.0.113.7"),
        (b"[2001:DB8::7]", Target("2001:db8::7", 80), b"[2001:db8::7]"),
        (b" a.example\t", Target("a.example", 80), b"a.example"),
    ],
)
def test_the_server_is_sent_the_host_that_was_checked(host: bytes, target: Target, written: bytes):
    reader = read(get(b"hOsT:" + host))
    assert reader.target == target
    assert b"\r\nHost: " + written + b"\r\n" in reader.take()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (get(), "Missing mandatory Host"),
        (head(b"GET /x HTTP/1.0"), "missing"),
        (get(HOST, HOST), "multiple Host"),
        (get(HOST, b"host: b.example"), "multiple Host"),
        (get(b"Host:"), "the host is not"),
        (get(b"Host: a.example, b.example"), "the host is not"),
        (get(b"Host: a.example/x"), "the host is not"),
        (get(b"Host: a.example b.example"), "the host is not"),
        (get(HOST, b" .b.example"), "the host is not"),
        (get(b"Host: a.ex\xe4mple"), "the host is not"),
        (get(b"Host: 2130706433"), "the host is not"),
        (get(b"Host: 2001:db8::7"), "the host is not"),
        (get(b"Host: [a.example]"), "the host is not"),
        (get(b"Host: a.example:"), "the host is not"),
        (get(b"Host: a.example:+80"), "the host is not"),
        (get(b"Host: a.example:000080"), "the host is not"),
        (get(b"Host: a.example:0"), "the port must be"),
        (get(b"Host: a.example:65536"), "the port must be"),
        (get(b"Host: a.example:81"), "another port"),
        (get(b"Host: user@a.example"), "a user"),
        (get(b"Host : a.example"), "illegal header line"),
        (head(b"GET /x HTTP/1.1", b" Host: a.example"), "continuation line"),
        (head(b"GET http://a.example/ HTTP/1.1"), "Missing mandatory Host"),
        (head(b"GET http://a.example/ HTTP/1.0"), "differs"),
        (head(b"GET http://b.example/ HTTP/1.1", HOST), "differs"),
        (head(b"GET http://a.example:81/ HTTP/1.1", HOST), "differs"),
        (head(b"GET http://a.example/ HTTP/1.1", b"Host: a.example:81"), "differs"),
        (head(b"GET http://u:p@a.example/ HTTP/1.1", HOST), "a user"),
        (head(b"GET http://b.example\\@a.example/ HTTP/1.1", HOST), "a user"),
        (head(b"GET http://b.example\\.a.example/ HTTP/1.1", HOST), "the host is not"),
        (head(b"GET http:///x HTTP/1.1", HOST), "the host is not"),
        (head(b"GET http://a%2eexample/ HTTP/1.1", b"Host: a%2eexample"), "the host is not"),
        (head(b"GET https://a.example/ HTTP/1.1", HOST), "https:// is not supported"),
        (head(b"GET ftp://a.example/ HTTP/1.1", HOST), "ftp:// is not supported"),
        (head(b"GET http:/x HTTP/1.1", HOST), "must have a path"),
        (head(b"OPTIONS * HTTP/1.1", HOST), "must have a path"),
        (head(b"GET a.example:80 HTTP/1.1", HOST), "must have a path"),
        (head(b"GET /x#y HTTP/1.1", HOST), "fragment"),
        (head(b"GET http://a.example#@b.example/ HTTP/1.1", HOST), "fragment"),
        (head(b"GET /\xe4 HTTP/1.1", HOST), "illegal request line"),
        (head(b"GET  /x HTTP/1.1", HOST), "illegal request line"),
        (head(b"GET /x y HTTP/1.1", HOST), "illegal request line"),
        (head(b"GET /x", HOST), "illegal request line"),
        (head(b"GET /x HTTP/1.2", HOST), "only HTTP/1.0 and HTTP/1.1"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "only HTTP/1.0 and HTTP/1.1"),
        (b"\x16\x03\x01\x02\x00\x01", "illegal request line"),
        (b"\r\n", "no request line"),
        (get(HOST, b"X: a\x01b"), "control character"),
        (get(HOST, b"X: a\x7fb"), "control character"),
        (get(HOST, b"X: a\x00b"), "illegal header line"),
        (get(HOST, b"X: a\rHost: b.example"), "illegal header line"),
        (get(HOST, b"no colon"), "illegal header line"),
    ],
)
def test_a_request_that_is_not_to_one_host_is_refused(data: bytes, reason: str):
    reader = RequestReader(80)
    with pytest.raises(BadRequest, match=reason):
        reader.feed(data)
    assert reader.target is None
    assert reader.take() == b""


@pytest.mark.parametrize(
    "headers",
    [
        (b"Content-Length: 5", b"Transfer-Encoding: chunked"),
        (b"Transfer-Encoding: chunked", b"Content-Length: 5"),
        (b"Content-Length: 5", b"Content-Length: 6"),
        (b"Content-Length: 5, 6",),
        (b"Content-Length: +5",),
        (b"Content-Length: -5",),
        (b"Content-Length: 0x5",),
        (b"Content-Length: 5 5",),
        (b"Content-Length:",),
        (b"Content-Length: 5", b" 5"),
        (b"Content-Length : 5",),
        (b"Content-Length\x0b: 5",),
        (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
        (b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"),
        (b"Transfer-Encoding: gzip, chunked",),
        (b"Transfer-Encoding: chunked, identity",),
        (b"Transfer-Encoding: xchunked",),
        (b"Transfer-Encoding: identity",),
        (b"Transfer-Encoding:\x0bchunked",),
        (b"Transfer-Encoding : chunked",),
        (b"Transfer-Encoding: chunked\x00",),
        (b"Transfer-Encoding: chunked", b" x"),
    ],
)
def test_a_body_whose_end_servers_see_in_different_places_is_refused(headers: tuple[bytes, ...]):
    reader = RequestReader(80)
    with pytest.raises(BadRequest):
        reader.feed(post(*headers, body=b"0\r\n\r\nGET /y HTTP/1.1\r\nHost: b.example\r\n\r\n"))
    assert reader.take() == b""


def test_a_body_in_chunks_is_refused_in_the_old_version():
    with pytest.raises(BadRequest, match=r"HTTP/1\.0"):
        read(head(b"POST /x HTTP/1.0", HOST, b"Transfer-Encoding: chunked"))


@pytest.mark.parametrize(
    "body",
    [
        b"x\r\n",
        b"\r\n",
        b"-1\r\n",
        b"0x1\r\na\r\n",
        b" 1\r\na\r\n",
        b"1\na\n0\n\n",
        b"1\r\nab",
        b"1\r\na\r\r\n",
        b"1" * 21 + b"\r\n",
        b"0\r\nno colon\r\n\r\n",
    ],
)
def test_a_malformed_chunk_is_refused(body: bytes):
    with pytest.raises(BadRequest):
        read(post(b"Transfer-Encoding: chunked", body=body + b"\r\n"))


SECOND = get(b"Host: b.example")


@pytest.mark.parametrize(
    ("first", "body"),
    [
        (get(HOST), b""),
        (post(b"Content-Length: 3", body=b"abc"), b"abc"),
        (post(b"Content-Length: 3", b"Content-Length: 3", body=b"abc"), b"abc"),
        (post(b"Transfer-Encoding: chunked", body=b"3\r\nabc\r\n0\r\n\r\n"), b"abc"),
    ],
)
def test_a_second_request_on_the_connection_is_not_sent(first: bytes, body: bytes):
    for reader in (read(first + SECOND), read(first)):
        reader.feed(SECOND)
        reader.feed(b"\x00")
        assert reader.complete
        taken = without_chunks(reader.take())
        assert taken.endswith(b"\r\nConnection: close\r\n\r\n" + body)
        assert b"b.example" not in taken


def test_a_request_within_a_body_stays_in_the_body():
    length = b"Content-Length: %d" % len(SECOND)
    assert (
        sent(post(length, body=SECOND))
        == head(*(b"POST /x HTTP/1.1", HOST, length, b"Connection: close")) + SECOND
    )


@pytest.mark.parametrize(
    "header",
    [
        *(b"Connection: keep-alive", b"Keep-Alive: timeout=5", b"Proxy-Connection: keep-alive"),
        *(b"Proxy-Authorization: Basic eA==", b"TE: gzip", b"Upgrade: websocket", b"Trailer: X"),
        *(b"Expect: 100-continue", b"HTTP2-Settings: AAMAAABkAAQAAP__", b"TE: gzip;q=1, x"),
    ],
)
def test_a_header_of_the_connection_alone_is_not_sent(header: bytes):
    plain = sent(get(HOST, b"Accept: */*"))
    assert sent(get(HOST, header, b"Accept: */*")) == plain
    assert sent(get(HOST, header.upper(), b"Accept: */*")) == plain


def test_headers_that_the_connection_header_names_are_not_sent():
    data = get(
        HOST, b"Connection: X-A, Upgrade", b"x-a: 1", b"X-B: 2", b"connection: x-B", b"X-C: 3"
    )
    assert sent(data) == get(HOST, b"X-C: 3", b"Connection: close")


def test_the_connection_header_cannot_remove_the_length_of_the_body():
    body = b"Content-Length: 3"
    data = post(b"Connection: content-length, host, transfer-encoding", body, body=b"abc")
    assert sent(data) == post(body, b"Connection: close", body=b"abc")


@pytest.mark.parametrize("value", [b"trailers", b"Trailers", b"gzip, trailers"])
def test_a_program_that_accepts_trailers_gets_them(value: bytes):
    data = get(HOST, b"Connection: TE", b"TE: " + value)
    assert sent(data) == get(HOST, b"TE: trailers", b"Connection: close, TE")


def test_a_folded_header_is_sent_in_one_line_and_line_ends_are_corrected():
    data = b"GET /x HTTP/1.1\nHost: a.example\nX-A: 1\n\t2\n\n"
    assert sent(data) == get(HOST, b"X-A: 1 2", b"Connection: close")


def test_a_body_in_chunks_is_sent_in_chunks_without_extensions_and_trailers():
    body = b"3;a=b\r\nabc\r\n02\r\nde\r\n0\r\nHost: b.example\r\n\r\n"
    assert sent(post(b"Transfer-Encoding: Chunked", body=body)) == post(
        *(b"Transfer-Encoding: chunked", b"Connection: close"),
        body=b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    )


def test_a_request_of_the_old_version_is_sent_in_the_new_one():
    assert sent(head(b"GET /x HTTP/1.0", HOST)) == get(HOST, b"Connection: close")


def test_a_program_that_waits_before_its_body_is_known():
    reader = read(post(b"Content-Length: 3", b"Expect: 100-continue"))
    assert reader.expects_continue
    assert reader.take() == post(b"Content-Length: 3", b"Connection: close")
    reader.feed(b"abc")
    assert reader.complete
    assert reader.take() == b"abc"
    assert not read(get(HOST)).expects_continue


@pytest.mark.parametrize(
    ("framing", "before", "after", "end"),
    [
        (b"Content-Length: 2000000", b"", b"", b""),
        (b"Transfer-Encoding: chunked", b"c350\r\n", b"\r\n", b"0\r\n\r\n"),
    ],
)
def test_a_large_body_is_passed_on_as_it_comes(
    framing: bytes, before: bytes, after: bytes, end: bytes
):
    part = before + b"x" * 50_000 + after
    reader = read(post(framing))
    assert reader.take().endswith(b"\r\n\r\n")
    for _ in range(40):
        assert not reader.complete
        reader.feed(part)
        assert reader.take() == part
    reader.feed(end)
    assert reader.take() == end
    assert reader.complete


@pytest.mark.parametrize("step", [1, 1000, 200_000])
def test_the_longest_head_is_read_and_a_longer_one_is_refused(step: int):
    def fed(size: int) -> RequestReader:
        data = get(HOST, b"X: ".ljust(size - len(get(HOST, b"")), b"x"))
        reader = RequestReader(80)
        for start in range(0, size, step):
            reader.feed(data[start : start + step])
        return reader

    assert fed(MAX_HEAD).complete
    with pytest.raises(BadRequest, match="64 KiB"):
        fed(MAX_HEAD + 1)


@pytest.mark.parametrize("start", [get(HOST)[:-2], post(b"Transfer-Encoding: chunked")])
def test_a_line_without_an_end_is_refused(start: bytes):
    with pytest.raises(BadRequest, match="64 KiB"):
        read(start + b"1" * (MAX_HEAD + 1))


@pytest.mark.parametrize(
    ("data", "target"),
    [
        (head(b"CONNECT a.example:443 HTTP/1.1", b"Host: A.example:443"), Target("a.example", 443)),
        (head(b"CONNECT a.example:443 HTTP/1.1", HOST), Target("a.example", 443)),
        (head(b"CONNECT a.example:22 HTTP/1.0"), Target("a.example", 22)),
        (head(b"CONNECT [2001:db8::7]:443 HTTP/1.0"), Target("2001:db8::7", 443)),
        (
            head(b"CONNECT a.example:443 HTTP/1.0", b"Proxy-Connection: keep-alive"),
            Target("a.example", 443),
        ),
    ],
)
def test_a_tunnel_has_a_target_and_nothing_to_send(data: bytes, target: Target):
    reader = read(data, port=None)
    assert reader.target == target
    assert reader.connect
    assert reader.complete
    assert (reader.take(), reader.rest()) == (b"", b"")


def test_what_follows_the_head_of_a_tunnel_is_kept_as_it_is():
    reader = read(head(b"CONNECT a.example:443 HTTP/1.0") + b"\x16\x03\x01\r\n", port=None)
    assert reader.rest() == b"\x16\x03\x01\r\n"
    reader.feed(b"more")
    reader.feed(b" bytes")
    assert reader.rest() == b"more bytes"
    assert (reader.take(), reader.rest()) == (b"", b"")


@pytest.mark.parametrize(
    "data",
    [
        head(b"CONNECT a.example HTTP/1.0"),
        head(b"CONNECT a.example:0 HTTP/1.0"),
        head(b"CONNECT http://a.example:443 HTTP/1.0"),
        head(b"CONNECT /x HTTP/1.1", HOST),
        head(b"CONNECT u@a.example:443 HTTP/1.0"),
        head(b"CONNECT a.example:443 HTTP/1.1"),
        head(b"CONNECT a.example:443 HTTP/1.1", b"Host: b.example:443"),
        head(b"CONNECT a.example:443 HTTP/1.1", b"Host: a.example:80"),
        head(b"CONNECT a.example:443 HTTP/1.1", HOST, b"Content-Length: 0"),
        head(b"CONNECT a.example:443 HTTP/1.1", HOST, b"Transfer-Encoding: chunked"),
    ],
)
def test_a_tunnel_to_no_single_host_is_refused(data: bytes):
    reader = RequestReader()
    with pytest.raises(BadRequest):
        reader.feed(data)
    assert (reader.target, reader.connect, reader.rest()) == (None, False, b"")


def test_a_proxy_that_a_program_knows_serves_no_path_alone():
    with pytest.raises(BadRequest, match="must name its host"):
        read(get(HOST), port=None)


def test_a_reason_does_not_copy_what_was_sent():
    with pytest.raises(BadRequest) as refused:
        read(get(HOST, b"Authorization secret"))
    assert "secret" not in str(refused.value)


def test_a_refusal_is_a_complete_answer():
    assert refusal(403, "b.example may not be reached") == (
        b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
        b"Content-Length: 29\r\nConnection: close\r\nX-Tollgate: network\r\n\r\n"
        b"b.example may not be reached\n"
    )


def test_a_refusal_has_no_control_characters():
    body = refusal(400, "a\r\n\x00\x1b[1m\u202eb\ud800 \u4e2d").partition(b"\r\n\r\n")[2]
    assert body == "a[1mb \u4e2d\n".encode()


REQUESTS = [
    get(HOST, b"Connection: keep-alive", b"X: y"),
    head(b"GET http://a.example/x HTTP/1.1", HOST),
    post(b"Content-Length: 6", body=b"ab\r\n\r\n"),
    post(b"Transfer-Encoding: chunked", body=b"5\r\nab\r\n \r\n3;x\r\nabc\r\n0\r\nT: 1\r\n\r\n"),
    head(b"CONNECT a.example:443 HTTP/1.1", HOST) + b"tunnel",
    post(b"Content-Length: 3", b"Transfer-Encoding: chunked"),
]


def outcome(data: bytes, step: int) -> object:
    """What is known after all bytes; another exception than the documented one ends the test."""
    reader = RequestReader(80)
    taken = rest = b""
    try:
        for start in range(0, len(data), step):
            reader.feed(data[start : start + step])
            taken += reader.take()
            rest += reader.rest()
    except BadRequest:
        return "refused"
    if reader.complete:
        taken = without_chunks(taken)
    elif b"chunked" in taken:
        taken = b"incomplete chunks"
    return reader.target, reader.connect, reader.complete, taken, rest


@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from(REQUESTS),
    st.lists(st.tuples(st.integers(0, 150), st.binary(max_size=3)), max_size=3),
    st.integers(1, 20),
)
def test_a_request_means_the_same_however_it_is_split(
    request: bytes, changes: list[tuple[int, bytes]], step: int
):
    data = request + SECOND
    for place, inserted in changes:
        data = data[:place] + inserted + data[place + len(inserted) // 2 :]
    whole = outcome(data, len(data))
    assert outcome(data, 1) == whole
    assert outcome(data, step) == whole


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes):
    for start in (
        b"",
        b"GET ",
        b"GET /x HTTP/1.1\r\nHost: a.example\r\n",
        post(b"Transfer-Encoding: chunked"),
    ):
        assert outcome(start + data, 1) == outcome(start + data, 400)
