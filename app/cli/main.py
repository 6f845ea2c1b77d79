"""The console script. Each command imports what it needs when it runs, so that `--help`
and `call` stay quick.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from app import __version__
from app.cli.backup_commands import backup, restore
from app.cli.can_i_command import can_i_command
from app.cli.checkpoint_commands import checkpoints
from app.cli.desktop_commands import desktop_operator
from app.cli.memory_commands import memory
from app.cli.options import DataDir, Json, Token, Url, finish
from app.cli.plugin_commands import plugins
from app.cli.rule_commands import rules
from app.cli.skill_commands import skills
from app.cli.source_commands import sources
from app.cli.token_commands import tokens
from app.core.errors import ConfigurationError, InvalidInput, TollgateError

if TYPE_CHECKING:
    from app.cli.place import Place
    from app.core.settings import Settings

FAILED, USAGE, INTERRUPTED = 1, 2, 130

# Plain help: the decorated one would load a rendering library.
_OPTIONS: dict[str, Any] = {"rich_markup_mode": None, "no_args_is_help": True}
app = typer.Typer(
    name="tollgate",
    help="Governed tool use for AI agents.",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    **_OPTIONS,
)
database = typer.Typer(help="The database of this installation.", **_OPTIONS)
catalog = typer.Typer(
    help="The tools of this installation, and their switches.", rich_markup_mode=None
)
app.add_typer(tokens, name="token")
app.add_typer(catalog, name="tools")
app.add_typer(database, name="db")
app.add_typer(plugins, name="plugins")
app.add_typer(rules, name="rules")
app.add_typer(checkpoints, name="checkpoints")
app.add_typer(memory, name="memory")
app.command("desktop-operator")(desktop_operator)
app.command("can-i")(can_i_command)
app.command("backup")(backup)
app.command("restore")(restore)
app.add_typer(skills, name="skills")
app.add_typer(sources, name="sources")

OwnDataDir = Annotated[Path | None, typer.Option(help="Data folder. [default: the usual one]")]
Workspace = Annotated[Path | None, typer.Option(help="Folder the tools may work in.")]
ToolNames = Annotated[
    list[str], typer.Argument(metavar="NAME...", help="Names or aliases, or one toolset:NAME.")
]
Agent = Annotated[str | None, typer.Option("--agent", help="Id of an agent. [default: all]")]


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
    data_dir: OwnDataDir = None,
    workspace: Workspace = None,
) -> None:
    """Run the service until it is stopped."""
    settings = _own_settings(host=host, port=port, data_dir=data_dir, workspace=workspace)
    # What a start makes stays: looking through it for garbage takes a tenth of the start.
    # The server switches the collector on again when it is ready.
    gc.disable()
    from app.cli.serve import serve_until_stopped

    raise typer.Exit(serve_until_stopped(settings))


@app.command()
def chat(
    url: Url = None,
    token: Token = None,
    session: Annotated[str | None, typer.Option(help="Session to continue.")] = None,
    *,
    new: Annotated[bool, typer.Option("--new", help="Start a new session.")] = False,
) -> None:
    """Talk to a running service."""
    if session and new:
        _fail("give --session or --new, not both", USAGE)
    from app.cli.chat import ChatOptions, run_chat
    from app.cli.place import find_service

    service = find_service(url, token)
    options = ChatOptions(url=service.url, token=service.token)
    finish(run_chat(options, session_id=session, new=new))


@app.command()
def login(
    url: Annotated[
        str | None, typer.Argument(help="Service; the one that runs here when not given.")
    ] = None,
    *,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Send the token to a network without TLS.")
    ] = False,
) -> None:
    """Keep a service and a token for the commands that follow. The token is asked for, or read
    from standard input.
    """
    from app.cli.login import sign_in
    from app.cli.place import service_running_here

    finish(sign_in(url or service_running_here(), insecure=insecure))


@app.command()
def logout() -> None:
    """Forget the service and the token of `login`."""
    from app.cli.login import sign_out

    raise typer.Exit(sign_out())


@app.command()
def where(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Show which installation commands work on, and which settings they read."""
    from app.cli.where import show_place

    raise typer.Exit(show_place(_place(data_dir), as_json=as_json))


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
    """Make one governed call: in the running service, or in this process when none runs, or when
    --data-dir or --workspace is given.

    Exit code: 0 success, 1 the tool or its arguments failed, 2 usage, 3 not allowed
    (denied, declined, expired, switched off), 130 cancelled.
    """
    if json_text is not None and arguments:
        _fail("give key=value words or --json, not both", USAGE)
    if workspace is not None and not workspace.is_dir():
        _fail(f"--workspace {str(workspace)!r} is not a folder", USAGE)
    if json_text == "-":
        json_text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    from app.cli.call_options import CallOptions

    options = CallOptions(tool, tuple(arguments or ()), json_text, yes=yes, events=events)
    place = _place(data_dir)
    if workspace is not None:
        from app.cli.place import with_workspace

        place = with_workspace(place, workspace)
    from app.cli.calling import make_call

    finish(make_call(options, place))


