"""The web tools in the whole service: on with what they need, off with a reason without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.config.secret_values import secret_values
from app.config.settings import Settings
from app.domain.web import PAGE_SANDBOX, WEB_ACCESS
from app.operations.web.client import Web
from tests.execution.lab import open_lab, settings_for
from tests.operations.web.site import answer, serving
from tests.tools.web.pages import ARTICLE

KEY = "brave-very-secret-key-0123456789"


@pytest.mark.requirement("REG-18")
@pytest.mark.requirement("B-27")
async def test_searching_is_off_with_a_reason_where_nobody_searches(tmp_path: Path, template: Path):
    nobody = {"search_provider": "off"}
    async with open_lab(settings_for(tmp_path / "off", template, web=nobody)) as house:
        off = house.runtime.resolver.resolve()
        assert "web_search" not in off.tool_names
        reason = off.disabled_reasons["web_search"]
        assert (reason.code, "web.search_provider" in reason.message) == ("missing_config", True)
        assert {"web_fetch", "crawl_batch"} <= set(off.tool_names)
    web = {"brave_api_key": KEY}
    async with open_lab(settings_for(tmp_path / "other", template, web=web)) as keyed:
        assert "web_search" in keyed.runtime.resolver.resolve().tool_names
        assert KEY not in keyed.runtime.redactor.text(f"the key is {KEY}")


@pytest.mark.requirement("WEB-01")
async def test_a_fresh_installation_searches_without_a_key(tmp_path: Path, template: Path):
    async with serving() as site:
        site.pages["/html/"] = answer(
            b'<a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.b%2F">Cats</a>'
            b'<a class="result__snippet">About cats</a>'
        )
        web = {"duckduckgo_url": site.url}
        async with open_lab(settings_for(tmp_path / "fresh", template, web=web)) as lab:
            outcome = await lab.call("web_search", query="cats")
        found = {"title": "Cats", "url": "https://a.b/", "snippet": "About cats"}
        assert outcome.result.data == {"results": [found]}
        assert site.asked[0].body.startswith(b"q=cats&")


def test_keys_of_providers_are_secrets(settings: Settings):
    web = settings.web.model_validate({"brave_api_key": KEY, "tavily_api_key": f"t{KEY}"})
    found = secret_values(settings.model_copy(update={"web": web}))
    assert {KEY, f"t{KEY}"} <= set(found)


async def test_a_page_is_fetched_through_the_gate(tmp_path: Path, template: Path):
    web = {"allow_networks": ["127.0.0.0/8"], "host_interval_s": 0}
    async with serving() as site, open_lab(settings_for(tmp_path / "d", template, web=web)) as lab:
        site.pages["/"] = answer(f"<h1>Title</h1><p>{ARTICLE}".encode())
        outcome = await lab.call("fetch_page", url=f"{site.url}/")
        assert outcome.result.data == {"url": f"{site.url}/", "text": f"Title\n{ARTICLE}"}
        service = lab.runtime.services.get(WEB_ACCESS)
        assert isinstance(service, Web)
        assert lab.runtime.services.get(PAGE_SANDBOX) is not None
        lab.runtime.workspaces.keep_out(site.port)
        page = await lab.call("web_fetch", "c2", url=f"http://localhost:{site.port}/")
        assert page.result.code == "address_refused"
