"""A fresh installation is closed, and its owner gets in without any setup."""

from __future__ import annotations

import json
import sqlite3
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from app.cli.bootstrap_token import FILE_NAME
from app.cli.local_doctor import stored_tokens
from app.config.settings import load_settings
from app.execution.doctor.examination import access_checks
from app.governance.identity.tokens import SCOPES
from tests.cli.program import on_terminal, tollgate
from tests.cli.test_serve import started
from tests.support.database import new_database


def status(url: str, token: str | None = None) -> int:
    """What listing sessions is answered with."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(f"{url}/api/v1/sessions", headers=headers), timeout=10
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


async def test_the_first_token_is_shown_on_a_terminal(tmp_path: Path):
    async with on_terminal(tmp_path, ["serve", "--port", "0"]) as terminal:
        await terminal.expect("Press Ctrl-C to stop.")
        assert kept_in(tmp_path) in terminal.shown


def test_a_fresh_house_makes_one_token_and_shows_it_to_no_log(tmp_path: Path):
    with started(tmp_path) as (_, facts):
        token = kept_in(tmp_path)
        assert "token" not in facts
        statuses = [status(facts["url"]), status(facts["url"], token)]
    with started(tmp_path) as (_, again):
        statuses.append(status(again["url"], token))
    rows = json.loads(tollgate(tmp_path, "token", "list", "--json").stdout)["tokens"]

    assert statuses == [401, 200, 200]
    assert "token" not in again
    assert [(row["name"], row["created_by"]) for row in rows] == [("bootstrap", "local")]
    assert not [value for value in facts.values() if token in value]


def kept_in(folder: Path) -> str:
    """The first token, from its file."""
    return (folder / FILE_NAME).read_text(encoding="ascii").strip()


def test_the_first_token_lies_where_only_its_owner_reads_it(tmp_path: Path):
    with started(tmp_path) as (_, facts):
        kept = tmp_path / FILE_NAME
        assert status(facts["url"], kept_in(tmp_path)) == 200
        assert kept.stat().st_mode & 0o777 == 0o600
        assert str(kept) in facts["access"]


def test_the_chat_on_this_machine_finds_the_first_token(tmp_path: Path):
    with started(tmp_path) as (_, facts):
        chat = ("chat", "--new", "--url", facts["url"])
        found = tollgate(tmp_path, *chat, stdin="/quit\n")
        wrong = tollgate(tmp_path, *chat, "--token", "tg_wrong", stdin="/quit\n")

    assert (found.returncode, found.stderr) == (0, "")
    assert wrong.returncode == 1
    assert "--token" in wrong.stderr


def test_the_first_token_is_not_kept_where_tools_could_read_it(tmp_path: Path):
    data = tmp_path / "data"
    with started(tmp_path, TOLLGATE_DATA_DIR=str(data), TOLLGATE_WORKSPACE=str(tmp_path)) as (
        _,
        facts,
    ):
        assert status(facts["url"], facts["token"].split()[0]) == 200
        assert facts["access"] == "token required"

    assert not (data / FILE_NAME).exists()


def test_the_file_goes_with_its_token(tmp_path: Path):
    with started(tmp_path):
        pass
    assert tollgate(tmp_path, "token", "create", "me").returncode == 0
    assert (tmp_path / FILE_NAME).exists()
    assert tollgate(tmp_path, "token", "revoke", "bootstrap").returncode == 0
    assert not (tmp_path / FILE_NAME).exists()
    with started(tmp_path) as (_, facts):
        assert facts["access"] == "token required"
        assert "token" not in facts


def test_an_open_house_is_opened_on_purpose_and_says_so(tmp_path: Path):
    with started(tmp_path, TOLLGATE_ALLOW_ANONYMOUS="true") as (_, facts):
        assert status(facts["url"]) == 200
        assert facts["access"].startswith("open: every user of this machine")

    assert not (tmp_path / FILE_NAME).exists()


def named(folder: Path) -> None:
    """Let there be the agent `a`, and the projects `p` (Shop) and `q` (Other)."""
    with closing(sqlite3.connect(folder / "tollgate.db")) as connection, connection:
        connection.execute(
            "INSERT INTO agents (id, profile, version, created_at, updated_at)"
            """ VALUES ('a', '{"id": "a"}', 1, '2026', '2026')"""
        )
        connection.executemany(
            "INSERT INTO projects (id, name, root, network, unprotected, version, created_at)"
            " VALUES (?, ?, '/tmp', '[]', '[]', 1, '2026')",
            [("p", "Shop"), ("q", "Other")],
        )


@pytest.mark.parametrize(
    ("option", "name", "said"),
    [
        ("--project", "Shop", "the project with this name has the ID 'p'"),
        ("--project", "nothing", "existing ones are 'default', 'p', 'q'"),
        ("--agent", "A", "the agent with this name has the ID 'a'"),
        ("--agent", "nobody", "existing ones are 'default', 'a'"),
    ],
)
def test_a_token_for_what_there_is_not_is_refused(tmp_path: Path, option, name, said):
    new_database(tmp_path / "tollgate.db")
    named(tmp_path)
    done = tollgate(tmp_path, "token", "create", "ci", option, name)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert json.loads(tollgate(tmp_path, "token", "list", "--json").stdout) == {"tokens": []}


def test_a_token_has_the_least_right_unless_more_is_said(tmp_path: Path):
    new_database(tmp_path / "tollgate.db")
    least = tollgate(tmp_path, "token", "create", "least")
    every = tollgate(tmp_path, "token", "create", "every", "--admin")
    both = tollgate(tmp_path, "token", "create", "both", "--admin", "--scope", "chat")
    rows = json.loads(tollgate(tmp_path, "token", "list", "--json").stdout)["tokens"]

    assert (least.returncode, every.returncode, both.returncode) == (0, 0, 2)
    assert {row["name"]: tuple(row["scopes"]) for row in rows} == {
        "least": ("chat",),
        "every": SCOPES,
    }


def test_a_token_is_made_for_agents_and_projects_and_rotated(tmp_path: Path):
    new_database(tmp_path / "tollgate.db")
    named(tmp_path)
    words = ("ci", "--scope", "chat", "--agent", "a", "--project", "p", "--project", "q")
    made = tollgate(tmp_path, "token", "create", *words)
    (row,) = json.loads(tollgate(tmp_path, "token", "list", "--json").stdout)["tokens"]
    rotated = tollgate(tmp_path, "token", "rotate", row["id"], "--grace", "60")
    rows = json.loads(tollgate(tmp_path, "token", "list", "--json").stdout)["tokens"]
    listed = tollgate(tmp_path, "token", "list").stdout

    assert (made.returncode, rotated.returncode) == (0, 0)
    assert (row["agents"], row["projects"], row["created_by"]) == (["a"], ["p", "q"], "cli")
    assert [item["projects"] for item in rows] == [["p", "q"], ["p", "q"]]
    assert rotated.stdout.strip() not in ("", made.stdout.strip())
    assert "agents a; projects p,q" in listed
    assert tollgate(tmp_path, "token", "rotate", "tok_unknown").returncode == 1


def checks(data_dir: Path, **settings: object) -> dict[str, tuple[str, str]]:
    wanted = load_settings(**{"data_dir": data_dir, "_env_file": None, "token": None} | settings)
    found = access_checks(wanted, stored_tokens(wanted))
    return {check.name: (check.state, check.found) for check in found}


def test_the_doctor_says_who_may_come_in(tmp_path: Path):
    assert checks(tmp_path)["tokens"] == ("info", "none yet: `serve` creates the first one")
    assert list(tmp_path.iterdir()) == []
    new_database(tmp_path / "tollgate.db")
    assert checks(tmp_path, allow_anonymous=True)["anonymous access"][0] == "warning"
    assert checks(tmp_path, allow_anonymous=True, token="set")["anonymous access"][0] == "info"
    assert checks(tmp_path, host="0.0.0.0")["tokens"][0] == "broken"
    assert checks(tmp_path, host="0.0.0.0")["TLS"][0] == "warning"
    tollgate(tmp_path, "token", "create", "ci", "--scope", "chat")
    assert checks(tmp_path)["tokens"] == ("ok", "ci (chat)")
    assert checks(tmp_path, allow_anonymous=True)["anonymous access"] == (
        "info",
        "set, but has no effect",
    )
    assert "TLS" not in checks(tmp_path)
