"""Answers to DNS queries of programs, without asking any other server."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from app.core.host_rules import normalise_host

TTL_SECONDS = 5
MAX_BUFFERED = 4096

_HEADER = 12
_LENGTH = 2
_MAX_NAME = 255
_MAX_LABEL = 63
_TYPE_A = 1
_TYPE_AAAA = 28
_CLASS_INTERNET = 1
_RESPONSE, _OPCODE, _TRUNCATED, _RECURSION_DESIRED = 0x8000, 0x7800, 0x0200, 0x0100
_RECURSION_AVAILABLE = 0x0080
_NO_ERROR, _FORMAT_ERROR, _NO_SUCH_NAME = 0, 1, 3
# The name of the question, by its place in the message.
_SAME_NAME = (0xC000 | _HEADER).to_bytes(2)
_LOCALHOST = {
    _TYPE_A: ipaddress.ip_address("127.0.0.1").packed,
    _TYPE_AAAA: ipaddress.ip_address("::1").packed,
}


def answer(query: bytes, address_of: Callable[[str], str | None]) -> bytes | None:
    """Return the answer to one message, or None if it needs none.

    Names of this machine have the addresses of loopback. A record type that a known name does not
    have is answered without records, because some clients take NXDOMAIN for all types. EDNS is not
    supported; a server may ignore it.

    Args:
        query: a message, without the length that TCP puts before it.
        address_of: returns the IPv4 address of a normalised name, or None if there is no such name.
    """
    # An answer to an answer would be answered in turn, by another server like this one.
    if len(query) < _HEADER or _number(query, 2) & _RESPONSE:
        return None
    question = _question(query)
    if question is None:
        return _header(query, _FORMAT_ERROR)
    name = _host(question.labels)
    if name is None:
        records = None
    elif name == "localhost" or name.endswith(".localhost"):
        records = _LOCALHOST
    else:
        address = address_of(name)
        records = None if address is None else {_TYPE_A: ipaddress.IPv4Address(address).packed}
    if records is None:
        return _header(query, _NO_SUCH_NAME, questions=1) + question.written
    data = records.get(question.type)
    if data is None:
        return _header(query, _NO_ERROR, questions=1) + question.written
    header = _header(query, _NO_ERROR, questions=1, answers=1)
    return header + question.written + _record(question.type, data)


class TcpQueries:
    """Splits what one connection sends into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that are complete with `data`.

        Raises:
            ValueError: a message is longer than any query.
        """
        self._buffer += data
        messages = []
        while len(self._buffer) >= _LENGTH:
            end = _LENGTH + _number(self._buffer, 0)
            if end > MAX_BUFFERED:
                raise ValueError("a message is longer than any query")
            if len(self._buffer) < end:
                break
            messages.append(bytes(self._buffer[_LENGTH:end]))
            del self._buffer[:end]
        return messages


def framed(answer: bytes) -> bytes:
    """Return an answer after its length, as TCP carries it."""
    return len(answer).to_bytes(_LENGTH) + answer


@dataclass(frozen=True, slots=True)
class _Question:
    labels: tuple[bytes, ...]
    type: int
    written: bytes


def _question(query: bytes) -> _Question | None:
    """Return the question of a standard query that has exactly one, or None."""
    counts = [_number(query, place) for place in (4, 6, 8)]
    if _number(query, 2) & (_OPCODE | _TRUNCATED) or counts != [1, 0, 0]:
        return None
    labels = []
    place = _HEADER
    limit = min(len(query), _HEADER + _MAX_NAME)
    # A length has two bits for other uses, of which a pointer to another name is one.
    while place < limit and 0 < query[place] <= _MAX_LABEL:
        end = place + 1 + query[place]
        labels.append(query[place + 1 : end])
        place = end
    end = place + 5
    if len(query) < end or place >= limit or query[place] != 0:
        return None
    if _number(query, place + 3) != _CLASS_INTERNET:
        return None
    return _Question(tuple(labels), _number(query, place + 1), query[_HEADER:end])


@lru_cache(maxsize=1024)  # a program asks for both kinds of address, and again
def _host(labels: tuple[bytes, ...]) -> str | None:
    """Return the normalised name, or None if no host can have it."""
    if any(b"." in label for label in labels):
        return None
    with suppress(ValueError):
        name = normalise_host(b".".join(labels).decode("ascii"))
        return None if _is_address(name) else name
    return None


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(name)
        return True
    return False


def _header(query: bytes, code: int, *, questions: int = 0, answers: int = 0) -> bytes:
    copied = _number(query, 2) & (_OPCODE | _RECURSION_DESIRED)
    flags = _RESPONSE | copied | _RECURSION_AVAILABLE | code
    numbers = (flags, questions, answers, 0, 0)
    return query[:2] + b"".join(number.to_bytes(2) for number in numbers)


def _record(kind: int, data: bytes) -> bytes:
    numbers = kind.to_bytes(2) + _CLASS_INTERNET.to_bytes(2) + TTL_SECONDS.to_bytes(4)
    return _SAME_NAME + numbers + len(data).to_bytes(2) + data


def _number(data: bytes | bytearray, place: int) -> int:
    return int.from_bytes(data[place : place + 2])
