import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from app.api.errors import error_path
from app.api.json_body import MAX_LEVELS
from app.api.rest.middleware import MAX_BODY_BYTES
from app.api.ws_tickets import MAX_PER_USER
from tests.api.rest.client import call, new_session, problem
from tests.support.service import Running

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("path", "body", "paths"),
    [
        ("/sessions", {"title": 1, "extra": 2}, ["body.title", "body.extra"]),
        ("/sessions", {"project_id": "../x"}, ["body.project_id"]),
        ("/sessions", [], ["body"]),
        ("/tools/calls", {}, ["body.calls"]),
        ("/tools/calls", {"calls": []}, ["body.calls"]),
        ("/tools/calls", {"calls": [{"name": "x"}] * 129}, ["body.calls"]),
        ("/tools/calls", {"calls": [3]}, ["body.calls[0]"]),
        (
            "/tools/calls",
            {"calls": [{"function": {"name": ""}}, {"id": "a b", "name": "x", "arguments": 1}]},
            ["body.calls[0].function.name", "body.calls[1].id", "body.calls[1].arguments"],
        ),
        (
            "/tools/calls",
            {"calls": [{"type": "tool_use", "name": "x", "input": "no"}], "max_workers": 7},
            ["body.calls[0].input", "body.max_workers"],
        ),
        (
            "/tools/bash/call",
            {"arguments": 1, "cacheable": "yes"},
            ["body.arguments", "body.cacheable"],
        ),
        ("/confirmations/c", {"option_id": 1}, ["body.option_id", "body.digest"]),
    ],
)
async def test_every_invalid_field_is_named_with_its_path(
    client: httpx2.AsyncClient, path: str, body: Any, paths: list[str]
):
    reported = await problem(await client.post(path, json=body))

    assert (reported["status"], reported["code"]) == (422, "validation_failed")
    assert [item["path"] for item in reported["details"]["errors"]] == paths


@pytest.mark.parametrize("content", ["", "  ", [], 7, None, ["x"], [{"type": "tool_use"}]])
async def test_content_that_is_neither_text_nor_blocks_is_refused(
    client: httpx2.AsyncClient, content: Any
):
    session_id = await new_session(client)

    reported = await problem(
        await client.post(f"/sessions/{session_id}/messages", json={"content": content})
    )

    assert (reported["status"], reported["code"]) == (422, "validation_failed")
    assert (await client.get(f"/sessions/{session_id}/runs")).json() == {"runs": []}


@pytest.mark.parametrize(
    "body",
    [b"{", b'{"title": "\xff"}', b'{"title": "\\ud800"}', b'{"title": NaN}', b"[" * 100_000],
)
async def test_a_body_that_is_not_json_in_utf8_is_refused(client: httpx2.AsyncClient, body: bytes):
    reported = await problem(await client.post("/sessions", content=body, headers=JSON))

    assert (reported["status"], reported["code"]) == (400, "bad_frame")


@pytest.mark.parametrize("levels", [101, 300])
async def test_a_body_that_nests_too_deeply_to_be_written_again_is_refused(
    client: httpx2.AsyncClient, levels: int
):
    body = '{"name": "deep", "body": ' + "[" * (levels - 1) + "]" * (levels - 1) + "}"

    reported = await problem(await client.post("/admin/triggers", content=body, headers=JSON))

    assert (reported["status"], reported["code"]) == (400, "bad_frame")
    assert f"{MAX_LEVELS} levels" in reported["detail"]


async def test_a_body_that_nests_as_deeply_as_it_may_is_read(client: httpx2.AsyncClient):
    body = {"calls": [{"name": "x", "arguments": {"a": json.loads("[" * 96 + "]" * 96)}}]}

    assert (await client.post("/tools/calls", json=body)).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
async def test_a_body_that_a_form_could_send_is_refused(client: httpx2.AsyncClient, kind: str):
    reported = await problem(
        await client.post("/sessions", content=b"{}", headers={"content-type": kind})
    )

    assert (reported["status"], reported["code"]) == (415, "unsupported_media_type")


