"""Console script. Commands import their dependencies on use, so `--help` and `call` start fast."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from app import __version__
from app.cli.approval_commands import approvals
from app.cli.backup_commands import backup, restore
from app.cli.can_i_command import can_i_command
from app.cli.checkpoint_commands import checkpoints
from app.cli.desktop_commands import desktop_operator
from app.cli.memory_commands import memory
from app.cli.network_commands import network
from app.cli.options import DataDir, Json, Token, Url, finish, print_json
from app.cli.plugin_commands import plugins
from app.cli.rule_commands import rules
from app.cli.skill_commands import skills
from app.cli.source_commands import sources
from app.cli.token_commands import tokens
from app.core.errors import ConfigurationError, InvalidInput, TollgateError

if TYPE_CHECKING:
    from app.cli.target import Place
    from app.config.settings import Settings

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
database = typer.Typer(help="Manage the database of this installation.", **_OPTIONS)
catalog = typer.Typer(
    help="List the tools of this installation, and switch them on or off.", rich_markup_mode=None
)
app.add_typer(tokens, name="token")
app.add_typer(catalog, name="tools")
app.add_typer(database, name="db")
app.add_typer(plugins, name="plugins")
app.add_typer(rules, name="rules")
app.add_typer(checkpoints, name="checkpoints")
app.add_typer(memory, name="memory")
app.add_typer(approvals, name="approvals")
app.add_typer(network, name="network")
app.command("desktop-operator")(desktop_operator)
app.command("can-i")(can_i_command)
app.command("backup")(backup)
app.command("restore")(restore)
app.add_typer(skills, name="skills")
app.add_typer(sources, name="sources")

OwnDataDir = Annotated[
    Path | None, typer.Option(help="Data folder. [default: the standard folder]")
]
Workspace = Annotated[Path | None, typer.Option(help="Folder that tools may work in.")]
ToolNames = Annotated[
    list[str],
    typer.Argument(metavar="NAME...", help="Tool names or aliases, or a single toolset:NAME."),
]
Agent = Annotated[str | None, typer.Option("--agent", help="ID of an agent. [default: all agents]")]


def main() -> None:
    """Run `tollgate`; print each expected failure as one line on standard error."""
    try:
        app(prog_name="tollgate")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except (ConfigurationError, InvalidInput) as error:
        _fail(error.message, USAGE)
    except TollgateError as error:
        _fail(error.message, FAILED)
    except BrokenPipeError:
        # The reader has closed. Nothing may be written at exit either.
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
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Governed tool use for AI agents."""


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. Use 127.0.0.1 for this machine only.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 picks a free port.")
    ] = None,
    data_dir: OwnDataDir = None,
    workspace: Workspace = None,
) -> None:
    """Run the service until it is stopped."""
    settings = _own_settings(host=host, port=port, data_dir=data_dir, workspace=workspace)
    # Objects created at startup stay: collecting garbage among them takes a tenth of the start. The
    # server enables the collector again when it is ready.
    gc.disable()
    from app.cli.serve import serve_until_stopped

    raise typer.Exit(serve_until_stopped(settings))


@app.command()
def chat(
    url: Url = None,
    token: Token = None,
    session: Annotated[str | None, typer.Option(help="ID of the session to continue.")] = None,
    *,
    new: Annotated[bool, typer.Option("--new", help="Start a new session.")] = False,
) -> None:
    """Chat with a running service."""
    if session and new:
        _fail("Use --session or --new, not both", USAGE)
    from app.cli.chat import ChatOptions, run_chat
    from app.cli.target import find_service

    service = find_service(url, token)
    options = ChatOptions(url=service.url, token=service.token)
    finish(run_chat(options, session_id=session, new=new))


@app.command()
def login(
    url: Annotated[
        str | None,
        typer.Argument(help="URL of the service. [default: the service running on this machine]"),
    ] = None,
    *,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow sending the token without TLS.")
    ] = False,
) -> None:
    """Save a service and a token for later commands.

    The token is prompted for, or read from standard input.
    """
    from app.cli.login import sign_in
    from app.cli.target import service_running_here

    finish(sign_in(url or service_running_here(), insecure=insecure))


