"""Messages of language servers, taken apart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.operations.language_servers.documents import path_uri, uri_path
from app.operations.language_servers.wire import MAX_MESSAGE, BrokenWire, MessageReader, frame


@given(
    messages=st.lists(st.dictionaries(st.text(), st.text() | st.integers(0, 9)), max_size=5),
    size=st.integers(1, 60),
)
def test_messages_come_out_as_they_went_in_however_they_are_cut(
    messages: list[dict[str, Any]], size: int
):
    data = b"".join(frame(message) for message in messages)
    reader = MessageReader()
    found = [
        message
        for start in range(0, len(data), size)
        for message in reader.feed(data[start : start + size])
    ]
    assert found == [{"jsonrpc": "2.0", **message} for message in messages]


@pytest.mark.parametrize(
    "data",
    [
        b"x" * 9000,
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (MAX_MESSAGE + 1),
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 2\r\n\r\n{{",
    ],
)
def test_what_is_no_message_is_refused(data: bytes):
    with pytest.raises(BrokenWire):
        list(MessageReader().feed(data))


@given(path=st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1))
@example(path=".")
def test_a_path_survives_the_way_through_a_uri(path: str):
    assert uri_path("/work space", path_uri("/work space", path)) == path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///elsewhere/a.py", "/elsewhere/a.py"),
        ("file:///workspace/a.py", "/workspace/a.py"),
        ("untitled:1", "untitled:1"),
        ("file://[", "file://["),
    ],
)
def test_what_lies_elsewhere_keeps_its_whole_name(uri: str, path: str):
    assert uri_path("/work", uri) == path
