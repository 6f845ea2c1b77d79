"""Options that many commands have, in the same words, and how a command ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

DataDir = Annotated[
    Path | None,
    typer.Option(help="Data folder to work on. [default: the running service, or the usual one]"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Url = Annotated[
    str | None, typer.Option(help="Address of the service. [default: the one that runs here]")
]
Token = Annotated[
    str | None,
    typer.Option(
        help="Bearer token, which other users of this machine can read here; better TOLLGATE_TOKEN."
        " [default: that of `login`, or the first one]"
    ),
]


def finish(work: Coroutine[Any, Any, int]) -> NoReturn:
    """Do what a command does, and end with its exit code."""
    raise typer.Exit(asyncio.run(work))