@app.command()
def logout() -> None:
    """Remove the service and token saved by `login`."""
    from app.cli.login import sign_out

    raise typer.Exit(sign_out())


@app.command()
def where(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Show which installation commands use, and which settings files they read."""
    from app.cli.where import show_place

    raise typer.Exit(show_place(_place(data_dir), as_json=as_json))


@app.command()
def call(
    tool: Annotated[str, typer.Argument(help="Name or alias of the tool.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Arguments of the tool.")
    ] = None,
    json_text: Annotated[
        str | None,
        typer.Option("--json", help="Arguments as one JSON object; - reads from standard input"),
    ] = None,
    workspace: Workspace = None,
    data_dir: DataDir = None,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", help="Approve every confirmation. Denied calls stay denied.")
    ] = False,
    events: Annotated[
        bool, typer.Option("--events", help="Print each event as one line of JSON.")
    ] = False,
) -> None:
    """Make one governed call.

    The call runs in the running service. It runs in this process if no service is running, or with
    --data-dir or --workspace.

    Exit codes: 0 success, 1 tool or argument failure, 2 usage error, 3 not allowed (denied,
    declined, expired, switched off), 130 cancelled.
    """
    if json_text is not None and arguments:
        _fail("Use key=value arguments or --json, not both", USAGE)
    if workspace is not None and not workspace.is_dir():
        _fail(f"--workspace {str(workspace)!r} is not a folder", USAGE)
    if json_text == "-":
        json_text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    from app.cli.call_options import CallOptions

    options = CallOptions(tool, tuple(arguments or ()), json_text, yes=yes, events=events)
    place = _place(data_dir)
    if workspace is not None:
        from app.cli.target import with_workspace

        place = with_workspace(place, workspace)
    from app.cli.call_target import make_call

    finish(make_call(options, place))


@catalog.callback(invoke_without_command=True)
def tools(context: typer.Context, *, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List all tools with their state, permissions and source."""
    if context.invoked_subcommand is not None:
        return
    from app.cli.tools import list_tools

    finish(list_tools(_place(data_dir), as_json=as_json))


@catalog.command("enable")
def tools_enable(names: ToolNames, agent: Agent = None, data_dir: DataDir = None) -> None:
    """Enable tools for all agents, or for one agent. Changes all of the named tools or none."""
    from app.cli.tools import switch_tools

    finish(switch_tools(_place(data_dir), names, enabled=True, agent=agent, force=False))


@catalog.command("disable")
def tools_disable(
    names: ToolNames,
    agent: Agent = None,
    data_dir: DataDir = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Also disable core tools.")] = False,
) -> None:
    """Disable tools for all agents, or for one agent. Changes all of the named tools or none."""
    from app.cli.tools import switch_tools

    finish(switch_tools(_place(data_dir), names, enabled=False, agent=agent, force=force))


@app.command()
def resolve(
    agent: Agent = None,
    *,
    subagent: Annotated[
        bool, typer.Option("--subagent", help="Resolve for a sub-agent of this agent.")
    ] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Show an agent's tools, and why others are unavailable."""
    from app.cli.resolve import show_resolved

    finish(show_resolved(_place(data_dir), agent, subagent=subagent, as_json=as_json))


@app.command()
def risk(
    command: Annotated[str | None, typer.Argument(help="Shell command to classify.")] = None,
    shell: Annotated[str, typer.Option(help="Shell: bash, powershell or cmd")] = "bash",
    *,
    as_json: Json = False,
    batch: Annotated[
        bool,
        typer.Option(
            "--batch",
            help='Classify {"command", "shell"} objects from standard input, one per line.',
        ),
    ] = False,
) -> None:
    """Classify a shell command as safe, ask or deny, with reasons. Nothing is run.

    Only the command itself is classified. Use `can-i` to include rules, switches and approvals.

    Exit codes: 0 classified, whatever the verdict; 2 usage error.
    """
    from app.cli.risk import SHELLS, explain, explain_batch

    if (command is None) != batch:
        _fail("Give one COMMAND, or --batch with requests on standard input", USAGE)
    if shell not in SHELLS:
        _fail(f"Invalid --shell {shell!r}: must be bash, powershell or cmd", USAGE)
    raise typer.Exit(
        explain_batch() if command is None else explain(command, shell, as_json=as_json)
    )


@app.command()
def audit(
    since: Annotated[
        str | None,
        typer.Option(help="Only entries since this date, time or age (such as 1h or 7d)."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Only entries before this date, time or age.")
    ] = None,
    tool: Annotated[str | None, typer.Option(help="Only calls of this tool.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only entries of this agent.")] = None,
    actor: Annotated[str | None, typer.Option(help="Only entries of this user.")] = None,
    subject: Annotated[
        str | None,
        typer.Option(help="Only entries about this subject, such as a rule or token ID."),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Prefix of the kind, such as call.")] = None,
    verdict: Annotated[
        str | None, typer.Option(help="Only this verdict: allow, ask or deny")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, help="Number of newest entries to show.")
    ] = 50,
    data_dir: DataDir = None,
    *,
    verify: Annotated[
        bool, typer.Option("--verify", help="Verify that the audit log is unchanged.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Keep printing new entries.")] = False,
    as_json: Json = False,
) -> None:
    """Show the audit log, or verify that it is unchanged.

    Exit codes: 0 shown or verified, 1 the hash chain is broken, 2 usage error.
    """
    if verify and any((follow, since, until, tool, agent, actor, subject, kind, verdict)):
        _fail("--verify checks every row: use it alone or with --json", USAGE)
    if verdict not in (None, "allow", "ask", "deny"):
        _fail(f"Invalid --verdict {verdict!r}: must be allow, ask or deny", USAGE)
    from app.cli.audit import show_audit, verify_audit
    from app.governance.audit.filters import AuditFilters, moment_of

    filters = AuditFilters(
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
    every: Annotated[bool, typer.Option("--all", help="Also list checks that passed.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Check everything the service needs. Exits with 1 if a required part is broken."""
    from app.cli.doctor import examine

    raise typer.Exit(examine(data_dir, as_json=as_json, every=every))


@app.command()
def demo() -> None:
    """Run a demo session with a real server and client in this terminal."""
    from app.cli.demo import run_demo

    finish(run_demo())


@app.command()
def openapi() -> None:
    """Print the OpenAPI document of the REST API."""
    from app.cli.documents import openapi_document

    print_json(openapi_document(_settings()))


@app.command()
def asyncapi() -> None:
    """Print the AsyncAPI document of the WebSocket protocol."""
    from app.cli.documents import asyncapi_document

    print_json(asyncapi_document())


@app.command()
def completion(
    shell: Annotated[str, typer.Argument(help="Shell: bash, zsh or fish.")] = "bash",
) -> None:
    """Print a shell completion script."""
    from app.cli.completion import script

    typer.echo(script(shell), nl=False)


@app.command()
def init(data_dir: OwnDataDir = None) -> None:
    """Create a data folder with an empty database, without starting the service."""
    from app.cli.database import make_installation

    make_installation(_own_settings(data_dir=data_dir))


@database.command("upgrade")
def db_upgrade(data_dir: OwnDataDir = None) -> None:
    """Create the database, or migrate it to the schema of this version."""
    from app.cli.database import upgrade_database

    upgrade_database(_own_settings(data_dir=data_dir))


def _place(data_dir: Path | None) -> Place:
    """Return the installation that a command uses.

    Raises:
        ConfigurationError: There is none, or it is ambiguous.
    """
    from app.cli.target import find_place

    return find_place(data_dir)


def _own_settings(**overrides: Any) -> Settings:
    """Return the settings of the service with command line overrides.

    Raises:
        ConfigurationError: A value is invalid, or the data folder is ambiguous.
    """
    from app.cli.target import settled

    return settled(_settings(**overrides))


def _settings(**overrides: Any) -> Settings:
    """Return the settings with command line overrides.

    Raises:
        ConfigurationError: A value is invalid.
    """
    from app.config.settings import load_settings

    given = {key: value for key, value in overrides.items() if value is not None}
    return load_settings(**given)


def _fail(message: str, exit_code: int) -> NoReturn:
    typer.echo(f"error: {message}", err=True)
    sys.exit(exit_code)
