"""Command definition of `tollgate can-i`; the implementation is imported on use."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from app.cli.options import DataDir, Json, finish


def can_i_command(
    tool: Annotated[str, typer.Argument(help="Name or alias of the tool.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Arguments of the tool.")
    ] = None,
    json_text: Annotated[
        str | None,
        typer.Option(
            "--json-args", help="Arguments as one JSON object; - reads from standard input."
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="ID of the agent that would make the call.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="ID of the project.")] = None,
    session: Annotated[
        str | None,
        typer.Option(help="ID of a session of the running service, whose approvals apply."),
    ] = None,
    data_dir: DataDir = None,
    *,
    as_json: Json = False,
) -> None:
    """Show whether a call would be allowed, asked about or denied, and why. Nothing is run.

    Evaluates the same switches, schema, rules, risk and standing approvals as a real call. Limits
    are not checked, because they change with every call.

    Exit codes: 0 allow, 2 usage error, 3 deny, 4 ask.
    """
    from app.cli.can_i import show_decision
    from app.cli.target import find_place
    from app.core.errors import InvalidInput

    if json_text is not None and arguments:
        raise InvalidInput("Use key=value arguments or --json-args, not both", field="--json-args")
    if json_text == "-":
        json_text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    work = show_decision(
        find_place(data_dir),
        tool,
        arguments or (),
        json_text=json_text,
        agent=agent,
        project=project,
        session=session,
        as_json=as_json,
    )
    finish(work)
