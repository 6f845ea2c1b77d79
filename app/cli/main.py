"""The console script. Each command imports what it needs when it runs, so that `--help`
and `call` stay quick.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from app import __version__
from app.cli.can_i_command import can_i_command
from app.cli.checkpoint_commands import checkpoints
from app.cli.desktop_commands import desktop_operator
from app.cli.memory_commands import memory
from app.cli.skill_commands import skills
from app.cli.source_commands import sources
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
catalog = typer.Typer(
    help="The tools of this installation, and their switches.", rich_markup_mode=None
)
app.add_typer(tokens, name="token")
app.add_typer(catalog, name="tools")
app.add_typer(database, name="db")
rules = typer.Typer(help="Rules on what tools are called with.", **_OPTIONS)
app.add_typer(rules, name="rules")
app.add_typer(checkpoints, name="checkpoints")
app.add_typer(memory, name="memory")
app.command("desktop-operator")(desktop_operator)
app.command("can-i")(can_i_command)
app.add_typer(skills, name="skills")
app.add_typer(sources, name="sources")

DataDir = Annotated[
    Path | None, typer.Option(help="Folder of the database, workspace and artifacts.")
]
Workspace = Annotated[Path | None, typer.Option(help="Folder the tools may work in.")]
ToolNames = Annotated[
    list[str], typer.Argument(metavar="NAME...", help="Names or aliases, or one toolset:NAME.")
]
Agent = Annotated[str | None, typer.Option("--agent", help="Id of an agent; all when not given.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Url = Annotated[str | None, typer.Option(help="Server; the configured address when not given.")]
Token = Annotated[
    str | None, typer.Option(help="Bearer token; TOLLGATE_TOKEN when not given, or the first one.")
]


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
    # What a start makes stays: looking through it for garbage takes a tenth of the start.
    # The server switches the collector on again when it is ready.
    gc.disable()
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

    url = url or settings.client_url
    options = ChatOptions(url=url, token=_token(token, settings, url))
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


@catalog.callback(invoke_without_command=True)
def tools(context: typer.Context, *, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List every tool: whether it is on, what it may do, where it comes from."""
    if context.invoked_subcommand is not None:
        return
    settings = _settings(data_dir=data_dir)
    from app.cli.tools import list_tools

    _run(list_tools(settings, as_json=as_json))


@catalog.command("enable")
def tools_enable(names: ToolNames, agent: Agent = None, data_dir: DataDir = None) -> None:
    """Switch tools on, for everybody or for one agent; all of them, or none."""
    settings = _settings(data_dir=data_dir)
    from app.cli.tools import switch_tools

    _run(switch_tools(settings, names, enabled=True, agent=agent, force=False))


@catalog.command("disable")
def tools_disable(
    names: ToolNames,
    agent: Agent = None,
    data_dir: DataDir = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Core tools too.")] = False,
) -> None:
    """Switch tools off, for everybody or for one agent; all of them, or none."""
    settings = _settings(data_dir=data_dir)
    from app.cli.tools import switch_tools

    _run(switch_tools(settings, names, enabled=False, agent=agent, force=force))


