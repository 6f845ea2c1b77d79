"""Command definitions of `tollgate backup` and `restore`; the implementation is imported on use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import DataDir


def backup(
    file: Annotated[Path, typer.Argument(help="New file to write, such as tollgate.tar.gz.")],
    data_dir: DataDir = None,
    *,
    with_keys: Annotated[
        bool,
        typer.Option("--with-keys", help="Include the keys that decrypt data source passwords."),
    ] = False,
) -> None:
    """Back up the installation into one file, even while its service runs."""
    from app.cli.backup import back_up
    from app.cli.target import find_place

    raise typer.Exit(back_up(find_place(data_dir), file, with_keys=with_keys))


def restore(
    file: Annotated[Path, typer.Argument(help="File written by `tollgate backup`.")],
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder to restore to. [default: the standard folder]")
    ] = None,
    *,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Replace an existing installation, which is kept beside it."
        ),
    ] = False,
) -> None:
    """Restore a backup into a data folder and verify its audit log.

    The service of the folder must be stopped.

    Exit codes: 0 restored, 1 restored but the audit log failed verification, 2 nothing changed.
    """
    from app.cli.restore import restore as put_back
    from app.cli.target import settled
    from app.config.settings import load_settings

    settings = settled(load_settings(**({} if data_dir is None else {"data_dir": data_dir})))
    raise typer.Exit(put_back(file, settings, replace=replace))
