"""The commands that answer and end."""

import json
from pathlib import Path

import pytest

from app import __version__
from app.db.schema import HEAD
from tests.cli.program import tollgate
from tests.support.database import new_database


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A data directory of its own, for a test that changes it."""
    new_database(tmp_path / "tollgate.db")
    return tmp_path


def test_the_version_is_printed(installation):
    done = tollgate(installation, "--version")
    assert (done.returncode, done.stdout) == (0, f"tollgate {__version__}\n")


def test_the_database_is_made_once(tmp_path):
    first, second = (tollgate(tmp_path, "db", "upgrade") for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0)
    assert f"upgraded to revision {HEAD}" in first.stdout
    assert f"already at revision {HEAD}" in second.stdout


def test_tools_are_listed_with_what_matters(installation):
    done = tollgate(installation, "tools")
    line = next(line for line in done.stdout.splitlines() if line.startswith("bash "))
    assert line.split()[:4] == ["bash", "on", "EXTERNAL", "builtin"]
    assert "also: exec, BashTool, terminal, shell" in done.stdout


def test_tools_as_json_hold_every_tool_once(installation):
    document = json.loads(tollgate(installation, "tools", "--json").stdout)
    names = [row["name"] for row in document["tools"]]
    assert len(names) == len(set(names))
    off = {
        row["name"]: row["disabled_reason"]["layer"]
        for row in document["tools"]
        if not row["enabled"]
    }
    assert set(off.values()) <= {"platform", "configuration"}, "only what this machine lacks"
    assert "calculator" not in off
    assert document["problems"] == []


ODD = """
from app.toolkit.tool import ToolArgs, tool
class Args(ToolArgs):
    pass

@tool(permission="read")
async def odd(args: Args, ctx):
    "Does something odd."
