"""Behind a proxy, the address is the forwarded one where the proxy is trusted, else nowhere."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from pydantic import ValidationError

from app.config.server import ServingSettings
from tests.support.raw_clients import HALF_BODY, first_refusal, raw_client, request
from tests.support.service import Running, serving, settings_for

WRONG = "Authorization: Bearer tg_wrong"
# The client says the first of them, the proxy the last.
FORWARDED = "X-Forwarded-For: 203.0.113.9, 198.51.100.7"


async def _refused_sources(running: Running) -> list[str]:
    rows = await running.service.db.transact(
        lambda transaction: transaction.fetch(
            "SELECT subject FROM audit WHERE kind = 'auth.refused' ORDER BY rowid"
        )
    )
    return [source for (source,) in rows]


@pytest.mark.parametrize(
    ("proxies", "source"),
    [
        ([], "127.0.0.1"),
        (["10.0.0.0/8"], "127.0.0.1"),
        (["127.0.0.1"], "198.51.100.7"),
        (["127.0.0.0/8", "198.51.100.0/24"], "203.0.113.9"),
    ],
    ids=["no proxy", "another proxy", "one proxy", "a chain of proxies"],
)
async def test_the_audit_names_the_forwarded_address_only_of_a_trusted_proxy(
    tmp_path: Path, proxies: list[str], source: str
):
    settings = settings_for(tmp_path, serving=ServingSettings(trusted_proxies=proxies))
    async with serving(settings) as running, raw_client(running.url) as client:
        await client.send(request("/api/v1/me", WRONG, FORWARDED))
        assert (await client.answer()).status == 401
        assert await _refused_sources(running) == [source]


async def test_clients_behind_a_trusted_proxy_have_shares_of_their_own(tmp_path: Path):
    serving_settings = ServingSettings(trusted_proxies=["127.0.0.1"], connections_per_address=2)
    async with (
        serving(settings_for(tmp_path, serving=serving_settings)) as running,
        AsyncExitStack() as stack,
    ):
        for _ in range(2):
            client = await stack.enter_async_context(raw_client(running.url))
            from_one = ("X-Forwarded-For: 203.0.113.9", *HALF_BODY)
            await client.send(request("/api/v1/login", *from_one, method="POST"))
        asked = request("/api/v1/me", "X-Forwarded-For: 203.0.113.9")
        await first_refusal(running.url, asked)
        client = await stack.enter_async_context(raw_client(running.url))
        await client.send(request("/api/v1/me", "X-Forwarded-For: 203.0.113.10"))
        assert (await client.answer()).status == 200


async def test_a_cookie_is_secure_where_a_trusted_proxy_says_that_it_speaks_tls(tmp_path: Path):
    for proxies, name in ((["127.0.0.1"], "__Host-tollgate_login"), ([], "tollgate_login")):
        folder = tmp_path / name
        folder.mkdir()
        settings = settings_for(
            folder, token="x" * 40, serving=ServingSettings(trusted_proxies=proxies)
        )
        body = '{"token":"' + "x" * 40 + '"}'
        said = (
            "X-Forwarded-Proto: https",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        )
        async with serving(settings) as running, raw_client(running.url) as client:
            await client.send(request("/api/v1/login", *said, method="POST") + body)
            answer = await client.answer()
            assert answer.headers["set-cookie"].startswith(f"{name}=")


@pytest.mark.parametrize("entry", ["proxy.example", "10.0.0.1/8", "*"])
def test_what_is_no_network_is_refused_by_name(entry: str):
    with pytest.raises(ValidationError, match=r"neither an address nor a network"):
        ServingSettings(trusted_proxies=[entry])
