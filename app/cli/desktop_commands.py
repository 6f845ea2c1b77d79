"""Command definition of `tollgate desktop-operator`; the implementation is imported on use."""

from __future__ import annotations

import asyncio
import socket
from typing import Annotated

import typer

DEFAULT_VARIABLE = "TOLLGATE_DESKTOP_TOKEN"


def desktop_operator(
    url: Annotated[str, typer.Option(help="Service address: ws://host:port or wss://host.")],
    token_env: Annotated[
        str, typer.Option(help="Environment variable that holds a token with the desktop scope.")
    ] = DEFAULT_VARIABLE,
    name: Annotated[
        str | None, typer.Option(help="Name of this operator. [default: the machine name]")
    ] = None,
    driver: Annotated[str, typer.Option(help="x11, or print, which sends nothing.")] = "x11",
    title: Annotated[str, typer.Option(help="Exact title of the window.")] = "微信",
    search_key: Annotated[str, typer.Option(help="Keys that open the group search.")] = "ctrl+f",
    pause: Annotated[
        float,
        typer.Option(min=0.01, max=10, help="Seconds to wait for the window after each step."),
    ] = 0.3,
    *,
    detached: Annotated[
        bool,
        typer.Option("--detached", help="Each group has its own window, titled by the group name."),
    ] = False,
    read_back: Annotated[
        bool, typer.Option(help="Copy the text back from the window to verify it before sending.")
    ] = True,
    paste: Annotated[
        bool, typer.Option(help="Paste through the clipboard; without it, only ASCII is typed.")
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Accept tasks, print them, and refuse them.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Exit after one task.")] = False,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow sending the token without TLS.")
    ] = False,
) -> None:
    """Send the messages of a service's desktop tasks through a chat window on this desktop.

    Exit codes: 0 done, 1 refused by the server or unusable desktop, 2 usage error.
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
