"""What may stand in headers, written by a model and stored by an operator."""

from __future__ import annotations

import pytest

from app.knowledge.outbound_requests.headers import MAX_HEADERS, header_problem


@pytest.mark.parametrize(
    "headers",
    [{"Accept": "application/json"}, {"X-Event": "a b\tc"}, {"Content-Type": "text/plain"}],
)
def test_plain_headers_may_be_sent_by_anybody(headers: dict[str, str]):
    assert header_problem(headers, stored=False) is None
    assert header_problem(headers, stored=True) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "b\r\nX-Injected: c"},
        {"X-A": "b\nc"},
        {"X-A": "b\rc"},
        {"X-A": "b\0c"},
        {"X-A": ""},
        {"X-A": " padded "},
        {"X-A": "ünïcode"},
        {"X-A": "x" * 5000},
        {"X-A: b\r\nX-B": "c"},
        {"X A": "b"},
        {"": "b"},
        {":path": "/"},
        {"Host": "evil.example"},
        {"hOsT": "evil.example"},
        {"Content-Length": "0"},
        {"Transfer-Encoding": "chunked"},
        {"Connection": "close"},
        {"Keep-Alive": "1"},
        {"Upgrade": "h2c"},
        {"TE": "trailers"},
        {"Trailer": "X"},
        {"Expect": "100-continue"},
        {"Proxy-Authorization": "Basic x"},
        {"Proxy-Connection": "close"},
        {"X-A": "1", "x-a": "2"},
        {f"X-{number}": "1" for number in range(MAX_HEADERS + 1)},
    ],
)
def test_what_would_change_the_request_is_refused_to_everybody(headers: dict[str, str]):
    assert header_problem(headers, stored=False) is not None
    assert header_problem(headers, stored=True) is not None


@pytest.mark.parametrize(
    "name", ["Authorization", "cookie", "X-Forwarded-For", "x-forwarded-host", "Forwarded"]
)
def test_secrets_and_other_origins_are_for_operators_only(name: str):
    assert header_problem({name: "value"}, stored=True) is None
    assert "named trigger" in str(header_problem({name: "value"}, stored=False))
