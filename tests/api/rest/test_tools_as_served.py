"""Tools through the door of a running service: what they answer, and that it fits their schema."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator

from app.catalog.formats import render
from app.config.sections import CodeExecutionSettings, SandboxSettings
from app.config.web import WebSettings
from tests.api.rest.client import call
from tests.operations.web.site import Site, answer
from tests.operations.web.site import serving as serving_site
from tests.support.service import serving, settings_for

PAGE = b"<html><head><title>Hello</title></head><body><h1>Hello</h1><p>A page.</p></body></html>"
FOUND = {"results": [{"url": "https://a.b/1", "title": "First", "content": "About x"}]}
NUMPY = "import numpy as np\nint((np.arange(12).reshape(3, 4) @ np.ones((4, 2))).sum())"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving_site() as served:
        for path in ("/page", "/private/page"):
            served.pages[path] = answer(PAGE)
        served.pages["/robots.txt"] = answer(
            b"User-agent: *\nDisallow: /private/\n", kind="text/plain"
        )
        found = json.dumps(FOUND).encode()
        served.pages["/search?q=x&format=json"] = answer(found, kind="application/json")
        yield served


@pytest.fixture
async def client(tmp_path: Path, site: Site) -> AsyncIterator[httpx2.AsyncClient]:
    settings = settings_for(
        tmp_path,
        web=WebSettings(
            allow_networks=["127.0.0.0/8"], respect_robots="always", searxng_url=site.url
        ),
        code_execution=CodeExecutionSettings(extra_allowed_modules={"standard": ["numpy"]}),
    )
    async with (
        serving(settings) as running,
        httpx2.AsyncClient(base_url=running.api, timeout=60) as opened,
    ):
        yield opened


async def result_of(client: httpx2.AsyncClient, name: str, **arguments: Any) -> dict[str, Any]:
    """The result of a call that succeeds."""
    called = await call(client, name, arguments=arguments)
    assert called["record"]["status"] == "success", called["text"]
    result: dict[str, Any] = json.loads(called["record"]["result"])
    return result


async def test_a_page_is_fetched_and_one_that_robots_may_not_see_is_not(
    client: httpx2.AsyncClient, site: Site
):
    fetched = await result_of(client, "web_fetch", url=f"{site.url}/page")
    refused = await call(client, "web_fetch", arguments={"url": f"{site.url}/private/page"})

    assert "A page." in json.dumps(fetched["data"])
    assert refused["record"]["status"] == "error"
    assert "robots.txt" in refused["text"]
    assert "/private/page" not in site.paths


async def test_a_search_asks_the_engine_of_the_settings(client: httpx2.AsyncClient):
    found = await result_of(client, "web_search", query="x")
    assert found["data"]["results"][0]["url"] == "https://a.b/1"


async def test_code_uses_the_modules_that_the_settings_allow(client: httpx2.AsyncClient):
    worked = await result_of(client, "execute_python", code=NUMPY)
    assert worked["data"]["value"] == "132"


async def test_results_fit_the_schema_that_is_served(client: httpx2.AsyncClient, site: Site):
    listed = (await client.get("/tools")).json()["tools"]
    schemas = {tool["name"]: tool["return_schema"] for tool in listed}
    calls: dict[str, dict[str, Any]] = {
        "write_file": {"path": "a.txt", "content": "one\ntwo\n"},
        "read_file": {"path": "a.txt"},
        "list_dir": {"path": "."},
        "grep": {"pattern": "two"},
        "bash": {"command": "echo hello"},
        "calculator": {"expression": "6 * 7"},
        "text_process": {"text": "a b", "operation": "count"},
        "execute_python": {"code": "1 + 1"},
        "web_fetch": {"url": f"{site.url}/page"},
        "web_search": {"query": "x"},
    }
    for name, arguments in calls.items():
        result = await result_of(client, name, **arguments)
        faults = Draft202012Validator(schemas[name]).iter_errors(result["data"])
        assert [fault.message for fault in faults] == [], name


async def test_clients_and_models_read_the_limits_of_the_settings(tmp_path: Path):
    sandbox = SandboxSettings(warm_workers=0, command_timeout_s=7, command_timeout_max_s=90)
    code = CodeExecutionSettings(default_strictness="strict")
    settings = settings_for(tmp_path, sandbox=sandbox, code_execution=code)
    async with (
        serving(settings) as running,
        httpx2.AsyncClient(base_url=running.api, timeout=60) as client,
    ):
        bash = (await client.get("/tools/bash")).json()["tool"]["parameters"]["properties"]
        code_tool = (await client.get("/tools/execute_python")).json()["tool"]
        snapshot = running.service.registry.snapshot()
        (shown,) = render([snapshot.tools["bash"]], "anthropic")

    timeout = {name: bash["timeout"][name] for name in ("default", "maximum")}
    assert timeout == {"default": 7, "maximum": 90}
    assert code_tool["parameters"]["properties"]["strictness"]["default"] == "strict"
    assert shown["input_schema"]["properties"]["timeout"]["maximum"] == 90