@catalog.callback(invoke_without_command=True)
def tools(context: typer.Context, *, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List every tool: whether it is on, what it may do, where it comes from."""
    if context.invoked_subcommand is not None:
        return
    from app.cli.tools import list_tools

    finish(list_tools(_place(data_dir), as_json=as_json))


@catalog.command("enable")
def tools_enable(names: ToolNames, agent: Agent = None, data_dir: DataDir = None) -> None:
    """Switch tools on, for everybody or for one agent; all of them, or none."""
    from app.cli.tools import switch_tools

    finish(switch_tools(_place(data_dir), names, enabled=True, agent=agent, force=False))


@catalog.command("disable")
def tools_disable(
    names: ToolNames,
    agent: Agent = None,
    data_dir: DataDir = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Also core tools.")] = False,
) -> None:
    """Switch tools off, for everybody or for one agent; all of them, or none."""
    from app.cli.tools import switch_tools

    finish(switch_tools(_place(data_dir), names, enabled=False, agent=agent, force=force))


@app.command()
def resolve(
    agent: Agent = None,
    *,
    subagent: Annotated[bool, typer.Option("--subagent", help="As a sub-agent of it.")] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Show an agent's tools, and why others are unavailable."""
    from app.cli.resolve import show_resolved

    finish(show_resolved(_place(data_dir), agent, subagent=subagent, as_json=as_json))


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
    """Classify a shell command as safe, ask or deny, with reasons. Nothing is run.

    The command alone is judged: `can-i` asks rules, switches and approvals as well.

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
def audit(
    since: Annotated[
        str | None, typer.Option(help="Not before: a date, a time, or an age as 1h or 7d.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Before this moment, said as --since.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only calls of this tool.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only this agent.")] = None,
    actor: Annotated[str | None, typer.Option(help="Only this user.")] = None,
    subject: Annotated[str | None, typer.Option(help="Only about this: a rule, a token …")] = None,
    kind: Annotated[str | None, typer.Option(help="How the kind begins, as in call.")] = None,
    verdict: Annotated[str | None, typer.Option(help="allow, ask or deny.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many rows, the newest.")] = 50,
    data_dir: DataDir = None,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Check that nothing changed.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Continue with new rows.")] = False,
    as_json: Json = False,
) -> None:
    """Show what happened and why it was allowed, or check that it is unchanged.

    Exit code: 0 shown, or the chain holds; 1 the chain is broken; 2 usage.
    """
    if verify and any((follow, since, until, tool, agent, actor, subject, kind, verdict)):
        _fail("--verify checks every row; give it alone or with --json", USAGE)
    if verdict not in (None, "allow", "ask", "deny"):
        _fail(f"--verdict {verdict!r} is not allow, ask or deny", USAGE)
    from app.cli.audit import show_audit, verify_audit
    from app.governance.audit.wanted import Filters, moment_of

    filters = Filters(
        kind=kind,
        actor=actor,
        tool_name=tool,
        agent_id=agent,
        subject=subject,
        verdict=verdict,
        since=moment_of(since, "--since") if since else None,
        until=moment_of(until, "--until") if until else None,
    )
    place = _place(data_dir)
    if verify:
        finish(verify_audit(place, as_json=as_json))
    finish(show_audit(place, filters, limit=limit, follow=follow, as_json=as_json))


@app.command()
def doctor(
    *,
    as_json: Json = False,
    every: Annotated[bool, typer.Option("--all", help="List what is fine, too.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Check everything the service needs; exit code 1 when something required is broken."""
    from app.cli.doctor import examine

    raise typer.Exit(examine(data_dir, as_json=as_json, every=every))


@app.command()
def demo() -> None:
    """Show a session of a real server and client, live in this terminal."""
    from app.cli.demo import run_demo

    finish(run_demo())


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


@app.command()
def completion(
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")] = "bash",
) -> None:
    """Print a script that completes commands and options in a shell."""
    from app.cli.completion import script

    typer.echo(script(shell), nl=False)


@app.command()
def init(data_dir: OwnDataDir = None) -> None:
    """Make a data folder with an empty database, for a service that starts later."""
    from app.cli.database import make_installation

    make_installation(_own_settings(data_dir=data_dir))


@database.command("upgrade")
def db_upgrade(data_dir: OwnDataDir = None) -> None:
    """Create the database, or bring it to this version's schema."""
    from app.cli.database import upgrade_database

    upgrade_database(_own_settings(data_dir=data_dir))


def _place(data_dir: Path | None) -> Place:
    """The installation that a command works on.

    Raises:
        ConfigurationError: there is none, or it is not clear which.
    """
    from app.cli.place import find_place

    return find_place(data_dir)


def _own_settings(**overrides: Any) -> Settings:
    """Settings of the service itself, with what the command line overrides.

    Raises:
        ConfigurationError: a value does not fit, or it is not clear which data folder is meant.
    """
    from app.cli.place import settled

    return settled(_settings(**overrides))


def _settings(**overrides: Any) -> Settings:
    """Settings with what the command line overrides.

    Raises:
        ConfigurationError: a value does not fit.
    """
    from app.core.settings import load_settings

    given = {key: value for key, value in overrides.items() if value is not None}
    return load_settings(**given)


def _print_json(document: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _fail(message: str, exit_code: int) -> NoReturn:
    typer.echo(f"error: {message}", err=True)
    sys.exit(exit_code)
