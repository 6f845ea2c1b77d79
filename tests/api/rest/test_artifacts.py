import hashlib

import httpx2
import pytest

from tests.api.rest.client import call, new_session, problem
from tests.support.service import Running

PRINTED = "".join(f"{number}\n" for number in range(1, 60_001))


@pytest.fixture
async def printed(client: httpx2.AsyncClient) -> tuple[str, str]:
    """Ids of a session and of the artifact that a talkative command left in it."""
    session_id = await new_session(client)
    result = await call(client, "bash", arguments={"command": "seq 1 60000"}, session_id=session_id)
    assert result["truncated"] is True
    return session_id, result["artifact_id"]


async def test_output_that_is_too_long_can_be_downloaded_whole(
    client: httpx2.AsyncClient, printed: tuple[str, str]
):
    session_id, artifact_id = printed

    answer = await client.get(f"/artifacts/{artifact_id}")

    (listed,) = (await client.get(f"/sessions/{session_id}/artifacts")).json()["artifacts"]
    assert answer.text == PRINTED
    assert (listed["id"], listed["size"]) == (artifact_id, len(PRINTED))
    assert listed["sha256"] == hashlib.sha256(PRINTED.encode()).hexdigest()


async def test_an_artifact_is_a_download_and_never_a_page(
    client: httpx2.AsyncClient, printed: tuple[str, str]
):
    headers = (await client.get(f"/artifacts/{printed[1]}")).headers

    assert headers["content-disposition"].startswith("attachment; ")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"].startswith("sandbox")


async def test_an_artifact_can_be_read_on_piece_by_piece(
    client: httpx2.AsyncClient, printed: tuple[str, str]
):
    pieces, offset = [], 0
    while offset < len(PRINTED):
        params = {"offset": offset, "limit": 100_000}
        answer = await client.get(f"/artifacts/{printed[1]}", params=params)
        pieces.append(answer.text)
        offset += int(answer.headers["content-length"])

    assert "".join(pieces) == PRINTED
    assert answer.headers["x-artifact-size"] == str(len(PRINTED))


async def test_an_offset_at_the_end_is_empty_and_behind_it_refused(
    client: httpx2.AsyncClient, printed: tuple[str, str]
):
    path, size = f"/artifacts/{printed[1]}", len(PRINTED)

    at_end = await client.get(path, params={"offset": size})
    behind = await problem(await client.get(path, params={"offset": size + 1}))

    assert (at_end.status_code, at_end.content) == (200, b"")
    assert (behind["status"], behind["code"]) == (422, "validation_failed")


async def test_an_artifact_whose_file_is_gone_is_not_found(
    client: httpx2.AsyncClient, serving: Running, printed: tuple[str, str]
):
    serving.service.artifacts.path(printed[1]).unlink()

    reported = await problem(await client.get(f"/artifacts/{printed[1]}"))

    assert (reported["status"], reported["code"]) == (404, "not_found")
