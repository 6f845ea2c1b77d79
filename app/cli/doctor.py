"""`tollgate doctor`: checks the parts that the service needs, and says how to get missing ones."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import typer

from app.cli.options import print_json
from app.cli.service_errors import ConnectionFailed
from app.cli.target import RemoteService, find_running_or_settings
from app.cli.terminal import is_terminal
from app.config.settings import load_settings
from app.core.escaping import visible

_COLOURS = {"ok": "green", "info": "bright_black", "warning": "yellow", "broken": "red"}
# Most important first.
_MARKS = {"broken": "✗", "warning": "!", "info": "·", "ok": "✓"}


def examine(data_dir: Path | None, *, as_json: bool, every: bool) -> int:
    """Print the findings, most important first; return 1 if a required part is broken."""
    found = _found(data_dir)
    broken = [check for check in found if check["state"] == "broken"]
    if as_json:
        print_json({"ok": not broken, "checks": found})
    else:
        _show(found, every=every)
        typer.echo(f"\n{len(broken)} broken" if broken else "\nEverything required is available.")
    return 1 if broken else 0


def _found(data_dir: Path | None) -> list[dict[str, Any]]:
    """Return all findings, of the running service or of this machine."""
    subject = find_running_or_settings(data_dir)
    if isinstance(subject, RemoteService):
        typer.echo(f"Checking {subject.name.removeprefix('on ')}.", err=True)
        try:
            answer = asyncio.run(subject.get("admin", "doctor"))
        except ConnectionFailed as error:
            if subject.data_dir is None:
                raise
            typer.echo(
                f"The service does not answer ({error.message}); checking its data folder instead.",
                err=True,
            )
            subject = load_settings(data_dir=subject.data_dir)
        else:
            checks: list[dict[str, Any]] = answer["checks"]
            return checks
    # Examining the machine imports most of the service.
    from app.cli.local_doctor import found_here

    return found_here(subject)


def _show(found: list[dict[str, Any]], *, every: bool) -> None:
    colours = is_terminal(sys.stdout)
    fine = [check for check in found if check["state"] == "ok"]
    ordered = [check for state in _MARKS for check in found if check["state"] == state]
    shown = ordered if every else [check for check in ordered if check["state"] != "ok"]
    width = max((len(check["name"]) for check in shown), default=0)
    for check in shown:
        mark = _MARKS[check["state"]]
        if colours:
            mark = typer.style(mark, fg=_COLOURS[check["state"]])
        typer.echo(f"{mark} {check['name']:{width}}  {visible(check['found'])}")
        if check["state"] != "ok":
            typer.echo(f"  {'':{width}}  {check['meaning']}")
            if check["fix"]:
                typer.echo(f"  {'':{width}}  fix: {check['fix']}")
    if not every:
        typer.echo(f"{_MARKS['ok']} {len(fine)} more checks passed; use --all to list them")
