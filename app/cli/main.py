"""The console script. Each command imports what it needs when it runs, so that `--help`
and `call` stay quick.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from app import __version__
from app.core.errors import ConfigurationError, InvalidInput, TollgateError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from app.core.settings import Settings

FAILED, USAGE, INTERRUPTED = 1, 2, 130

# Plain help: the decorated one would load a rendering library.
_OPTIONS: dict[str, Any] = {"rich_markup_mode": None, "no_args_is_help": True}
app = typer.Typer(
    name="tollgate",
    help="Governed tool use for AI agents.",
    add_completion=False,
    pretty_exceptions_enable=False,
    **_OPTIONS,
)
tokens = typer.Typer(help="Bearer tokens of this installation.", **_OPTIONS)
database = typer.Typer(help="The database of this installation.", **_OPTIONS)
app.add_typer(tokens, name="token")
app.add_typer(database, name="db")

DataDir = Annotated[
    Path | None, typer.Option(help="Folder of the database, workspace and artifacts.")
]
Workspace = Annotated[Path | None, typer.Option(help="Folder the tools may work in.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Url = Annotated[str | None, typer.Option(help="Server; the configured address when not given.")]
Token = Annotated[str | None, typer.Option(help="Bearer token; TOLLGATE_TOKEN when not given.")]


def main() -> None:
    """Run `tollgate`; every expected failure is one line on standard error."""
    try:
        app(prog_name="tollgate")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except (ConfigurationError, InvalidInput) as error:
        _fail(error.message, USAGE)
    except TollgateError as error:
        _fail(error.message, FAILED)
    except BrokenPipeError:
        # The reader has seen enough. Nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(FAILED)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - called by the parser
    if wanted:
        typer.echo(f"tollgate {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print it.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """Governed tool use for AI agents."""


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 picks a free one.")] = None,
    data_dir: DataDir = None,
    workspace: Workspace = None,
) -> None:
    """Run the service until it is stopped."""
    settings = _settings(host=host, port=port, data_dir=data_dir, workspace=workspace)
    from app.cli.serve import serve_until_stopped

    raise typer.Exit(serve_until_stopped(settings))


@app.command()
def chat(
    url: Url = None,
    token: Token = None,
    session: Annotated[str | None, typer.Option(help="Session to go on with.")] = None,
    *,
    new: Annotated[bool, typer.Option("--new", help="Start a new session.")] = False,
) -> None:
    """Talk to a running service."""
    if session and new:
        _fail("give --session or --new, not both", USAGE)
    settings = _settings()
    from app.cli.chat import ChatOptions, run_chat

    options = ChatOptions(url=url or settings.client_url, token=_token(token, settings))
    _run(run_chat(options, session_id=session, new=new))


@app.command()
def call(
    tool: Annotated[str, typer.Argument(help="Name or alias of the tool.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Its arguments.")
    ] = None,
    json_text: Annotated[
        str | None, typer.Option("--json", help="Arguments as one JSON object; - reads them.")
    ] = None,
    workspace: Workspace = None,
    data_dir: DataDir = None,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", help="Approve what asks. What is denied stays denied.")
    ] = False,
    events: Annotated[
        bool, typer.Option("--events", help="Print each event as one line of JSON.")
    ] = False,
) -> None:
    """Make one governed call in this process; no server is needed.

    Exit code: 0 success, 1 the tool or its arguments failed, 2 usage, 3 not allowed
    (denied, declined, expired, switched off), 130 cancelled.
    """
    if json_text is not None and arguments:
        _fail("give key=value words or --json, not both", USAGE)
    if workspace is not None and not workspace.is_dir():
        _fail(f"--workspace {str(workspace)!r} is not a folder", USAGE)
    if json_text == "-":
        json_text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    settings = _settings(data_dir=data_dir, workspace=workspace)
    from app.cli.call import CallOptions, call_once

    options = CallOptions(tool, tuple(arguments or ()), json_text, yes=yes, events=events)
    _run(call_once(options, settings))


@app.command()
def tools(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List every tool: whether it is on, what it may do, where it comes from."""
    settings = _settings(data_dir=data_dir)
    from app.cli.tools import list_tools

    _run(list_tools(settings, as_json=as_json))


