"""Which installation a command works on, wherever it starts."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.cli.service_discovery import holder_of
from app.cli.target import find_service
from tests.cli.foreign_server import Answering
from tests.cli.program import PATIENCE_S, json_lines
from tests.cli.user import Served, User
from tests.support import forked
from tests.support.database import new_database

NEED_AN_INSTALLATION: tuple[tuple[str, ...], ...] = (
    ("tools",),
    ("tools", "disable", "bash"),
    ("call", "calculator", "expression=1"),
    ("can-i", "bash", "command=ls"),
    ("resolve",),
    ("audit",),
    ("token", "list"),
    ("token", "create", "ci"),
    ("rules", "list"),
    ("memory", "list"),
    ("skills",),
    ("sources", "list"),
    ("where",),
)


@pytest.mark.parametrize("words", NEED_AN_INSTALLATION, ids=" ".join)
def test_a_command_without_an_installation_makes_none_and_says_what_to_do(user: User, words):
    done = user.run(*words)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: No installation found: ")
    assert done.stderr.count("\n") == 1
    assert str(user.usual) in done.stderr
    assert "tollgate serve" in done.stderr
    assert list(user.here.iterdir()) == []
    assert not user.usual.exists()


def test_a_named_folder_without_an_installation_stays_as_it_is(user: User, tmp_path: Path):
    named = tmp_path / "named"
    for done in (
        user.run("token", "list", "--data-dir", str(named)),
        user.run("token", "list", TOLLGATE_DATA_DIR=str(named)),
    ):
        assert (done.returncode, done.stdout) == (2, "")
        assert "tollgate init" in done.stderr
    assert not named.exists()


def test_commands_in_another_folder_change_the_service_that_runs(user: User):
    with user.serving() as served:
        assert served.facts["data"] == str(user.usual)
        where = json.loads(user.run("where", "--json").stdout)
        switched = user.run("tools", "disable", "bash")
        made = user.run("token", "create", "ci")
        asked = served.get("/tools/bash")["tool"]
        tokens = served.get("/admin/tokens")["tokens"]
        refused = user.run("call", "bash", "command=echo hi")
        decided = user.run("can-i", "bash", "command=echo hi")
        called = user.run("call", "calculator", "expression=6*7")
        audit = json_lines(user.run("audit", "--json", "--kind", "governance.").stdout)

    found = {"url": served.url, "data_dir": str(user.usual), "token": True}
    assert where == {**found, "settings": [], "unread": []}
    assert switched.returncode == 0
    assert switched.stderr == f"Changed on {served.url} (data in {user.usual}).\n"
    assert asked["enabled"] is False
    assert [row["name"] for row in tokens] == ["bootstrap", "ci"]
    assert served.url in made.stderr
    assert (refused.returncode, refused.stdout) == (3, "")
    assert (decided.returncode, decided.stdout.split()[0]) == (3, "deny")
    assert (called.returncode, called.stdout) == (0, "42\n")
    by_people = [row for row in audit if row["actor"] != "system"]
    assert [(row["actor"], row["kind"]) for row in by_people] == [("bootstrap", "governance.tool")]
    assert list(user.here.iterdir()) == []


def test_every_list_has_one_shape_of_a_service_and_of_its_folder(user: User):
    lists = (
        *(("tools",), ("token", "list"), ("rules", "list"), ("memory", "list"), ("skills",)),
        *(("sources", "list"), ("rules", "test"), ("resolve",), ("doctor",)),
    )
    with user.serving():
        user.run("token", "create", "ci")
        user.run("call", "memory_save", "--json", '{"content": "tea", "key": "drink"}')
        rule = {"tool": "bash", "match": {"argv": ["git", "push", "..."]}, "decision": "deny"}
        rule |= {"justification": "no", "examples": {"match": ["git push"]}}
        added = user.run("rules", "add", "-", stdin=json.dumps(rule))
        served = [json.loads(user.run(*words, "--json").stdout) for words in lists]
        stored = [
            json.loads(user.run(*words, "--json", "--data-dir", str(user.usual)).stdout)
            for words in lists
        ]
    assert added.returncode == 0, added.stderr
    for words, one, other in zip(lists, served, stored, strict=True):
        for document in (one, other):
            assert isinstance(document, dict), words
        lists_of = {key for key, value in other.items() if isinstance(value, list) and value}
        for key in lists_of:
            if isinstance(other[key][0], dict) and "id" in other[key][0]:
                assert [row["id"] for row in one[key]] == [row["id"] for row in other[key]], words
                assert other[key][0].keys() <= one[key][0].keys(), words


def test_the_usual_folder_is_found_when_nothing_runs(user: User):
    made = user.run("init")
    again = user.run("init")
    switched = user.run("tools", "disable", "bash")

    assert made.stdout == f"{user.usual}: created\n"
    assert again.stdout == f"{user.usual}: already exists\n"
    assert switched.stderr == f"Changed in {user.usual}.\n"
    assert json.loads(user.run("where", "--json").stdout)["data_dir"] == str(user.usual)
    assert list(user.here.iterdir()) == []


@pytest.mark.parametrize("has_usual", [False, True])
@pytest.mark.parametrize("words", [("token", "list"), ("serve", "--port", "0"), ("init",)])
def test_a_database_in_the_current_folder_is_used_when_it_is_named(user: User, words, has_usual):
    """It may be anybody's: its plugins are programs."""
    here = user.here / "data"
    new_database(here / "tollgate.db")
    if has_usual:
        new_database(user.usual / "tollgate.db")

    done = user.run(*words)
    named = user.run("token", "list", "--json", TOLLGATE_DATA_DIR="data")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert str(here) in done.stderr
    assert str(user.usual) in done.stderr
    assert user.usual.exists() == has_usual
    assert json.loads(named.stdout) == {"tokens": []}


