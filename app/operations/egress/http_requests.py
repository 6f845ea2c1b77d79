"""Plain HTTP requests of programs: where they go, and what the server is sent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus

import h11

from app.core.host_rules import normalise_host

MAX_HEAD = 65_536

_DEFAULT_PORT = 80
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?")
_ABSOLUTE = re.compile(r"(?i:http)://(?P<authority>[^/?]*)(?P<path>.*)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# h11 permits these, because some programs have them in cookies; servers read them differently.
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_VERSIONS = frozenset({b"1.0", b"1.1"})
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
# What is about one connection only, and what is written here.
_NOT_FORWARDED = frozenset(
    {
        *(b"connection", b"expect", b"host", b"http2-settings", b"keep-alive"),
        *(b"proxy-authorization", b"proxy-connection", b"te", b"trailer", b"upgrade"),
    }
)


class BadRequest(ValueError):
    """The bytes are not one request to one host."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes.

    Attributes:
        host: normalised name or address.
        port: TCP port.
    """

    host: str
    port: int

    def __str__(self) -> str:
        """Return the value of a `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORT else f"{host}:{self.port}"


class RequestReader:
    """Reads the only request of a connection and writes it again.

    The server is asked to close the connection after its answer, so nothing that follows the
    request reaches it: a second request could name another host. Names of headers keep their
    case, obsolete line folds become spaces, and trailers of a body are dropped.

    Attributes:
        target: where the request goes; None until its head is complete.
        connect: it is a CONNECT request: the program wants a tunnel, so there is nothing to send.
        expects_continue: the program may wait for `100 Continue` before it sends the body. The
            server is not asked for it.
        complete: the request has ended; further bytes are ignored, or in the tunnel.
    """

    def __init__(self, port: int | None = None) -> None:
        """Create a reader.

        Args:
            port: port to which the program believes that it is connected; None for a proxy that it
                knows, where a request must name its host in the request line.
        """
        self.target: Target | None = None
        self.connect = False
        self.expects_continue = False
        self.complete = False
        self._port = port
        self._received = 0
        self._from_program = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._to_server = h11.Connection(h11.CLIENT)
        self._waiting = bytearray()
        self._tunnel = bytearray()

    def feed(self, data: bytes) -> None:
        """Read further bytes of the connection.

        Raises:
            BadRequest: they are not one valid request; the message says why. The connection must
                be closed.
        """
        if self.connect:
            self._tunnel += data
        if self.complete or not data:
            return
        self._received += len(data)
        try:
            self._from_program.receive_data(data)
            while not self.complete and self._read_event():
                pass
        except h11.ProtocolError as error:
            raise BadRequest(_reason(error)) from None

    def take(self) -> bytes:
        """Return what the server must be sent now, and forget it."""
        taken = bytes(self._waiting)
        self._waiting.clear()
        return taken

    def rest(self) -> bytes:
        """Return what followed the head of a CONNECT request, and forget it."""
        taken = bytes(self._tunnel)
        self._tunnel.clear()
        return taken

    def _read_event(self) -> bool:
        """Read one event and return whether there may be another."""
        event = self._from_program.next_event()
        if isinstance(event, h11.Request):
            self._read_head(event)
        elif isinstance(event, h11.Data):
            self._send(h11.Data(data=bytes(event.data)))
        elif isinstance(event, h11.EndOfMessage):
            self.complete = True
            self._send(h11.EndOfMessage())
        else:
            return False
        return True

    def _read_head(self, request: h11.Request) -> None:
        following = self._from_program.trailing_data[0]
        if self._received - len(following) > MAX_HEAD:
            raise BadRequest("the head is longer than 64 KiB")
        _check_head(request)
        if request.method == b"CONNECT":
            self.target = _tunnel_target(request)
            self.connect = self.complete = True
            self._tunnel += following
            return
        target, path = self._destination(request)
        self._send(_forwarded(request, target, path))
        self.expects_continue = self._from_program.they_are_waiting_for_100_continue
        self.target = target

    def _destination(self, request: h11.Request) -> tuple[Target, str]:
        """Return where the request goes, and its path there.

        Raises:
            BadRequest: the request line and the `Host` header do not name one host.
        """
        line = request.target.decode("ascii")
        if line.startswith("/"):
            if self._port is None:
                raise BadRequest("a request to a proxy must name its host in the request line")
            written = _host_header(request)
            if written is None:
                raise BadRequest("the Host header is missing")
            target = _parse_authority(written, self._port)
            if target.port != self._port:
                raise BadRequest("the Host header names another port than that of the connection")
            return target, line
        found = _ABSOLUTE.fullmatch(line)
        if found is None:
            scheme = _SCHEME.match(line)
            if scheme:
                raise BadRequest(f"{scheme[0]} is not supported: a program must use CONNECT")
            raise BadRequest("the request line must have a path, or start with http://")
        target = _parse_authority(found["authority"], _DEFAULT_PORT)
        written = _host_header(request)
        if written is None or _parse_authority(written, _DEFAULT_PORT) != target:
            raise BadRequest("the Host header differs from the request line")
        path = found["path"]
        return target, path if path.startswith("/") else f"/{path}"

    def _send(self, event: h11.Event) -> None:
        self._waiting += self._to_server.send(event) or b""


def refusal(status: int, text: str) -> bytes:
    """Return a complete answer in plain text, after which the connection is closed.

    Control characters of `text` are dropped.

    Raises:
        ValueError: the status is not a registered one.
    """
    body = "".join(character for character in text if character.isprintable()).encode() + b"\n"
    head = (
        f"HTTP/1.1 {status:d} {HTTPStatus(status).phrase}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Connection: close",
        "X-Tollgate: network",
        "",
        "",
    )
    return "\r\n".join(head).encode("ascii") + body


def _check_head(request: h11.Request) -> None:
    """Refuse what servers may understand in different ways, and what h11 accepts.

    Raises:
        BadRequest: the head has such a part.
    """
    if request.http_version not in _VERSIONS:
        raise BadRequest("only HTTP/1.0 and HTTP/1.1 are supported")
    framing = [name for name, _ in request.headers if name in _FRAMING]
    if len(framing) > 1:
        raise BadRequest("Content-Length and Transfer-Encoding exclude each other")
    if framing == [b"transfer-encoding"] and request.http_version == b"1.0":
        raise BadRequest("HTTP/1.0 has no Transfer-Encoding")
    if framing and request.method == b"CONNECT":
        raise BadRequest("a CONNECT request has no body")
    if b"#" in request.target:
        raise BadRequest("the request line has a fragment")
    if any(_CONTROL.search(value) for _, value in request.headers):
        raise BadRequest("a header has a control character")


def _tunnel_target(request: h11.Request) -> Target:
    """Return where a CONNECT request goes.

    Raises:
        BadRequest: it does not name one host and one port.
    """
    target = _parse_authority(request.target.decode("ascii"), 0)
    if target.port == 0:
        raise BadRequest("a CONNECT request must name a port")
    written = _host_header(request)
    # Clients of HTTP/1.0 send no header, and some others no port in it; neither is forwarded.
    if written is not None and _parse_authority(written, target.port) != target:
        raise BadRequest("the Host header differs from the request line")
    return target


def _host_header(request: h11.Request) -> str | None:
    """Return the value of the `Host` header; h11 refuses a second one."""
    for name, value in request.headers:
        if name == b"host":
            # What is not ASCII is refused later, as a replacement character is.
            return value.decode("ascii", errors="replace")
    return None


def _parse_authority(text: str, default_port: int) -> Target:
    """Return the target that `host` or `host:port` names.

    Raises:
        BadRequest: it is neither.
    """
    if "@" in text:
        raise BadRequest("a host must not be written with a user")
    found = _AUTHORITY.fullmatch(text)
    if found is None or not text.isascii():
        raise BadRequest("the host is not a name or an address with an optional port")
    port = default_port
    if found["port"] is not None:
        port = int(found["port"])
        if not 1 <= port <= 65_535:
            raise BadRequest("the port must be 1 to 65535")
    try:
        return Target(normalise_host(found["host"]), port)
    except ValueError as error:
        raise BadRequest(f"the host is {error}") from None


def _forwarded(request: h11.Request, target: Target, path: str) -> h11.Request:
    """Return the request with what the server must see."""
    named = {
        name.strip().lower()
        for header, value in request.headers
        if header == b"connection"
        for name in value.split(b",")
    }
    # Without these the server would take the body for another request.
    dropped = _NOT_FORWARDED | (named - _FRAMING)
    connection = b"close"
    headers = [(b"Host", str(target).encode("ascii"))]
    headers += [pair for pair in request.headers.raw_items() if pair[0].lower() not in dropped]
    if _accepts_trailers(request):
        connection += b", TE"
        headers.append((b"TE", b"trailers"))
    headers.append((b"Connection", connection))
    return h11.Request(method=request.method, target=path, headers=headers)


def _accepts_trailers(request: h11.Request) -> bool:
    values = [value for name, value in request.headers if name == b"te"]
    return any(part.strip().lower() == b"trailers" for part in b",".join(values).split(b","))


def _reason(error: h11.ProtocolError) -> str:
    if error.error_status_hint == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
        return "the head, or a line of the body, is longer than 64 KiB"
    # What follows is a copy of the bytes.
    return f"not a valid request: {str(error).partition(':')[0]}"