@app.command()
def resolve(
    agent: Agent = None,
    *,
    subagent: Annotated[bool, typer.Option("--subagent", help="As a sub-agent of it.")] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Show what an agent would see, and why not the rest."""
    settings = _settings(data_dir=data_dir)
    from app.cli.resolve import show_resolved

    _run(show_resolved(settings, agent, subagent=subagent, as_json=as_json))


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
    since: Annotated[str | None, typer.Option(help="Not before this moment (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Before this moment.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only calls of this tool.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only this agent.")] = None,
    actor: Annotated[str | None, typer.Option(help="Only this user.")] = None,
    subject: Annotated[str | None, typer.Option(help="Only about this: a rule, a token …")] = None,
    kind: Annotated[str | None, typer.Option(help="How the kind begins, as in call.")] = None,
    verdict: Annotated[str | None, typer.Option(help="allow, ask or deny.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="The newest so many.")] = 50,
    data_dir: DataDir = None,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Check that nothing changed.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with what comes.")] = False,
    as_json: Json = False,
) -> None:
    """Show what happened and why it was allowed, or check that nobody changed it.

    Exit code: 0 shown, or the chain holds; 1 the chain is broken; 2 usage.
    """
    if verify and any((follow, since, until, tool, agent, actor, subject, kind, verdict)):
        _fail("--verify checks every row; give it alone or with --json", USAGE)
    if verdict not in (None, "allow", "ask", "deny"):
        _fail(f"--verdict {verdict!r} is not allow, ask or deny", USAGE)
    settings = _settings(data_dir=data_dir)
    from app.cli.audit import show_audit, verify_audit
    from app.governance.audit.reading import Filters, moment_of

    if verify:
        _run(verify_audit(settings, as_json=as_json))
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
    _run(show_audit(settings, filters, limit=limit, follow=follow, as_json=as_json))


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
    agent: Annotated[
        list[str] | None,
        typer.Option(help="An agent it may use; repeat it. Every one when not given."),
    ] = None,
    project: Annotated[
        list[str] | None,
        typer.Option(help="A project it may use; repeat it. Every one when not given."),
    ] = None,
    days: Annotated[int | None, typer.Option(help="Days until it expires.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Make a token and print it, this once."""
    settings = _settings(data_dir=data_dir)
    from app.cli.tokens import NewToken, create_token

    wanted = NewToken(name, scope or None, agent or None, project or None, days)
    _run(create_token(settings, wanted))


@tokens.command("list")
def token_list(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the tokens, without their secrets."""
    settings = _settings(data_dir=data_dir)
    from app.cli.tokens import list_tokens

    _run(list_tokens(settings, as_json=as_json))


@tokens.command("rotate")
def token_rotate(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token.")],
    grace: Annotated[
        int, typer.Option(help="Seconds the old secret goes on; it ends at once when not given.")
    ] = 0,
    data_dir: DataDir = None,
) -> None:
    """Replace a token's secret and print the new one, this once."""
    settings = _settings(data_dir=data_dir)
    from app.cli.tokens import rotate_token

    _run(rotate_token(settings, token_id, grace))


@tokens.command("revoke")
def token_revoke(
    name: Annotated[str, typer.Argument(help="Name or id.")], data_dir: DataDir = None
) -> None:
    """End a token at once."""
    settings = _settings(data_dir=data_dir)
    from app.cli.tokens import revoke_token

    _run(revoke_token(settings, name))


@rules.command("list")
def rules_list(*, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List every rule, with what is wrong and what is odd about it."""
    settings = _settings(data_dir=data_dir)
    from app.cli.rules import list_rules

    _run(list_rules(settings, as_json=as_json))


@rules.command("test")
def rules_test(
    file: Annotated[
        Path | None, typer.Argument(help="YAML or JSON; - reads it. Stored rules if not given.")
    ] = None,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Run the examples of all rules; exit code 1 when one is invalid."""
    settings = _settings(data_dir=data_dir)
    from app.cli.rules import test_rules

    _run(test_rules(settings, file, as_json=as_json))


@rules.command("add")
def rules_add(
    file: Annotated[Path, typer.Argument(help="YAML or JSON of one rule or a list; - reads it.")],
    data_dir: DataDir = None,
) -> None:
    """Store the rules of a file, all of them or none, and print their ids."""
    settings = _settings(data_dir=data_dir)
    from app.cli.rules import add_rules

    _run(add_rules(settings, file))


@rules.command("remove")
def rules_remove(
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the rule.")],
    data_dir: DataDir = None,
) -> None:
    """Remove a rule."""
    settings = _settings(data_dir=data_dir)
    from app.cli.rules import remove_rule

    _run(remove_rule(settings, rule_id))


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


def _token(given: str | None, settings: Settings, url: str) -> str | None:
    if given is not None:
        return given
    from app.cli.first_token import local_token

    return local_token(settings, url)


def _run(work: Coroutine[Any, Any, int]) -> NoReturn:
    raise typer.Exit(asyncio.run(work))


def _print_json(document: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _fail(message: str, exit_code: int) -> NoReturn:
    typer.echo(f"error: {message}", err=True)
    sys.exit(exit_code)
