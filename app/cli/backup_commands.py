"""The words of `tollgate backup` and `restore`; what they do is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import DataDir


def backup(
    file: Annotated[Path, typer.Argument(help="New file, such as tollgate.tar.gz.")],
    data_dir: DataDir = None,
    *,
    with_keys: Annotated[
        bool, typer.Option("--with-keys", help="With what opens the passwords of data sources.")
    ] = False,
) -> None:
    """Write the installation into one file, also while its service runs."""
    from app.cli.backup import back_up
    from app.cli.place import find_place

    raise typer.Exit(back_up(find_place(data_dir), file, with_keys=with_keys))


def restore(
    file: Annotated[Path, typer.Argument(help="What `tollgate backup` wrote.")],
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder to restore to; the usual one when not given.")
    ] = None,
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Also where an installation is; it is kept beside.")
    ] = False,
) -> None:
    """Put a backup in place of a data folder whose service is stopped, and check its audit.

    Exit code: 0 restored, 1 restored with an audit that does not hold, 2 nothing was done.
    """
    from app.cli.place import settled
    from app.cli.restore import restore as put_back
    from app.core.settings import load_settings

    settings = settled(load_settings(**({} if data_dir is None else {"data_dir": data_dir})))
    raise typer.Exit(put_back(file, settings, replace=replace))