@app.command()
def risk(
    command: Annotated[str | None, typer.Argument(help="The shell command to judge.")] = None,
    shell: Annotated[str, typer.Option(help="bash, powershell or cmd.")] = "bash",
    *,
    as_json: Json = False,
    batch: Annotated[
        bool, typer.Option("--batch", help='Judge {"command", "shell"} objects, one per line.')
    ] = False,
) -> None:
    """Say what a shell command would do: safe, ask or deny, and why. Nothing is run.

    Exit code: 0 judged, whatever the verdict; 2 usage.
    """
    from app.cli.risk import SHELLS, explain, explain_batch

    if (command is None) != batch:
        _fail("give one COMMAND, or --batch and requests on standard input", USAGE)
    if shell not in SHELLS:
        _fail(f"--shell {shell!r} is not bash, powershell or cmd", USAGE)
    raise typer.Exit(
        explain_batch() if command is None else explain(command, shell, as_json=as_json)
    )


@app.command()
def doctor(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Check everything the service needs; exit code 1 when something required is broken."""
    settings = _settings(data_dir=data_dir)
    from app.cli.doctor import examine

    raise typer.Exit(examine(settings, as_json=as_json))


@app.command()
def demo() -> None:
    """Show a session of a real server and client, live in this terminal."""
    from app.cli.demo import run_demo

    _run(run_demo())


@app.command()
def openapi() -> None:
    """Print the OpenAPI document of the REST interface."""
    from app.cli.documents import openapi_document

    _print_json(openapi_document(_settings()))


@app.command()
def asyncapi() -> None:
    """Print the AsyncAPI document of the WebSocket protocol."""
    from app.cli.documents import asyncapi_document

    _print_json(asyncapi_document())


@tokens.command("create")
def token_create(
    name: Annotated[str, typer.Argument(help="Who it is for.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="A right; repeat it. All when not given.")
    ] = None,
    days: Annotated[int | None, typer.Option(help="Days until it expires.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Make a token and print it, this once."""
    settings = _settings(data_dir=data_dir)
    from app.cli.tokens import create_token

    _run(create_token(settings, name, tuple(scope or ()), days))


@tokens.command("list")
def token_list(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the tokens, without their secrets."""
    settings = _settings(data_dir=data_dir)
    from app.cli.tokens import list_tokens

    _run(list_tokens(settings, as_json=as_json))


@tokens.command("revoke")
def token_revoke(
    name: Annotated[str, typer.Argument(help="Name or id.")], data_dir: DataDir = None
) -> None:
    """End a token at once."""
    settings = _settings(data_dir=data_dir)
    from app.cli.tokens import revoke_token

    _run(revoke_token(settings, name))


@database.command("upgrade")
def db_upgrade(data_dir: DataDir = None) -> None:
    """Create the database, or bring it to this version's schema."""
    settings = _settings(data_dir=data_dir)
    from app.cli.database import upgrade_database

    upgrade_database(settings)


def _settings(**overrides: Any) -> Settings:
    """Settings with what the command line overrides.

    Raises:
        ConfigurationError: a value does not fit.
    """
    from app.core.settings import load_settings

    given = {key: value for key, value in overrides.items() if value is not None}
    return load_settings(**given)


def _token(given: str | None, settings: Settings) -> str | None:
    if given is not None or settings.token is None:
        return given
    return settings.token.get_secret_value()


def _run(work: Coroutine[Any, Any, int]) -> NoReturn:
    raise typer.Exit(asyncio.run(work))


def _print_json(document: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _fail(message: str, exit_code: int) -> NoReturn:
    typer.echo(f"error: {message}", err=True)
    sys.exit(exit_code)
