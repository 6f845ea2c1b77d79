"""What servers answer, as `web_fetch` shows it, from a server on loopback."""

from __future__ import annotations

import pytest

from app.toolkit.context import ToolContext
from app.tools.web.web_fetch import web_fetch
from tests.operations.web.site import Site, answer
from tests.reports.samples import Row, samples
from tests.tools.calls import call
from tests.tools.web.conftest import ctx, rooms, site, web

__all__ = ["ctx", "rooms", "site", "web"]

ARRIVED = b"<html><body><main><h1>Arrived here</h1></main></body></html>"
AROUND = (
    b"<html><head><meta http-equiv=refresh content='0; url=/page'></head><body>Moving</body></html>"
)


def serve(site: Site, row: Row) -> str:
    """Where the row's page is, with what it may lead to."""
    page = row["page"]
    body = bytes.fromhex(page["body_hex"]) if "body_hex" in page else page["body"].encode()
    site.pages = {
        "/page": answer(body, kind=page["type"]),
        "/there": answer(ARRIVED),
        "/there?a=1&b=2": answer(ARRIVED),
        "/round": answer(AROUND),
        "/gone": answer(b"", status="404 Not Found"),
    }
    return f"{site.url}/page"


async def shown(ctx: ToolContext, site: Site, row: Row) -> str:
    result = await call(web_fetch, ctx, url=serve(site, row))
    assert result.success, result.error
    return result.for_model()


@pytest.mark.parametrize("row", samples("web_json_as_it_is"))
async def test_json_is_shown_with_its_values_as_they_are(ctx: ToolContext, site: Site, row: Row):
    text = await shown(ctx, site, row)
    assert all(wanted in text for wanted in row["right"]["contains_all"]), text
    if row["right"]["not_contains"]:
        assert row["right"]["not_contains"] not in text


@pytest.mark.parametrize("row", samples("web_latin1_header_on_utf8"))
async def test_letters_are_right_where_the_server_is_wrong(ctx: ToolContext, site: Site, row: Row):
    text = await shown(ctx, site, row)
    assert any(wanted in text for wanted in row["right"]["contains_any"]), text


@pytest.mark.parametrize("row", samples("web_meta_refresh"))
async def test_a_page_that_leads_on_is_followed(ctx: ToolContext, site: Site, row: Row):
    text = await shown(ctx, site, row)
    assert any(wanted in text for wanted in row["right"]["contains_any"]), text


async def test_the_source_of_a_page_that_leads_on_is_its_own(ctx: ToolContext, site: Site):
    (row,) = (one.values[0] for one in samples("web_meta_refresh")[:1])
    result = await call(web_fetch, ctx, url=serve(site, row), extract_mode="raw")
    assert 'content="0; url=/there"' in result.data["text"]
    assert site.paths == ["/page"]


async def test_links_side_by_side_are_a_line_each(ctx: ToolContext, site: Site):
    links = "".join(f"<a href='/{number}'>L{number}</a>" for number in range(60))
    site.pages["/page"] = answer(f"<html><body>{links}</body></html>".encode())
    result = await call(web_fetch, ctx, url=f"{site.url}/page")
    assert result.data["text"].split("\n") == [f"L{number}" for number in range(60)]