def test_of_two_services_none_is_guessed(user: User, tmp_path: Path):
    with user.serving() as one, user.serving("--data-dir", str(tmp_path / "other")) as other:
        done = user.run("tools", "disable", "bash")
        named = user.run("tools", "disable", "bash", TOLLGATE_URL=other.url)
        states = [one.get("/tools/bash")["tool"], other.get("/tools/bash")["tool"]]

    assert (done.returncode, done.stdout) == (2, "")
    assert one.url in done.stderr
    assert other.url in done.stderr
    assert named.returncode == 0, named.stderr
    assert [state["enabled"] for state in states] == [True, False]


def test_a_note_of_a_killed_service_is_not_believed(user: User):
    with user.serving() as served:
        (note,) = (user.home / ".local/state/tollgate/services").iterdir()
        assert holder_of(user.usual) == served.process.pid
        served.process.kill()
        served.process.wait()
        assert holder_of(user.usual) is None
        done = user.run("tools", "disable", "bash")
    assert done.stderr == f"Changed in {user.usual}.\n"
    # Its service may start again at any moment, and writes it then.
    assert note.exists()
    shutil.rmtree(user.usual)
    user.run("where")
    assert not note.exists()


def test_a_note_is_believed_while_its_own_service_has_the_folder(user: User, elsewhere: Answering):
    with user.serving() as served:
        (note,) = (user.home / ".local/state/tollgate/services").iterdir()
        said = json.loads(note.read_text())
        note.write_text(json.dumps(said | {"url": elsewhere.url, "pid": said["pid"] + 1}))
        done = user.run("token", "list")
        note.write_text(json.dumps(said))
        localhost = user.run(
            "where", "--json", TOLLGATE_URL=served.url.replace("127.0.0.1", "localhost")
        )

    assert (done.returncode, elsewhere.seen) == (0, [])
    assert json.loads(localhost.stdout)["data_dir"] == str(user.usual)
    assert json.loads(localhost.stdout)["url"] == served.url


ASK_A_SERVICE: tuple[tuple[str, ...], ...] = (
    ("token", "list"),
    ("tools", "disable", "bash"),
    ("chat",),
    ("checkpoints", "list", "ses_1"),
    ("chat", "--token", "tg_secret"),
)


