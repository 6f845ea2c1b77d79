"""The words of `tollgate desktop-operator`; what it does is imported when it runs."""

from __future__ import annotations

import asyncio
import socket
from typing import Annotated

import typer

DEFAULT_VARIABLE = "TOLLGATE_DESKTOP_TOKEN"


def desktop_operator(
    url: Annotated[str, typer.Option(help="The service, as ws://host:port or wss://host.")],
    token_env: Annotated[
        str, typer.Option(help="The variable that holds a token of the scope desktop.")
    ] = DEFAULT_VARIABLE,
    name: Annotated[
        str | None, typer.Option(help="What this operator is called; the machine when not given.")
    ] = None,
    driver: Annotated[str, typer.Option(help="x11, or print, which sends nothing.")] = "x11",
    title: Annotated[str, typer.Option(help="The exact title of the window.")] = "微信",
    search_key: Annotated[str, typer.Option(help="What opens the search for groups.")] = "ctrl+f",
    pause: Annotated[
        float, typer.Option(min=0.01, max=10, help="Seconds for the window after each step.")
    ] = 0.3,
    *,
    detached: Annotated[
        bool, typer.Option("--detached", help="Every group has a window titled by its name.")
    ] = False,
    read_back: Annotated[
        bool, typer.Option(help="Copy the text out of the window before it is sent.")
    ] = True,
    paste: Annotated[bool, typer.Option(help="Use the clipboard; else ASCII is typed.")] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Take tasks, print them, and refuse them.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="End after one task.")] = False,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Show the token to a network without TLS.")
    ] = False,
) -> None:
    """Send the texts of a service's desktop tasks in a chat window of this desktop.

    Exit code: 0 done, 1 the server or the desktop does not let it work, 2 usage.
    """
    from app.cli.desktop_operator import OperatorOptions, operate
    from app.operations.desktop.x11 import X11Options

    options = OperatorOptions(
        url=url,
        token_env=token_env,
        name=name or socket.gethostname()[:64],
        driver=driver,
        dry_run=dry_run,
        once=once,
        insecure=insecure,
        x11=X11Options(
            title=title,
            detached=detached,
            search_key=search_key,
            read_back=read_back,
            paste=paste,
            pause_s=pause,
        ),
    )
    raise typer.Exit(asyncio.run(operate(options)))
