"""`tollgate doctor`: what the service needs, whether it is there, and how to get it."""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial

import typer

from app.cli.installation import open_tokens
from app.cli.terminal import is_terminal
from app.core.errors import StorageUnavailable
from app.core.settings import Settings
from app.core.visible import visible
from app.db.schema import HEAD, current_revision
from app.execution.doctor.check import Check
from app.execution.doctor.examination import Installation, findings
from app.execution.doctor.gate_checks import load_gates
from app.governance.identity.tokens import Token
from app.operations.protocols.sandbox import SandboxStatus
from app.resolver.reasons import DisabledReason

_COLOURS = {"ok": "green", "info": "bright_black", "warning": "yellow", "broken": "red"}
_MARKS = {"ok": "✓", "info": "·", "warning": "!", "broken": "✗"}


def examine(settings: Settings, *, as_json: bool) -> int:
    """Print every finding; 1 when something required is broken."""
    found = list(findings(_installation(settings)))
    broken = [check for check in found if check.state == "broken"]
    if as_json:
        document = {"ok": not broken, "checks": [check.to_dict() for check in found]}
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        _show(found)
        typer.echo(f"\n{len(broken)} broken" if broken else "\nEverything required is there.")
    return 1 if broken else 0


def stored_tokens(settings: Settings) -> list[Token]:
    """The tokens in the database, when there is one of this version: a check changes nothing."""

    async def read() -> list[Token]:
        async with open_tokens(settings) as tokens:
            return await tokens.list_all()

    try:
        if current_revision(settings.database_path) != HEAD:
            return []
        return asyncio.run(read())
    except StorageUnavailable:
        return []


def disabled_tools(settings: Settings) -> dict[str, DisabledReason]:
    """Each tool that is off; none before there is a database of this version.

    Raises:
        TollgateError: the gate of this installation cannot be opened.
    """

    async def read() -> dict[str, DisabledReason]:
        from app.main import gate_as_served

        async with gate_as_served(settings) as gate:
            return dict(gate.resolver.resolve().disabled_reasons)

    return asyncio.run(read()) if current_revision(settings.database_path) == HEAD else {}


def _installation(settings: Settings) -> Installation:
    return Installation(
        settings,
        tokens=partial(stored_tokens, settings),
        gates=partial(load_gates, settings),
        sandbox=partial(_sandbox, settings),
        disabled=partial(disabled_tools, settings),
    )


def _sandbox(settings: Settings) -> SandboxStatus:
    from app.main import sandbox_config
    from app.operations.sandbox.sandbox import Sandbox

    return Sandbox(sandbox_config(settings)).status


def _show(found: list[Check]) -> None:
    colours = is_terminal(sys.stdout)
    width = max(len(check.name) for check in found)
    for check in found:
        mark = _MARKS[check.state]
        shown = typer.style(mark, fg=_COLOURS[check.state]) if colours else mark
        typer.echo(f"{shown} {check.name:{width}}  {visible(check.found)}")
        if check.state != "ok":
            typer.echo(f"  {'':{width}}  {check.meaning}")
            if check.fix:
                typer.echo(f"  {'':{width}}  fix: {check.fix}")
