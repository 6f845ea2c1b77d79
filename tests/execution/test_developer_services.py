"""Language servers and screens, as the whole gate knows them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from app.bootstrap.tool_services import developer_services
from app.config.language_servers import LanguageServerSettings, LanguageServersSettings
from app.config.screens import ScreenSettings
from app.config.settings import Settings
from app.operations.language_servers.pool import LanguageServerPool
from app.toolkit.ports import CODE_SERVERS, SCREEN_CAPTURE
from tests.execution.lab import Lab, open_lab


@pytest.fixture
async def bare(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lab]:
    """A house on a machine without browser, desktop and language server."""
    monkeypatch.delenv("DISPLAY", raising=False)
    gone = LanguageServerSettings(name="ty", command=["/no/such/ty"], extensions={"py": "python"})
    found = settings.model_copy(
        update={
            "screens": ScreenSettings(browser="/no/such/browser"),
            "language_servers": LanguageServersSettings(servers=[gone]),
        }
    )
    async with open_lab(found) as lab:
        yield lab


@pytest.mark.requirement("DEV-01", "MED-01")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("lsp", {"operation": "hover", "path": "a.py", "line": 1}),
        ("screenshot", {"url": "https://example.org"}),
    ],
)
async def test_what_this_machine_does_not_have_is_off_with_a_reason(
    bare: Lab, tool: str, arguments: dict[str, object]
):
    outcome = await bare.call(tool, "c1", **arguments)
    assert (outcome.status, outcome.result.code) == ("disabled", "missing_config")
    assert len(str(outcome.result.error)) > 5


@pytest.mark.requirement("DEV-01")
async def test_python_works_out_of_the_box_and_its_server_ends_with_the_service(house: Lab):
    runtime = house.runtime
    await house.context["project"].operations.files.write("a.py", b"def made():\n    pass\n")
    async with developer_services(runtime.settings, runtime.services):
        outcome = await house.call("lsp", "c1", operation="documentSymbol", path="a.py")
        assert outcome.result.error is None
        assert [item["name"] for item in outcome.result.data["results"]] == ["made"]
        pool = runtime.services.require(CODE_SERVERS, LanguageServerPool)
        assert pool.running == ["ty"]
    assert pool.running == []


async def test_what_is_not_there_is_not_registered(bare: Lab):
    assert bare.runtime.services.get(SCREEN_CAPTURE) is None
    assert bare.runtime.services.get(CODE_SERVERS) is None
    reason = bare.runtime.resolver.resolve().disabled_reasons["screenshot"]
    assert "TOLLGATE_SCREENS__BROWSER" in reason.fix
