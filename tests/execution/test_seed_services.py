"""A plugin as the seeds have it: their services without arguments, in both kinds of handlers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.errors import ToolFailed
from app.tools.web.services import ContentExtractor, FetchService
from tests.execution.lab import open_lab
from tests.operations.web.site import answer, serving
from tests.tools.web.pages import ARTICLE

PLUGIN = """
from app.catalog.seed_api import ContentExtractor, FetchService, SearchService, tool

URL = {"type": "object", "properties": {"url": {"type": "string"}}}

@tool(name="plain_fetch", description="Fetches.", parameters=URL)
def plain_fetch(arguments):
    return FetchService().fetch(arguments["url"], "text")

@tool(name="async_fetch", description="Fetches.", parameters=URL)
async def async_fetch(arguments):
    found = await FetchService().fetch_batch([arguments["url"]], "links")
    return found["results"][0]

@tool(name="plain_extract", description="Extracts.", parameters={"type": "object"})
def plain_extract(arguments):
    return {"text": ContentExtractor("<a>L0</a><a>L1</a>").extract_text()}

@tool(name="plain_search", description="Searches.", parameters={"type": "object"})
def plain_search(arguments):
    return {"results": SearchService().search("cats", 3)}
"""


@pytest.fixture
def plugged(settings: Settings) -> Settings:
    settings.plugins_dir.mkdir(parents=True)
    Path(settings.plugins_dir / "pages.py").write_text(PLUGIN)
    return settings


@pytest.mark.requirement("WEB-05")
async def test_the_services_of_the_seeds_need_no_arguments_in_a_plugin(plugged: Settings):
    async with serving() as site:
        site.pages["/"] = answer(
            f"<main><h1>Title</h1><p>{ARTICLE} <a href='/b'>B</a></p>".encode()
        )
        site.pages["/html/"] = answer(b'<a class="result__a" href="https://a.b/">Cats</a>')
        web = plugged.web.model_validate(
            {
                "allow_networks": ["127.0.0.0/8"],
                "host_interval_s": 0,
                "duckduckgo_url": site.url,
            }
        )
        async with open_lab(plugged.model_copy(update={"web": web})) as lab:

            async def data(name: str, **arguments: Any) -> Any:
                outcome = await lab.call(name, name, **arguments)
                assert outcome.success, outcome.text
                return outcome.result.data

            fetched = await data("plain_fetch", url=f"{site.url}/")
            assert fetched["text"].startswith("Title\n")
            links = [{"text": "B", "href": f"{site.url}/b"}]
            assert (await data("async_fetch", url=f"{site.url}/"))["links"] == links
            assert await data("plain_extract") == {"text": "L0\nL1"}
            found = {"title": "Cats", "url": "https://a.b/", "snippet": ""}
            assert await data("plain_search") == {"results": [found]}


async def test_outside_of_a_call_they_say_what_is_missing():
    with pytest.raises(ToolFailed, match="only available while a tool runs"):
        FetchService()
    with pytest.raises(ToolFailed, match="only available while a tool runs"):
        await ContentExtractor("<p>x").extract_text()
