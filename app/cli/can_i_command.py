"""The words of `tollgate can-i`; what it does is imported when it runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from app.cli.options import DataDir, Json, finish


def can_i_command(
    tool: Annotated[str, typer.Argument(help="Name or alias of the tool.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Its arguments.")
    ] = None,
    json_text: Annotated[
        str | None, typer.Option("--json-args", help="Arguments as one JSON object; - reads them.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Id of the agent that would call.")] = None,
    project: Annotated[str | None, typer.Option(help="Id of the project.")] = None,
    data_dir: DataDir = None,
    *,
    as_json: Json = False,
) -> None:
    """Show what would be decided about one call: allow, ask or deny, and why. It is not made.

    Switches, the tool's schema, rules, risk and lasting approvals are asked, as for a call. Limits
    are not looked at, here and in a running service: what they allow changes with every call.

    Exit code: 0 allow, 2 usage, 3 deny, 4 ask.
    """
    from app.cli.can_i import show_decision
    from app.cli.place import find_place
    from app.core.errors import InvalidInput

    if json_text is not None and arguments:
        raise InvalidInput("give key=value words or --json-args, not both", field="--json-args")
    if json_text == "-":
        json_text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    work = show_decision(
        find_place(data_dir),
        tool,
        arguments or (),
        json_text=json_text,
        agent=agent,
        project=project,
        as_json=as_json,
    )
    finish(work)
