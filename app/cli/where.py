"""`tollgate where`: which installation commands work on."""

from __future__ import annotations

import json

import typer

from app.cli.place import Folder, Place
from app.cli.running import holder_of


def show_place(place: Place, *, as_json: bool) -> int:
    """Print the service or the folder."""
    if isinstance(place, Folder):
        folder = place.settings.data_dir.absolute()
        facts = {"url": None, "data_dir": str(folder), "token": False}
        running = holder_of(folder) is not None
        reported = f"the data folder {folder}" + (
            ", which a running service has" if running else ""
        )
    else:
        folder_of = None if place.data_dir is None else str(place.data_dir)
        facts = {"url": place.url, "data_dir": folder_of, "token": place.token is not None}
        reported = f"the service {place.name}".replace("service on ", "service ")
        reported += "" if place.token else ", without a token: `tollgate login`"
    typer.echo(json.dumps(facts, indent=2) if as_json else f"Commands work on {reported}.")
    return 0
