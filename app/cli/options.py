"""Options shared by several commands, and the common exit of commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

DataDir = Annotated[
    Path | None,
    typer.Option(help="Data folder to use. [default: the running service, or the standard folder]"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Url = Annotated[
    str | None,
    typer.Option(help="URL of the service. [default: the service running on this machine]"),
]
Token = Annotated[
    str | None,
    typer.Option(
        help="Bearer token. Other users of this machine can see it here; prefer "
        "TOLLGATE_TOKEN. [default: the token of `login`, or the first token]"
    ),
]


def print_json(document: Any, *, default: Callable[[Any], Any] | None = None) -> None:
    """Print a document as JSON; `default` converts what JSON lacks."""
    import json

    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, default=default))


def finish(work: Coroutine[Any, Any, int]) -> NoReturn:
    """Run a command's coroutine and exit with its exit code."""
    raise typer.Exit(asyncio.run(work))
