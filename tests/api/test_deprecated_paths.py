"""Renamed routes are also served at their old paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.api.deprecated_paths import RENAMED
from app.config.settings import Settings
from app.main import application
from tests.support.http import HttpClient
from tests.support.service import serving, settings_for

SOURCE = {
    "name": "Shop",
    "kind": "mysql",
    "host": "127.0.0.1",
    "port": 1,
    "user": "reader",
    "password": "kept apart",
    "tls": "off",
}


@pytest.mark.parametrize("root_path", ["", "/gate"])
async def test_a_resource_is_made_read_and_changed_at_its_old_path(tmp_path: Path, root_path: str):
    chosen = settings_for(tmp_path, root_path=root_path)
    async with serving(chosen) as running, HttpClient(base_url=running.api) as client:
        made = await client.post("/admin/sources", json=SOURCE)
        assert made.status_code == 201
        new = f"{root_path}/api/v1/admin/data-sources/{made.json()['id']}"
        assert made.headers["location"].endswith(new)
        old = f"/admin/sources/{made.json()['id']}"
        read = await client.get(old)
        assert read.json() == (await client.get(old.replace("sources", "data-sources"))).json()
        headers = {"If-Match": read.headers["etag"]}
        changed = await client.patch(old, json={"name": "Store"}, headers=headers)
        assert changed.json()["name"] == "Store"
        assert (await client.get("/admin/sourcesx")).status_code == 404


def test_old_paths_are_documented_as_deprecated(settings: Settings):
    paths: dict[str, dict[str, Any]] = application(settings).openapi()["paths"]
    for old, new in RENAMED.items():
        below = [path for path in paths if path == new or path.startswith(f"{new}/")]
        assert below
        for path in below:
            aliases = paths[path.replace(new, old, 1)]
            assert aliases.keys() == paths[path].keys()
            for method, operation in aliases.items():
                assert operation["deprecated"] is True
                assert operation["responses"] == paths[path][method]["responses"]
                assert path.removeprefix("/api/v1") in operation["summary"]