@pytest.mark.parametrize("words", ASK_A_SERVICE, ids=" ".join)
def test_whoever_answers_at_the_configured_address_gets_no_token(
    user: User, elsewhere: Answering, words
):
    """Anybody on this machine may listen there while the service does not."""
    with user.serving() as served:
        token = served.token
    assert (user.usual / "bootstrap.token").read_text().strip() == token
    (user.usual / ".env").write_text("TOLLGATE_TOKEN=tg_of_the_file\n")
    port = elsewhere.url.rpartition(":")[2]

    done = user.run(*words, TOLLGATE_PORT=port, TOLLGATE_TOKEN="tg_secret")

    assert not [text for text in elsewhere.seen if "tg_" in text or token in text]
    if words[0] in ("chat", "checkpoints"):
        assert (done.returncode, done.stdout) == (2, "")
        assert (
            f"a Tollgate answers at {elsewhere.url}, but it is not known to be yours" in done.stderr
        )
    else:
        assert done.returncode == 0, done.stderr
    assert ("process list" in done.stderr) == ("--token" in words)


def test_a_token_is_sent_to_the_address_that_it_was_given_for(
    user: User, elsewhere: Answering, monkeypatch: pytest.MonkeyPatch
):
    with user.serving() as served:
        for name, value in user.environment().items():
            monkeypatch.setenv(name, value)
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "TOLLGATE_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        own = served.token
        assert find_service().token == own
        assert find_service(served.url).token == own
        assert find_service(elsewhere.url).token is None
        monkeypatch.setenv("TOLLGATE_TOKEN", "tg_here")
        assert find_service(elsewhere.url).token == "tg_here"
        assert find_service("https://tollgate.example").token is None
        monkeypatch.setenv("TOLLGATE_URL", "https://tollgate.example")
        assert find_service().token == "tg_here"
        assert find_service("https://tollgate.example/").token == "tg_here"
        assert find_service("https://other.example").token is None
        assert find_service(elsewhere.url).token is None
        assert find_service(served.url).token == own


def test_a_sign_in_leads_to_its_service_and_keeps_the_token_for_its_owner(
    user: User, tmp_path: Path
):
    other = User(tmp_path / "other", user.here)
    other.home.mkdir()
    with other.serving() as served:
        token = served.token
        wrong = user.run("login", served.url, stdin="tg_wrong\n")
        login = user.run("login", served.url, stdin=f"{token}\n")
        kept = user.home / ".config" / "tollgate" / "login.json"
        mode = kept.stat().st_mode & 0o777
        switched = user.run("tools", "disable", "bash")
        state = served.get("/tools/bash")["tool"]["enabled"]
        out = user.run("logout")
        without = user.run("tools", "disable", "bash")

    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert login.returncode == 0, login.stderr
    assert token not in login.stdout + login.stderr
    assert mode == 0o600
    assert switched.stderr == f"Changed on {served.url}.\n"
    assert state is False
    assert out.returncode == 0
    assert without.stderr.startswith("error: No installation found")


def test_a_service_of_somebody_else_is_named_and_not_changed(user: User, tmp_path: Path):
    other = User(tmp_path / "other", user.here)
    other.home.mkdir()
    with other.serving() as served:
        port = served.url.rpartition(":")[2]
        token = served.token
        found = user.run("token", "list", TOLLGATE_PORT=port, TOLLGATE_TOKEN=token)
        refused = user.run("token", "list", TOLLGATE_URL=served.url)
        listed = user.run("token", "list", TOLLGATE_URL=served.url, TOLLGATE_TOKEN=token)
        unnamed = user.run("login", stdin=f"{token}\n", TOLLGATE_PORT=port)

    assert (found.returncode, found.stdout) == (2, "")
    assert f"a Tollgate answers at {served.url}, but it is not known to be yours" in found.stderr
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "tollgate login" in refused.stderr
    assert "bootstrap" in listed.stdout
    assert (unnamed.returncode, unnamed.stdout) == (2, "")


