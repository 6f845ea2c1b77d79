"""Answers to DNS queries, read by a decoder of their own."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.operations.egress.dns import MAX_BUFFERED, TcpQueries, answer, framed

A, NS, CNAME, ANY, AAAA, HTTPS = 1, 2, 5, 255, 28, 65
NO_ERROR, FORMAT_ERROR, NO_SUCH_NAME = 0, 1, 3
RESPONSE, TRUNCATED, DESIRED, AVAILABLE = 0x8000, 0x0200, 0x0100, 0x0080
KNOWN = {"a.example": "198.18.0.7", "xn--bcher-kva.example": "198.18.0.8"}


@dataclass(frozen=True)
class Record:
    name: bytes
    kind: int
    family: int
    seconds: int
    data: bytes


@dataclass(frozen=True)
class Message:
    number: int
    flags: int
    questions: list[tuple[bytes, int, int]]
    answers: list[Record]

    @property
    def code(self) -> int:
        return self.flags & 15


def written(name: str) -> bytes:
    """A name as it is sent; the only dots are those between labels."""
    labels = [label.encode("latin-1") for label in name.split(".") if label]
    return b"".join(bytes((len(label),)) + label for label in labels) + b"\0"


def query(
    name: str | bytes = "a.example",
    kind: int = A,
    *,
    family: int = 1,
    flags: int = DESIRED,
    counts: tuple[int, int, int, int] = (1, 0, 0, 0),
    tail: bytes = b"",
) -> bytes:
    asked = written(name) if isinstance(name, str) else name
    return (
        struct.pack(">6H", 0x1234, flags, *counts) + asked + struct.pack(">2H", kind, family) + tail
    )


def name_at(data: bytes, place: int) -> tuple[bytes, int]:
    """The name at a place of a message, and where the next field starts."""
    labels, after = [], 0
    while data[place]:
        if data[place] >= 0xC0:
            after = after or place + 2
            place = struct.unpack_from(">H", data, place)[0] & 0x3FFF
            continue
        labels.append(data[place + 1 : place + 1 + data[place]])
        place += 1 + data[place]
    return b".".join(labels), after or place + 1


def decoded(data: bytes) -> Message:
    number, flags, questions, answers, authority, additional = struct.unpack_from(">6H", data)
    assert (authority, additional) == (0, 0)
    place, asked, found = 12, [], []
    for _ in range(questions):
        name, place = name_at(data, place)
        asked.append((name, *struct.unpack_from(">2H", data, place)))
        place += 4
    for _ in range(answers):
        name, place = name_at(data, place)
        kind, family, seconds, size = struct.unpack_from(">HHIH", data, place)
        place += 10
        found.append(Record(name, kind, family, seconds, data[place : place + size]))
        place += size
    assert place == len(data)
    return Message(number, flags, asked, found)


def asked(message: bytes) -> Message:
    found = answer(message, KNOWN.get)
    assert found is not None
    return decoded(found)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.example", b"\xc6\x12\x00\x07"),
        ("A.eXample", b"\xc6\x12\x00\x07"),
        ("xn--bcher-kva.example", b"\xc6\x12\x00\x08"),
        ("localhost", b"\x7f\x00\x00\x01"),
        ("db.LocalHost", b"\x7f\x00\x00\x01"),
    ],
)
def test_a_known_name_has_its_address(name: str, data: bytes):
    message = asked(query(name))
    assert message.number == 0x1234
    assert message.flags == RESPONSE | DESIRED | AVAILABLE | NO_ERROR
    assert message.questions == [(name.encode(), A, 1)]
    assert message.answers == [Record(name.encode(), A, 1, 5, data)]


def test_the_flag_for_recursion_is_copied():
    assert asked(query(flags=0)).flags == RESPONSE | AVAILABLE


@pytest.mark.parametrize("kind", [NS, CNAME, AAAA, HTTPS, ANY, 64, 0, 65_535])
def test_another_type_of_a_known_name_has_no_records(kind: int):
    message = asked(query(kind=kind))
    assert message.code == NO_ERROR
    assert message.questions == [(b"a.example", kind, 1)]
    assert message.answers == []


def test_this_machine_has_an_address_of_each_family_and_nothing_else():
    six = Record(b"localhost", AAAA, 1, 5, bytes(15) + b"\x01")
    assert asked(query("localhost", AAAA)).answers == [six]
    assert asked(query("localhost", HTTPS)).answers == []


def test_names_of_this_machine_are_not_looked_up():
    names: list[str] = []

    def address_of(name: str) -> None:
        names.append(name)

    for name in ("localhost", "a.localhost", "notlocalhost", "localhost.example"):
        answer(query(name), address_of)
    assert names == ["notlocalhost", "localhost.example"]


@pytest.mark.parametrize(
    "name",
    [
        *("b.example", "example", "a.example.example", "", "-a.example", "a b.example"),
        *(
            "\x00.example",
            "b\u00fccher.example",
            "127.0.0.1",
            "2130706433",
            "0x7f.1",
            "[::1]",
            "::1",
        ),
    ],
)
@pytest.mark.parametrize("kind", [A, AAAA])
def test_another_name_does_not_exist(name: str, kind: int):
    message = asked(query(name, kind))
    assert message.code == NO_SUCH_NAME
    assert message.questions == [(name_at(query(name), 12)[0], kind, 1)]
    assert message.answers == []


def test_an_address_is_no_name_even_if_it_may_be_reached():
    found = answer(query("203.0.113.7"), {"203.0.113.7": "198.18.0.9"}.get)
    assert found is not None
    assert decoded(found).code == NO_SUCH_NAME


def test_a_dot_within_a_label_does_not_make_another_name():
    assert asked(query(b"\x09a.example\x00")).code == NO_SUCH_NAME


def test_the_longest_name_is_read_and_a_longer_one_is_not():
    longest = ".".join(["a" * 63] * 3 + ["b" * 61])
    assert asked(query(longest)).code == NO_SUCH_NAME
    assert answer(query(longest), {longest: "198.18.0.9"}.get) is not None
    assert asked(query(longest + "b")).code == FORMAT_ERROR


OPT = b"\x00" + struct.pack(">HHIH", 41, 1232, 0, 0)


def test_a_query_with_an_extension_is_answered_without_one():
    message = asked(query(counts=(1, 0, 0, 1), tail=OPT))
    assert message == asked(query())


@pytest.mark.parametrize(
    "message",
    [
        *(query(flags=opcode << 11) for opcode in range(1, 16)),
        query(flags=TRUNCATED),
        query(counts=(0, 0, 0, 0)),
        query(counts=(2, 0, 0, 0), tail=query()[12:]),
        query(counts=(1, 1, 0, 0)),
        query(counts=(1, 0, 1, 0)),
        query(family=3),
        query(family=255),
        query(b"\xc0\x0c"),
        query(b"\x01a\xc0\x0c"),
        query(b"\x40a\x00"),
        query(b"\x80a\x00"),
        query(b"\x05a"),
        query(b"\x01a" * 2000),
        query(b"\x01a" * 128 + b"\x00"),
        *(query()[:count] for count in range(12, len(query()))),
    ],
)
def test_what_is_no_standard_query_is_an_error(message: bytes):
    found = asked(message)
    assert (found.number, found.code) == (0x1234, FORMAT_ERROR)
    assert (found.questions, found.answers) == ([], [])
    # The operation and the wish for recursion are those of the query.
    assert found.flags & 0x7900 == int.from_bytes(message[2:4]) & 0x7900
    assert found.flags & RESPONSE


@pytest.mark.parametrize("count", range(12))
def test_what_is_shorter_than_a_header_has_no_answer(count: int):
    assert answer(query()[:count], KNOWN.get) is None


def test_an_answer_has_no_answer_so_that_two_servers_never_talk():
    assert answer(query(flags=RESPONSE), KNOWN.get) is None
    for message in (query(), query("b.example"), query(family=3)):
        found = answer(message, KNOWN.get)
        assert found is not None
        assert answer(found, KNOWN.get) is None


MESSAGES = [query(), query("localhost", AAAA), b"", query("b.example"), b"x"]


@given(st.lists(st.integers(1, 20), max_size=20))
def test_messages_of_a_connection_are_split_wherever_it_is(sizes: list[int]):
    sent = b"".join(framed(message) for message in MESSAGES)
    queries, found, start = TcpQueries(), [], 0
    for size in [*sizes, len(sent)]:
        found += queries.feed(sent[start : start + size])
        start += size
    assert found == MESSAGES


def test_many_short_messages_at_once_are_split():
    assert TcpQueries().feed(framed(query()) * 1000) == [query()] * 1000


def test_the_longest_message_is_read_and_a_longer_one_is_refused_at_its_length():
    longest = bytes(MAX_BUFFERED - 2)
    assert TcpQueries().feed(framed(longest)) == [longest]
    with pytest.raises(ValueError, match="longer than any query"):
        TcpQueries().feed(framed(longest + b"\0")[:2])


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_answered_once_or_not_at_all(data: bytes):
    for message in (data, data[:2] + query()[2:12] + data[2:], query()[:12] + data):
        found = answer(message, KNOWN.get)
        assert found is None or decoded(found).number == int.from_bytes(message[:2])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(query()) - 1), st.integers(0, 255)), max_size=4))
def test_a_changed_query_is_answered_or_not(changes: list[tuple[int, int]]):
    message = bytearray(query())
    for place, value in changes:
        message[place] = value
    found = answer(bytes(message), KNOWN.get)
    assert found is None or decoded(found).code in {NO_ERROR, FORMAT_ERROR, NO_SUCH_NAME}
