"""The server name in the first message of a TLS connection."""

from __future__ import annotations

MAX_BYTES = 65_536
# Each call reads the records from the start, so many tiny ones would cost the square of their sum.
MAX_RECORDS = 64

ALERT_ACCESS_DENIED = bytes((21, 3, 3, 0, 2, 2, 49))
"""A record with the fatal alert that says that access was denied."""

_HANDSHAKE = 22
_MAX_RECORD = 16_384
_RECORD_HEADER = 5
_CLIENT_HELLO = 1
_HELLO_HEADER = 4
_SERVER_NAME = 0
_HOST_NAME = 0
_RANDOM = 32
_MAX_SESSION_ID = 32
_MAX_NAME = 255


class NotTls(ValueError):
    """The bytes are not the first message of a TLS client."""


def server_name(data: bytes) -> str | None:
    """Return the lower-case server name in the first bytes of a connection; "" when the client
    names none, None while more bytes are needed.

    Raises:
        NotTls: the bytes are no valid ClientHello, whatever follows.
    """
    message = _message(data)
    if message is None:
        return None
    fields = _Fields(message)
    _skip_to_extensions(fields)
    # Clients before TLS 1.2 may end here.
    name = None if fields.at_end else _name_in(_Fields(fields.vector(2)))
    if not fields.at_end:
        raise NotTls("bytes after the extensions")
    return name or ""


class _Fields:
    """Reads fields from the start of a text of bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next = 0

    @property
    def at_end(self) -> bool:
        return self._next == len(self._data)

    def take(self, count: int) -> bytes:
        end = self._next + count
        if end > len(self._data):
            raise NotTls("a field ends after its container")
        taken = self._data[self._next : end]
        self._next = end
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self, size: int) -> bytes:
        """Return the bytes that follow their own length, a number of `size` bytes."""
        return self.take(self.number(size))


def _message(data: bytes) -> bytes | None:
    """Return the body of the ClientHello that starts in the first record, or None if incomplete."""
    message = bytearray()
    start = records = 0
    while start < len(data):
        records += 1
        if records > MAX_RECORDS:
            raise NotTls("too many records")
        header = data[start : start + _RECORD_HEADER]
        length = _record_length(header)
        if length is None:
            return None
        start += _RECORD_HEADER
        fragment = data[start : start + length]
        message += fragment
        end = _message_end(message)
        # The keys change after the message, so no client puts another one into its last record.
        if end is not None and len(message) + length - len(fragment) > end:
            raise NotTls("bytes after the ClientHello")
        if len(message) == end:
            return bytes(message[_HELLO_HEADER:])
        start += length
    return None


def _record_length(header: bytes) -> int | None:
    """Return the length of a handshake record, or None if its header is incomplete."""
    for value, expected in zip(header, ((_HANDSHAKE,), (3,), range(5)), strict=False):
        if value not in expected:
            raise NotTls("not a handshake record")
    if len(header) < _RECORD_HEADER:
        return None
    length = int.from_bytes(header[3:])
    if not 0 < length <= _MAX_RECORD:
        raise NotTls("a record is empty or too long")
    return length


def _message_end(message: bytes | bytearray) -> int | None:
    """Return the length of the message including its header, or None if it is not known yet."""
    if message[:1] and message[0] != _CLIENT_HELLO:
        raise NotTls("not a ClientHello")
    if len(message) < _HELLO_HEADER:
        return None
    end = _HELLO_HEADER + int.from_bytes(message[1:_HELLO_HEADER])
    if end > MAX_BYTES:
        raise NotTls("the ClientHello is longer than 64 KiB")
    return end


def _skip_to_extensions(fields: _Fields) -> None:
    if fields.number(1) != 3:
        raise NotTls("unknown protocol version")
    fields.take(1 + _RANDOM)
    if len(fields.vector(1)) > _MAX_SESSION_ID:
        raise NotTls("the session id is too long")
    ciphers = len(fields.vector(2))
    if not ciphers or ciphers % 2:
        raise NotTls("the list of ciphers is malformed")
    if not fields.vector(1):
        raise NotTls("the list of compression methods is empty")


def _name_in(extensions: _Fields) -> str | None:
    name = None
    while not extensions.at_end:
        kind, content = extensions.number(2), extensions.vector(2)
        if kind != _SERVER_NAME:
            continue
        if name is not None:
            raise NotTls("two server name extensions")
        name = _host_name(content)
    return name


def _host_name(content: bytes) -> str:
    """Return the only name in a server name extension."""
    extension = _Fields(content)
    names = _Fields(extension.vector(2))
    kind, name = names.number(1), names.vector(2)
    if not (extension.at_end and names.at_end) or kind != _HOST_NAME:
        raise NotTls("the server name extension must hold one host name")
    if len(name) > _MAX_NAME:  # it is shown to people when it is refused
        raise NotTls("the server name is too long")
    if not name or not all(0x21 <= value <= 0x7E for value in name):
        raise NotTls("the server name must be visible ASCII characters")
    return name.decode("ascii").lower()