@pytest.mark.parametrize("has_variable", [False, True])
def test_a_sign_in_is_used_with_its_own_token(
    user: User,
    monkeypatch: pytest.MonkeyPatch,
    has_variable: bool,  # noqa: FBT001
):
    for name, value in user.environment().items():
        monkeypatch.setenv(name, value)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "TOLLGATE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    if has_variable:
        monkeypatch.setenv("TOLLGATE_TOKEN", "own")
    kept = user.home / ".config" / "tollgate" / "login.json"
    kept.parent.mkdir(parents=True)
    kept.write_text('{"url": "https://tollgate.example", "token": "tg_kept"}', encoding="utf-8")
    assert find_service().token == "tg_kept"
    assert find_service("https://tollgate.example").token == "tg_kept"
    assert find_service("https://other.example").token is None


NEWER = (*NEED_AN_INSTALLATION, ("serve", "--port", "0"), ("init",), ("db", "upgrade"))


@pytest.mark.parametrize("words", NEWER, ids=" ".join)
def test_a_database_of_a_newer_version_is_one_sentence_and_stays_as_it_is(user: User, words):
    database = user.usual / "tollgate.db"
    new_database(database)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = database.read_bytes()

    done = user.run(*words)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: The database in ")
    assert "newer version" in done.stderr
    assert done.stderr.count("\n") == 1
    assert database.read_bytes() == before


def test_a_database_of_an_earlier_version_is_brought_up_to_date_on_purpose(user: User):
    database = user.usual / "tollgate.db"
    database.parent.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")

    refused = user.run("token", "list")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "tollgate db upgrade" in refused.stderr
    assert user.run("db", "upgrade").returncode == 0
    assert user.run("token", "list").returncode == 0


def test_a_call_in_a_service_streams_asks_and_ends_as_one_in_this_process(user: User):
    with user.serving() as served:
        streamed = user.run("call", "bash", "command=echo one; echo two >&2; exit 3")
        risky = user.run("call", "bash", "command=rm -rf --one-file-system gone")
        approved = user.run("call", "--yes", "bash", "command=rm -rf --one-file-system gone")
        forbidden = user.run("call", "bash", "command=rm -rf --preserve-root /")
        unknown = user.run("call", "calculater", "x=1")
        events = json_lines(user.run("call", "--events", "calculator", "expression=1").stdout)
        chats = served.get("/sessions")["sessions"]
        direct = served.get("/sessions?kind=direct")["sessions"]

    assert (streamed.returncode, streamed.stdout) == (1, "one\n")
    assert streamed.stderr.startswith("two\n")
    assert (risky.returncode, risky.stdout) == (3, "")
    assert "No one is available to approve it" in risky.stderr
    assert "--yes" in risky.stderr
    assert "person" not in risky.stderr
    assert approved.returncode == 0, approved.stderr
    assert forbidden.returncode == 3
    assert unknown.returncode == 1
    assert "calculator" in unknown.stderr
    assert [event["type"] for event in events][-1] == "run_finished"
    assert chats == []
    assert len(direct) == 6


def test_a_signal_cancels_a_call_in_a_service(user: User):
    with user.serving():
        process = forked.start(
            ["call", "bash", "command=echo begun; sleep 100"],
            cwd=user.here,
            environment=user.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE_S) == 130
        process.communicate()


@pytest.fixture
def changed(user: User) -> Iterator[Changed]:
    """A service that runs, with a skill and a database that it may open."""
    shop = user.home / "files" / "shop.db"
    shop.parent.mkdir()
    with closing(sqlite3.connect(shop)) as connection:
        connection.execute("CREATE TABLE customers (id INTEGER, email TEXT)")
    skill = user.usual / "skills" / "notes"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: notes\ndescription: How notes are kept.\n---\nKeep them.\n", encoding="utf-8"
    )
    with user.serving(TOLLGATE_SOURCES__SQLITE_FOLDERS=str(shop.parent)) as served:
        yield Changed(user, served, shop)


