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
    "pathspec",
    "prometheus_client",
    "rich",
    "sqlalchemy",
    "sqlmodel",
    "starlette",
    "uvicorn",
    "uvloop",
    "websockets",
    "yaml",
}
# The gate itself is no part of `--help`. (Pydantic comes with the parser of the words.)
HEAVY_FOR_HELP = HEAVY | {"app.bootstrap", "app.main", "app.execution", "jsonschema", "tree_sitter"}

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
# SQL's grammar, YAML, ignore rules, pictures, what only terminals show.
FIRST_USE = {
    "PIL",
    "anthropic",
    "httpcore2",
    "mcp",
    "openai",
    "pathspec",
    "pygments",
    "rich",
    "sqlglot",
    "yaml",
}
# What it reads once it answers: the routes, and what only they need.
LATER = {
    *("aiosqlite", "prometheus_client", "sqlalchemy", "sqlmodel"),
    *("app.agents.session_queries", "app.api.routes", "app.db.tables", "app.db.engine"),
}
OF_REST = {
    *(
        "body",
        "compression",
        "examples",
        "health",
        "idempotent",
        "middleware",
        "one_time",
        "routing",
    ),
}

SERVICE = """
import asyncio, json, sys
from functools import partial
import app.api.server
from app.api.app import create_app
from app.cli import serve
from app.config.settings import Settings
from app.bootstrap.service import open_service

async def answered(app):
    sent = []
    async def receive():
        return {"type": "http.request", "body": b""}
    async def send(message):
        sent.append(message.get("status"))
    scope = {"type": "http", "method": "GET", "path": "/api/v1/health", "query_string": b""}
    host = [(b"host", b"127.0.0.1")]
    await app({**scope, "headers": host, "server": ("127.0.0.1", 80)}, receive, send)
    return sent[0]

async def main():
    settings = Settings()
    serve.configure_logging(settings)
    app = create_app(settings, partial(open_service, settings), whole=False)
    async with app.router.lifespan_context(app):
        status = await answered(app)
        first = sorted(sys.modules)
        await app.state.later.loaded()
        print(json.dumps([status, first, sorted(sys.modules)]))

asyncio.run(main())
"""


def test_a_service_reads_no_more_than_it_must_before_it_answers(installation: Path):
    done = subprocess.run(
        [sys.executable, "-c", SERVICE],
        cwd=installation,
        env=environment(installation),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    status, *modules = json.loads(done.stdout)
    first, whole = map(set, modules)
    assert status == 200
    assert first & LATER == set()
    assert {name[13:] for name in first if name.startswith("app.api.rest.")} == OF_REST
    assert "app.api.rest.sessions" in whole
    assert whole & FIRST_USE == set()