async def in_pieces() -> AsyncIterator[bytes]:
    for _ in range(MAX_BODY_BYTES // (1 << 20) + 1):
        yield b" " * (1 << 20)


@pytest.mark.parametrize("content", [lambda: b" " * (MAX_BODY_BYTES + 1), in_pieces])
async def test_a_body_over_the_limit_is_refused_announced_or_not(
    client: httpx2.AsyncClient, content: Callable[[], Any]
):
    reported = await problem(await client.post("/sessions", content=content(), headers=JSON))

    assert (reported["status"], reported["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("DELETE", "/sessions", 405, "method_not_allowed"),
        ("GET", "/sessions?limit=0", 422, "validation_failed"),
        ("GET", "/sessions?limit=x", 422, "validation_failed"),
        ("GET", "/sessions?kind=other", 422, "validation_failed"),
        ("GET", f"/sessions/{'x' * 200}", 404, "not_found"),
        ("GET", "/tools?format=xml", 422, "validation_failed"),
        ("GET", f"/admin/forum/posts?before={2**63}", 422, "validation_failed"),
        ("DELETE", f"/admin/forum/posts/{2**63}", 422, "validation_failed"),
        ("GET", "/tools/nope", 404, "tool_not_found"),
        ("GET", "/artifacts/..%2F..%2Fetc", 404, "not_found"),
        ("GET", "/artifacts/art_none", 404, "not_found"),
        ("GET", "/sessions/%00", 404, "not_found"),
        ("GET", "/sessions/%FF", 404, "not_found"),
    ],
)
async def test_a_request_that_means_nothing_gets_its_problem(
    client: httpx2.AsyncClient, method: str, path: str, status: int, code: str
):
    reported = await problem(await client.request(method, path))

    assert (reported["status"], reported["code"]) == (status, code)


async def test_a_wrong_method_names_the_right_ones(client: httpx2.AsyncClient):
    answer = await client.delete("/health")

    assert answer.headers["allow"] == "GET"
    several = await client.put("/admin/agents/writer")
    assert several.headers["allow"] == "DELETE, GET, PATCH"


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/admin/audit/export?tool=bash", "tool_name"),
        ("/admin/tools?stat=on&limit=5", "state"),
        ("/sessions/ses_1?full=1", "none is available"),
        ("/me?x=%00", "none is available"),
    ],
)
async def test_a_query_parameter_that_nothing_reads_is_refused(
    client: httpx2.AsyncClient, path: str, known: str
):
    reported = await problem(await client.get(path))

    (error,) = reported["details"]["errors"]
    assert (reported["status"], error["path"].startswith("query.")) == (422, True)
    assert known in error["message"]


async def test_what_looks_at_health_may_add_what_it_likes(client: httpx2.AsyncClient):
    assert (await client.get("/health?nocache=1")).status_code == 200


async def test_a_field_over_its_limit_is_shown_the_limit(client: httpx2.AsyncClient):
    reported = await problem(await client.get("/admin/audit?limit=100000"))
    (error,) = reported["details"]["errors"]
    assert (error["path"], error["code"]) == ("query.limit", "less_than_equal")
    assert error["message"].endswith(f" {error['values']['le']}")


async def test_a_single_wrong_field_is_listed_like_many(client: httpx2.AsyncClient):
    body = {"name": "x", "root": "relative"}
    reported = await problem(await client.post("/admin/projects", json=body))
    (error,) = reported["details"]["errors"]
    assert error == {"path": "root", "message": reported["detail"], "code": "invalid_value"}


@pytest.mark.parametrize("path", ["../../etc/passwd", "a\x00b", "/etc/passwd"])
async def test_a_path_outside_the_workspace_is_an_answer_of_the_tool(
    client: httpx2.AsyncClient, path: str
):
    result = await call(client, "read_file", arguments={"path": path})

    assert result["record"]["success"] is False
    assert "root:" not in result["text"]


async def test_an_unexpected_failure_shows_an_id_and_nothing_else(
    serving: Running, client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
):
    serving.app.state.service = object()

    reported = await problem(await client.get("/projects"))

    assert (reported["status"], reported["code"]) == (500, "internal")
    assert set(reported) == {"type", "title", "status", "detail", "code", "retryable", "error_id"}
    assert reported["error_id"] in reported["detail"]
    assert any(reported["error_id"] in record.getMessage() for record in caplog.records)


async def test_too_many_requests_say_when_to_come_back(
    serving: Running, client: httpx2.AsyncClient
):
    principal = await serving.service.authenticator.authenticate(None)
    for _ in range(MAX_PER_USER):
        serving.service.ws_tickets.issue(principal)

    answer = await client.post("/ws-tickets")

    assert (await problem(answer))["code"] == "rate_limited"
    assert answer.headers["retry-after"] == "1"


def test_a_path_shows_fields_and_indexes_and_no_branch_of_a_union():
    location = ("body", "calls", 0, "~openai", "function", "name")

    assert error_path(location) == "body.calls[0].function.name"
