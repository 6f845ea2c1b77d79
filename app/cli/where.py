"""`tollgate where`: the installation that commands use, and its settings files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from app.cli.options import print_json
from app.cli.service_discovery import holder_of
from app.cli.target import InstallationFolder, Place
from app.config.setting_files import files_in, unread_here
from app.config.settings import Settings
from app.config.user_folders import data_home


def show_place(place: Place, *, as_json: bool) -> int:
    """Print the service or folder, and the settings files that are read and ignored."""
    if isinstance(place, InstallationFolder):
        folder = place.settings.data_dir.absolute()
        facts: dict[str, Any] = {"url": None, "data_dir": str(folder), "token": False}
        running = holder_of(folder) is not None
        reported = f"the data folder {folder}" + (", used by a running service" if running else "")
        read = place.settings.files
    else:
        folder_of = None if place.data_dir is None else str(place.data_dir)
        facts = {"url": place.url, "data_dir": folder_of, "token": place.token is not None}
        reported = f"the service {place.name.removeprefix('on ')}"
        reported += "" if place.token else ", without a token: `tollgate login`"
        read = () if place.data_dir is None else files_in(place.data_dir)
    unread = unread_here(Settings, Path(facts["data_dir"]) if facts["data_dir"] else data_home())
    facts |= {"settings": [str(path) for path in read], "unread": [str(path) for path in unread]}
    if as_json:
        print_json(facts)
        return 0
    typer.echo(f"Commands use {reported}.")
    if read:
        typer.echo(f"Settings: {', '.join(facts['settings'])}.")
    if unread:
        typer.echo(f"Ignored: {', '.join(facts['unread'])}.")
    return 0
