"""Memory in PostgreSQL: shared, audited, valid whatever is asked, and honest when it is away."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.errors import ConfigurationError, StorageUnavailable
from app.domain.memory import MatchMode, MemoryInput
from app.knowledge.memory.administration import Imported
from app.knowledge.memory.postgres_index import terms_of, vector_of
from app.knowledge.memory.search_query import read_question
from app.knowledge.memory.selection import MemoryCriteria
from app.knowledge.memory.words import words_of
from tests.knowledge.memory.conftest import ANN, Databases, Kept, keeping
from tests.knowledge.memory.test_words import HOSTILE


@pytest.fixture
def address(databases: Databases) -> str:
    return databases.address()


@pytest.fixture
def other_folder(tmp_path_factory: pytest.TempPathFactory, database: Path) -> Path:
    folder = tmp_path_factory.mktemp("other")
    shutil.copy(database, folder / "tollgate.db")
    return folder


@pytest.fixture
async def shared(folder: Path, address: str) -> AsyncIterator[Kept]:
    async with keeping(folder, postgres=address) as opened:
        yield opened


async def audited(kept: Kept) -> list[str]:
    sql = "SELECT kind FROM audit WHERE kind LIKE 'memory.%' ORDER BY seq"
    return [row[0] for row in await kept.db.transact(lambda t: t.fetch(sql, ()))]


@pytest.mark.requirement("MEM-01")
async def test_two_installations_share_what_they_remember(
    shared: Kept, address: str, other_folder: Path
):
    async with keeping(other_folder, postgres=address) as second:
        saved = await asyncio.gather(
            *(kept.save(f"note {n}") for n in range(10) for kept in (shared, second))
        )
        assert len({item.memory.version for item in saved}) == 20
        assert len(await second.recalled("note", limit=50)) == 20
        assert (await shared.store.read([ANN], 1, 100)).total == 20
    tables = await shared.db.transact(lambda t: t.fetch("SELECT count(*) FROM memories", ()))
    assert tables == [(0,)]


async def test_administrators_list_change_export_and_forget_with_the_audit(shared: Kept):
    await shared.save("喜欢龙井茶", "tea", tags=("drink",))
    await shared.save("prefers Vim", "editor")
    admin = shared.admin
    found, total = await admin.page(MemoryCriteria(query="龙井"), limit=10)
    assert ([memory.key for memory in found], total) == (["tea"], 1)
    changed = await admin.change(found[0].id, content="likes coffee", tags=None, actor="boss")
    assert (await shared.recalled("coffee"), changed.tags) == (["likes coffee"], ("drink",))
    assert await admin.count(MemoryCriteria(tag="drink")) == 1
    lines = [line async for line in admin.export(MemoryCriteria(), actor="boss")]
    assert b"".join(lines).count(b"\n") == 2
    entry = Imported(ANN, MemoryInput("from elsewhere", (), "old"), "import")
    assert (await admin.take_in([entry], on_conflict="fail", actor="boss")).created == 1
    assert await admin.forget_many(MemoryCriteria(scope="user"), actor="boss", expected=3) == 3
    assert (await shared.store.read([ANN], 1, 100)).total == 0
    assert await audited(shared) == [
        "memory.changed",
        "memory.exported",
        "memory.imported",
        "memory.forgotten",
    ]


async def test_without_its_line_of_the_audit_nothing_is_changed(shared: Kept):
    saved = await shared.save("kept", "one")
    await shared.db.close()
    with pytest.raises(StorageUnavailable):
        await shared.admin.forget(saved.memory.id, actor="boss")
    assert await shared.recalled("kept") == ["kept"]


async def test_a_connection_that_died_is_replaced(shared: Kept, databases: Databases, address: str):
    await shared.save("before")
    assert await shared.recalled("before") == ["before"]
    name = address.rsplit("/", maxsplit=1)[-1].split("?", maxsplit=1)[0]
    databases.server.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE datname = '{name}' AND pid <> pg_backend_pid()",
        database="postgres",
    )
    await shared.save("after")
    assert await shared.recalled("after") == ["after"]


async def test_a_database_that_is_away_is_reported_without_its_address(folder: Path):
    address = "postgresql://reader:very-secret-7Qx@127.0.0.1:1/memory"
    async with keeping(folder, postgres=address) as kept:
        for work in (kept.save("x"), kept.recalled("x")):
            with pytest.raises(StorageUnavailable) as refused:
                await work
            assert "127.0.0.1" not in refused.value.message
        assert "very-secret-7Qx" not in kept.admin._redactor.text("it is very-secret-7Qx")


async def test_an_address_that_is_none_is_refused_at_the_start_and_not_reported(folder: Path):
    with pytest.raises(ConfigurationError, match="TOLLGATE_MEMORY__POSTGRES") as refused:
        async with keeping(folder, postgres="postgresql://a:se cret@[x"):
            pass
    assert "cret" not in refused.value.message


async def test_names_that_postgresql_cannot_hold_are_no_failure(shared: Kept):
    saved = await shared.save("kept", "a\0b")
    assert (await shared.save("kept", "a\0b")).memory.id == saved.memory.id
    assert await shared.admin.count(MemoryCriteria(owner="an\0n")) == 0


async def test_hostile_questions_and_texts_are_words_or_nothing(shared: Kept):
    for text in HOSTILE:
        await shared.save(f"kept {text}")
        for mode in ("or", "and"):
            await shared.recalled(text, mode=mode)
    assert len(await shared.recalled("kept", limit=50)) == len(HOSTILE)


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["or", "and"]))
@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_is_asked_is_a_valid_query(
    connection: psycopg.Connection[tuple[bool]], stored: str, asked: str, mode: MatchMode
):
    expression = read_question(asked, mode).expression
    vector = vector_of(words_of(stored))
    for term in terms_of(expression or ""):
        connection.execute("SELECT CAST(%s AS tsvector) @@ CAST(%s AS tsquery)", (vector, term))


@pytest.fixture(scope="module")
def connection(databases: Databases) -> Iterator[psycopg.Connection[tuple[bool]]]:
    with psycopg.connect(databases.address(), autocommit=True) as opened:
        yield opened


def test_a_text_that_is_too_long_for_an_index_is_found_by_its_beginning(
    connection: psycopg.Connection[tuple[bool]],
):
    words = [f"w{number}" for number in range(200_000)]
    sql = "SELECT CAST(%s AS tsvector) @@ CAST(%s AS tsquery)"
    for word, there in (("w0", True), ("w199999", False)):
        (term,) = terms_of(f'"{word}"')
        assert connection.execute(sql, (vector_of(words), term)).fetchone() == (there,)
    repeated = vector_of(["again"] * 100_000)
    assert len(re.findall(r"\d+", repeated)) == 255


def test_nothing_but_words_gets_into_a_statement():
    with pytest.raises(ValueError, match="no word"):
        vector_of(["it's"])
