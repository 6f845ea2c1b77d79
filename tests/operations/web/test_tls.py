"""Certificates are checked against the name that was asked for."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from app.config.web import WebSettings
from app.core.clock import ManualClock
from app.core.errors import ToolFailed
from app.operations.web.client import Web
from tests.operations.web.site import PUBLIC, Internet, Names, Site, answer, redirect, serving
from tests.support.certificates import certificate, server_context


def _web(site: Site, trusts: ssl.SSLContext | None) -> Web:
    names = Names(public_test=[[PUBLIC]], other_test=[[PUBLIC]])
    return Web(
        WebSettings(host_interval_s=0),
        ManualClock(),
        resolver=names,
        ssl_context=trusts,
        network=Internet(site.port),
    )


async def test_only_a_certificate_for_the_name_is_good_enough(tmp_path: Path):
    path = certificate(tmp_path, "public.test")
    server = server_context(path)
    named: list[str | None] = []
    server.sni_callback = lambda _, name, __: named.append(name)
    trusting = ssl.create_default_context(cafile=str(path))
    async with serving(ssl=server) as site:
        site.pages["/"] = answer(b"secure")
        web, strict = _web(site, trusting), _web(site, None)
        try:
            assert (await web.page("https://public.test/")).body == b"secure"
            assert named == ["public.test"]
            for one, url in ((web, "https://other.test/"), (strict, "https://public.test/")):
                with pytest.raises(ToolFailed, match="certificate") as caught:
                    await one.page(url)
                assert caught.value.details["code"] == "fetch_failed"
            site.pages["/down"] = redirect("http://public.test/")
            with pytest.raises(ToolFailed, match="from https to http"):
                await web.page("https://public.test/down")
        finally:
            await web.aclose()
            await strict.aclose()
    assert site.paths == ["/", "/down"]


@pytest.mark.parametrize(
    ("begins", "ends", "name", "trusts", "said"),
    [
        (-9, -1, "public.test", True, "its certificate has expired"),
        (1, 9, "public.test", True, "its certificate is not valid yet"),
        (-1, 9, "other.test", True, "its certificate belongs to another host name"),
        (-1, 9, "public.test", False, "by an authority that this machine does not trust"),
    ],
)
async def test_what_is_wrong_with_a_certificate_is_said(
    tmp_path: Path, *, begins: int, ends: int, name: str, trusts: bool, said: str
):
    path = certificate(tmp_path, name, begins=begins, ends=ends)
    trusting = ssl.create_default_context(cafile=str(path) if trusts else None)
    async with serving(ssl=server_context(path)) as site:
        web = _web(site, trusting)
        try:
            with pytest.raises(ToolFailed, match=said):
                await web.page("https://public.test/")
        finally:
            await web.aclose()


async def test_a_server_without_tls_is_said_to_have_none():
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    listening = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with listening:
        web = _web(Site(port=listening.sockets[0].getsockname()[1]), None)
        try:
            with pytest.raises(ToolFailed, match="it does not use TLS on this port"):
                await web.page("https://public.test/")
        finally:
            await web.aclose()
