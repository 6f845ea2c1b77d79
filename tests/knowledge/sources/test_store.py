"""Data sources as administrators store them."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app.bootstrap.installation import local_runtime
from app.config.settings import Settings
from app.config.sources import SourceSettings
from app.core.errors import (
    AlreadyExists,
    ConfigurationError,
    Conflict,
    InvalidInput,
    NotFound,
    VersionMismatch,
)
from app.db.writer import Transaction
from app.knowledge.sources.model import AllowedTable, QueryLimits, Source, TableName
from app.knowledge.sources.store import SourceUpdate
from tests.execution.lab import Lab
from tests.support.service import settings_for

SECRET = "never-shown-pass-42"
MYSQL: dict[str, Any] = {
    "name": "Shop",
    "kind": "mysql",
    "host": "db.example.org",
    "user": "reader",
    "tls": "off",
}


async def made(lab: Lab, password: str | None = SECRET, **fields: Any) -> Source:
    return await lab.runtime.sources.store.create(
        SourceUpdate({**MYSQL, **fields}, password), actor="ann"
    )


async def changed(lab: Lab, source: Source, password: str | None = None, **fields: Any) -> Source:
    return await lab.runtime.sources.store.change(
        source.id, SourceUpdate(fields, password), actor="ann"
    )


async def swap(lab: Lab, one: str, other: str) -> None:
    """Put the sealed password of one row into another, as somebody with the file could."""

    def write(transaction: Transaction) -> None:
        transaction.execute(
            "UPDATE data_sources SET password ="
            " (SELECT password FROM data_sources WHERE id = ?) WHERE id = ?",
            (one, other),
        )

    await lab.runtime.db.transact(write)
    await lab.runtime.sources.store.load()


async def test_a_source_is_stored_changed_and_forgotten(lab: Lab):
    store = lab.runtime.sources.store
    source = await made(lab)
    assert store.password(source) == SECRET
    table = AllowedTable(TableName("shop", "orders"), ("total",))
    after = await changed(
        lab, source, tables=(table,), agents=("support",), limits=QueryLimits(10, 2000, 3.0)
    )
    assert (after.version, after.tables, after.agents) == (2, (table,), ("support",))
    await store.load()
    assert store.get(source.id) == after
    assert await changed(lab, source) == after
    await store.remove(source.id, actor="ann", expected=2)
    with pytest.raises(NotFound):
        store.get(source.id)


async def test_an_outdated_change_is_refused(lab: Lab):
    store, source = lab.runtime.sources.store, await made(lab)
    await changed(lab, source, name="Shop 2")
    with pytest.raises(VersionMismatch):
        await store.change(source.id, SourceUpdate({"name": "X"}), actor="ann", expected=1)
    with pytest.raises(VersionMismatch):
        await store.remove(source.id, actor="ann", expected=1)


async def test_two_sources_have_two_names(lab: Lab):
    source = await made(lab, name="A")
    await made(lab, name="B")
    with pytest.raises(AlreadyExists):
        await changed(lab, source, name="B")
    with pytest.raises(AlreadyExists):
        await made(lab, name="A")


async def test_nothing_that_is_kept_shows_the_password(lab: Lab):
    source = await made(lab)
    await changed(lab, source, "second-pass-43")
    await lab.runtime.db.flush()
    tables = await lab.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    for (table,) in tables:
        held = repr(await lab.rows(f'SELECT * FROM "{table}"'))
        assert SECRET not in held
        assert "second-pass-43" not in held
    [(first,), (second,)] = await lab.rows(
        "SELECT detail FROM audit WHERE kind = 'governance.source' ORDER BY seq"
    )
    assert json.loads(first)["after"]["password_set"] is True
    assert json.loads(second) == {
        "before": {"password_set": True},
        "after": {"password_set": True},
    }
    assert "sealed" not in repr(source)


async def test_a_password_that_is_copied_to_another_row_does_not_open(lab: Lab):
    one, other = await made(lab, name="A"), await made(lab, "another-pass-44", name="B")
    await swap(lab, one.id, other.id)
    store = lab.runtime.sources.store
    assert store.password(store.get(one.id)) == SECRET
    with pytest.raises(ConfigurationError, match="decrypt"):
        store.password(store.get(other.id))
    tested = await lab.runtime.sources.inspection.test(other.id)
    assert (tested.ok, "decrypt" in str(tested.error)) == (False, True)


@pytest.mark.parametrize(
    "move",
    [
        {"host": "evil.example.org"},
        {"port": 3307},
        {"user": "root"},
        {"tls": "verify"},
        {"host": None, "unix_socket": "/run/evil.sock"},
        {"tls_ca_file": "/etc/evil.pem"},
    ],
)
async def test_a_stored_password_does_not_travel_to_another_place(lab: Lab, move: dict[str, Any]):
    source = await made(lab)
    with pytest.raises(InvalidInput) as caught:
        await changed(lab, source, **move)
    assert caught.value.details["field"] == "password"
    moved = await changed(lab, source, "typed-again-45", **move)
    assert lab.runtime.sources.store.password(moved) == "typed-again-45"
    gone = await changed(lab, moved, "")
    assert lab.runtime.sources.store.password(gone) is None


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"host": None}, "host"),
        ({"unix_socket": "/run/x.sock"}, "host"),
        ({"host": "a,b"}, "host"),
        ({"host": "/run"}, "host"),
        ({"host": None, "unix_socket": "relative"}, "unix_socket"),
        ({"user": None}, "user"),
        ({"file": "/a.db"}, "file"),
        ({"tls_ca_file": "ca.pem"}, "tls_ca_file"),
        ({"kind": "postgres"}, "database"),
        ({"agents": ("a b",)}, "agents"),
        ({"name": "  "}, "name"),
        ({"kind": "sqlite"}, "file"),
        ({"kind": "sqlite", "file": "/a.db", "user": None, "tls": "verify"}, "host"),
        ({"tables": (AllowedTable(TableName("a", "b")),) * 2}, "tables"),
        ({"tables": (AllowedTable(TableName("a", "b"), ("C", "c")),)}, "tables"),
    ],
)
async def test_what_does_not_fit_is_refused_by_name(lab: Lab, fields: dict[str, Any], field: str):
    with pytest.raises(InvalidInput) as caught:
        await made(lab, **fields)
    assert caught.value.details["field"] == field
    assert lab.runtime.sources.store.list_all() == []


async def test_a_rotation_seals_every_password_with_a_new_key(lab: Lab, tmp_path: Path):
    source = await made(lab)
    await made(lab, None, name="Without")
    path = tmp_path / "data" / "keys" / "sources.key"
    old = path.read_text(encoding="ascii")
    assert await lab.runtime.sources.inspection.rotate_key(actor="ann") == 1
    store = lab.runtime.sources.store
    assert store.get(source.id).sealed != source.sealed
    assert store.password(store.get(source.id)) == SECRET
    new = path.read_text(encoding="ascii")
    assert (len(new.splitlines()), old in new) == (1, False)


async def test_a_rotation_that_cannot_read_a_password_changes_nothing(lab: Lab, tmp_path: Path):
    one, other = await made(lab, name="A"), await made(lab, "another-pass-44", name="B")
    await swap(lab, one.id, other.id)
    with pytest.raises(Conflict, match="decrypt"):
        await lab.runtime.sources.inspection.rotate_key(actor="ann")
    store = lab.runtime.sources.store
    assert store.password(store.get(one.id)) == SECRET


async def test_without_its_key_a_source_says_what_is_missing(tmp_path: Path):
    def settings(key: bytes) -> Settings:
        keys = SecretStr(b64encode(key).decode())
        return settings_for(tmp_path, sources=SourceSettings(keys=keys))

    async with local_runtime(settings(b"a" * 32)) as runtime:
        source = await runtime.sources.store.create(SourceUpdate(MYSQL, SECRET), actor="ann")
    async with local_runtime(settings(b"b" * 32)) as runtime:
        tested = await runtime.sources.inspection.test(source.id)
    assert (tested.ok, tested.error_code) == (False, "configuration")
    assert "TOLLGATE_SOURCES__KEYS" in str(tested.error)
    assert not (tmp_path / "keys").exists()