@dataclass(frozen=True)
class Changed:
    """Commands that change something, each of which must say where."""

    user: User
    served: Served
    shop: Path

    def __call__(self, *words: str) -> str:
        done = self.user.run(*words)
        assert done.returncode == 0, (words, done.stderr)
        assert self.served.url in done.stderr, words
        return done.stdout.strip()

    def listed(self, *words: str) -> Any:
        return json.loads(self.user.run(*words, "--json").stdout)


def test_knowledge_is_changed_in_the_service_that_runs(changed: Changed):
    source = changed("sources", "add", "Shop", "--kind", "sqlite", "--file", str(changed.shop))
    changed("sources", "authorise", "Shop", "--agent", "*", "--table", "main.customers:email")
    tables = changed.listed("sources", "tables", "Shop")["tables"]
    tested = changed.user.run("sources", "test", source)
    changed("sources", "remove", "Shop", "--yes")
    changed("skills", "enable", "user:notes")
    changed.user.run("call", "memory_save", "--json", '{"content": "tea", "key": "drink"}')
    memories = changed.listed("memory", "list")["memories"]
    exported = json_lines(changed.user.run("memory", "export").stdout)
    changed("memory", "forget", "--query", "tea", "--yes")

    assert [(table["name"], table["allowed"]) for table in tables] == [("customers", True)]
    assert [column["masked"] for column in tables[0]["columns"]] == [False, True]
    assert (tested.returncode, tested.stdout.split(":")[0]) == (0, "ok")
    assert changed.served.get("/admin/data-sources")["sources"] == []
    skills = changed.served.get("/admin/skills")["skills"]
    assert {item["id"]: item["enabled"] for item in skills}["user:notes"] is True
    assert [item["key"] for item in memories] == [item["key"] for item in exported] == ["drink"]
    assert changed.served.get("/admin/memory")["total"] == 0


def test_a_service_switches_all_tools_of_an_agent_or_none(changed: Changed):
    changed.served.get("/admin/agents", {"id": "writer", "tools": {"grep": {"hint": "short"}}})
    agent = ("--agent", "writer")
    refused = changed.user.run("tools", "disable", "bash", "search_tools", *agent)
    after = changed.served.get("/admin/agents/writer")["profile"]["tools"]
    changed("tools", "disable", "bash", "shell", "grep", *agent)
    tools = changed.served.get("/admin/agents/writer")["profile"]["tools"]

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "--force" in refused.stderr
    assert after == {"grep": {"state": None, "hint": "short"}}
    assert {name: one["state"] for name, one in tools.items()} == {"bash": "off", "grep": "off"}
    assert tools["grep"]["hint"] == "short"


def test_an_agent_that_there_is_not_may_read_nothing(changed: Changed):
    changed("sources", "add", "Shop", "--kind", "sqlite", "--file", str(changed.shop))
    changed.served.get("/admin/agents", {"id": "writer"})
    refused = changed.user.run("sources", "authorise", "Shop", "--agent", "wirter")
    changed("sources", "authorise", "Shop", "--agent", "writer")
    (source,) = changed.served.get("/admin/data-sources")["sources"]

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "agent 'wirter' does not exist; existing ones are 'default', 'writer'" in refused.stderr
    assert source["agents"] == ["writer"]


def test_tools_and_tokens_are_changed_in_the_service_that_runs(changed: Changed):
    unknown = changed.user.run("tools", "disable", "bahs")
    changed("tools", "disable", "toolset:shell")
    off = changed.served.get("/tools/bash")["tool"]["enabled"]
    changed("tools", "enable", "toolset:shell")
    first = changed.listed("token", "list")["tokens"][0]
    mine = changed("token", "create", "mine", "--admin")
    changed("token", "revoke", first["id"])
    kept = (changed.user.usual / "bootstrap.token").exists()
    refused = changed.user.run("token", "list")
    listed = changed.user.run("token", "list", TOLLGATE_TOKEN=mine)

    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "did you mean bash?" in unknown.stderr
    assert off is False
    assert kept is False
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "--data-dir" in refused.stderr
    assert "mine" in listed.stdout