TOOLS = (odd,)
"""


def test_a_broken_plugin_is_listed_and_stops_nothing(fresh):
    plugins = fresh / "plugins"
    plugins.mkdir()
    (plugins / "bad.py").write_text("raise RuntimeError('no luck')", encoding="utf-8")
    (plugins / "odd.py").write_text(ODD, encoding="utf-8")
    done = tollgate(fresh, "tools")
    assert done.returncode == 0
    assert "not loaded: bad" in done.stdout
    assert "no luck" in done.stdout
    assert f"at {plugins / 'odd.py'}:6" in done.stdout
    assert "fix: Write PermissionClass.READ or" in done.stdout
    examined = tollgate(fresh, "doctor")
    assert f"{plugins / 'odd.py'}:6: permission_class must be a PermissionClass" in examined.stdout
    called = tollgate(fresh, "call", "calculator", "expression=1+1")
    assert (called.returncode, called.stdout.strip()) == (0, "2")


def test_a_token_is_shown_once_and_can_be_revoked(fresh):
    made = tollgate(fresh, "token", "create", "ci", "--scope", "chat", "--days", "3")
    secret = made.stdout.strip()
    listed = tollgate(fresh, "token", "list")
    assert (made.returncode, made.stdout.count("\n")) == (0, 1)
    assert secret.startswith("tg_")
    assert secret not in listed.stdout
    assert "active" in listed.stdout
    assert tollgate(fresh, "token", "revoke", "ci").returncode == 0
    assert "revoked" in tollgate(fresh, "token", "list").stdout
    again = tollgate(fresh, "token", "revoke", "ci")
    assert (again.returncode, again.stderr) == (1, "error: Active token 'ci' not found\n")
    rows = json.loads(tollgate(fresh, "token", "list", "--json").stdout)["tokens"]
    assert [(row["scopes"], row["state"]) for row in rows] == [(["chat"], "revoked")]


@pytest.mark.parametrize(
    "words", [("x", "--scope", "everything"), ("x", "--days", "0"), (" ",), ("x" * 65,)]
)
def test_a_token_that_makes_no_sense_is_refused(installation, words):
    done = tollgate(installation, "token", "create", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_the_doctor_finds_everything_that_is_required(installation):
    done = tollgate(installation, "doctor", "--json", TOLLGATE_PORT="0")
    document = json.loads(done.stdout)
    found = {check["name"]: check for check in document["checks"]}
    assert (done.returncode, document["ok"]) == (0, True)
    assert found["database"]["found"] == f"revision {HEAD}"
    assert found["package fastapi"]["state"] == "ok"
    assert all(f"sandbox {level}" in found for level in ("strict", "standard", "lenient", "bash"))
    assert found["sandbox bash"]["state"] in {"ok", "warning"}
    assert found["layer seccomp"]["found"]
    assert found["model key"]["state"] == "warning"


def test_the_doctor_never_shows_a_key(installation):
    done = tollgate(
        installation, "doctor", ANTHROPIC_API_KEY="sk-ant-secret", TOLLGATE_TOKEN="hush-hush"
    )
    assert "sk-ant-secret" not in done.stdout
    assert "hush-hush" not in done.stdout
    assert (
        "TOLLGATE_TOKEN is set"
        in tollgate(installation, "doctor", "--all", TOLLGATE_TOKEN="hush-hush").stdout
    )


def test_the_doctor_shows_what_matters_and_the_rest_when_asked(installation):
    short, long = (tollgate(installation, "doctor", *words) for words in ((), ("--all",)))
    marks = [line[0] for line in short.stdout.splitlines() if line and line[0] in "✗!·✓"]
    assert marks == sorted(marks, key="✗!·✓".index)
    assert marks.count("✓") == 1
    assert "more checks passed; use --all to list them" in short.stdout
    assert "package fastapi" not in short.stdout
    assert "package fastapi" in long.stdout


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            {"TOLLGATE_CONFIRM_DANGEROUSS": "false"},
            "unknown setting TOLLGATE_CONFIRM_DANGEROUSS in the environment; did you mean"
            " TOLLGATE_CONFIRM_DANGEROUS?",
        ),
        ({"TOLLGATE_RULES_FILE": "rules.yml"}, "rules file 'rules.yml': No such file"),
    ],
)
def test_the_service_does_not_start_and_the_doctor_says_why(fresh, variables, said):
    served = tollgate(fresh, "serve", "--port", "0", **variables)
    found = tollgate(fresh, "doctor", **variables)
    assert (served.returncode != 0, served.stdout) == (True, "")
    assert said in served.stderr
    assert "Traceback" not in served.stderr
    assert found.returncode == 1
    assert next(iter(variables)) in found.stdout + served.stderr


def test_the_service_does_not_start_with_an_unknown_name_in_its_file(fresh):
    (fresh / "config.yml").write_text("confirm_dangerouss: false\n", encoding="utf-8")
    served = tollgate(fresh, "serve", "--port", "0")
    found = json.loads(tollgate(fresh, "doctor", "--json").stdout)
    assert (served.returncode, served.stdout) == (2, "")
    assert "unknown setting confirm_dangerouss in config.yml" in served.stderr
    (check,) = [item for item in found["checks"] if item["code"] == "setting.misspelt"]
    assert (check["state"], check["fix"]) == ("broken", "rename it to confirm_dangerous")


def test_the_doctor_says_what_is_broken_and_how_to_fix_it(fresh):
    (fresh / "data").write_text("a file where a folder should be", encoding="utf-8")
    done = tollgate(fresh, "doctor", "--data-dir", str(fresh / "data"))
    assert done.returncode == 1
    assert "TOLLGATE_DATA_DIR" in done.stdout


def test_the_doctor_recognises_a_file_that_is_no_database(tmp_path):
    (tmp_path / "tollgate.db").write_text("nonsense " * 1000, encoding="utf-8")
    done = tollgate(tmp_path, "doctor", "--json")
    found = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert (done.returncode, found["database"]["state"]) == (1, "broken")


@pytest.mark.parametrize(("command", "key"), [("openapi", "paths"), ("asyncapi", "channels")])
def test_the_documents_are_printed_as_json(installation, command, key):
    done = tollgate(installation, command)
    assert done.returncode == 0
    assert json.loads(done.stdout)[key]
