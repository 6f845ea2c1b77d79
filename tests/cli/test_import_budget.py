"""What `--help` and `call` must not load: measured on modules, not on time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import environment

HEAVY = {
    "aiosqlite",
    "alembic",
    "anthropic",
    "fastapi",
    "httpx2",
    "prometheus_client",
    "rich",
    "sqlalchemy",
    "sqlmodel",
    "starlette",
    "uvicorn",
    "uvloop",
    "websockets",
}
# The gate itself is no part of `--help`. (Pydantic comes with the parser of the words.)
HEAVY_FOR_HELP = HEAVY | {"app.main", "app.execution", "jsonschema", "tree_sitter"}

REPORT = """
import json, sys
from app.cli.main import main
sys.argv = ["tollgate", *{words!r}]
try:
    main()
except SystemExit as end:
    code = end.code
print("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def loaded(folder: Path, *words: str) -> set[str]:
    """Every module that a command has loaded when it ends well."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT.format(words=words)],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert not code, done.stderr
    return set(modules)


@pytest.mark.parametrize("words", [("--help",), ("call", "--help"), ("--version",)])
def test_help_loads_neither_the_gate_nor_anything_heavy(installation: Path, words):
    assert loaded(installation, *words) & HEAVY_FOR_HELP == set()


def test_a_call_loads_neither_the_web_stack_nor_the_database_toolkit(installation: Path):
    modules = loaded(installation, "call", "bash", "command=echo hi")
    assert "app.execution.executor" in modules
    assert modules & HEAVY == set()


# What a running service reads with its first use: models' SDKs, the web tools' HTTP client,
# SQL's grammar, pictures, what only terminals show.
FIRST_USE = {"PIL", "anthropic", "httpcore2", "mcp", "openai", "pygments", "rich", "sqlglot"}

SERVICE = """
import json, sys
import app.api.app, app.api.server, app.cli.serve, app.main
from app.catalog.builtin import register_all_tools
from app.core.settings import Settings
app.cli.serve.configure_logging(Settings())
register_all_tools()
print(json.dumps(sorted(sys.modules)))
"""


def test_a_service_reads_at_its_start_nothing_that_can_wait(installation: Path):
    done = subprocess.run(
        [sys.executable, "-c", SERVICE],
        cwd=installation,
        env=environment(installation),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    modules = set(json.loads(done.stdout))
    assert "app.api.rest.sessions" in modules
    assert modules & FIRST_USE == set()
