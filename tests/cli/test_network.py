"""`tollgate network …` beside a running service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.cli.program import tollgate
from tests.support.service import Running, serving, settings_for

ADMIN = "operator-secret-0123456789"


@pytest.fixture
async def running(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Running]:
    root = tmp_path_factory.mktemp("site")
    async with serving(settings_for(tmp_path, token=ADMIN)) as service:
        await service.service.projects.create("Site", str(root), project_id="site", actor="ann")
        yield service


async def network(running: Running, *words: str) -> CompletedProcess[str]:
    """Run the command beside the service, which runs in this process."""
    folder = running.service.settings.data_dir
    place = {"TOLLGATE_URL": running.url, "TOLLGATE_TOKEN": ADMIN}
    return await asyncio.to_thread(tollgate, folder, "network", *words, **place)


async def test_hosts_are_allowed_listed_and_removed(running: Running):
    words = ("GitHub.com:22,443", "preset:python", "--project", "site")
    allowed = await network(running, "allow", *words)
    assert allowed.returncode == 0, allowed.stderr
    assert allowed.stdout.splitlines() == [
        "site  Site  these hosts:",
        "  github.com:22,443",
        "  preset:python",
    ]
    assert running.url in allowed.stderr
    await network(running, "allow", "github.com:443,22", "*.example.com", "--project", "site")
    hosts = ("github.com:22,443", "preset:python", "*.example.com")
    assert running.service.projects.about("site").allowed_hosts == hosts

    assert (await network(running, "list")).stdout.splitlines()[:2] == [
        "default  default  no hosts",
        "site  Site  these hosts:",
    ]
    listed = json.loads((await network(running, "list", "--project", "site", "--json")).stdout)
    assert listed["projects"] == [
        {"id": "site", "name": "Site", "allowed_hosts": list(hosts), "tcp_ports": []}
    ]

    gone = ("GITHUB.com:22,443", "preset:python", "--project", "site")
    removed = await network(running, "remove", *gone)
    assert removed.stdout.splitlines() == ["site  Site  these hosts:", "  *.example.com"]


async def test_a_host_that_is_not_listed_removes_nothing(running: Running):
    await network(running, "allow", "github.com", "--project", "site")
    refused = await network(running, "remove", "github.com", "example.com", "--project", "site")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Not in the list: example.com; allowed hosts are: github.com" in refused.stderr
    assert running.service.projects.about("site").allowed_hosts == ("github.com",)


async def test_a_bad_host_is_refused_by_its_text(running: Running):
    refused = await network(running, "allow", "https://github.com", "--project", "site")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "allowed_hosts[0]: invalid host 'https://github.com'" in refused.stderr


async def test_hosts_beside_ports_are_refused_with_the_names_of_both(running: Running):
    await running.service.projects.change("site", {"tcp_ports": (443,)}, actor="ann")
    refused = await network(running, "allow", "github.com", "--project", "site")
    assert refused.returncode == 1
    assert "allowed_hosts cannot be used with tcp_ports" in refused.stderr
    shown = await network(running, "list", "--project", "site")
    assert shown.stdout == "site  Site  every host on ports 443\n"


async def test_the_hosts_of_the_default_project_are_changed_too(running: Running):
    allowed = await network(running, "allow", "github.com")
    assert allowed.returncode == 0, allowed.stderr
    assert running.service.projects.about("default").allowed_hosts == ("github.com",)
    assert (await network(running, "remove", "github.com")).returncode == 0
    assert running.service.projects.about("default").allowed_hosts == ()


async def test_presets_are_listed_with_their_hosts(running: Running):
    shown = (await network(running, "presets")).stdout
    assert "preset:go\n  proxy.golang.org\n  sum.golang.org\n" in shown
    document = json.loads((await network(running, "presets", "--json")).stdout)
    hosts = {preset["name"]: preset["hosts"] for preset in document["presets"]}
    assert hosts["go"] == ["proxy.golang.org", "sum.golang.org"]
