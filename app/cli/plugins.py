"""`tollgate plugins`: the plugin folder of a running service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from app.cli.options import print_json
from app.cli.service_errors import CommandRefused
from app.cli.target import RemoteService
from app.core.escaping import visible


async def reload_plugins(service: RemoteService, *, as_json: bool) -> int:
    """Reload the plugin folder of the service and print the changes.

    Raises:
        CommandRefused: The service keeps its plugins; the message says why.
        ConnectionFailed: No service answers.
    """
    try:
        done = await service.send("POST", "admin", "plugins", "reload", body={})
    except CommandRefused as error:
        fix = error.error.get("details", {}).get("fix")
        raise CommandRefused(f"{error}\n{fix}" if fix else str(error), **error.error) from None
    if as_json:
        print_json(done)
        return 0
    for line in _lines(done):
        typer.echo(line)
    return 0


def _lines(done: dict[str, Any]) -> Iterator[str]:
    rows = {
        "read": "plugins loaded",
        "removed": "plugins removed",
        "tools_added": "tools added",
        "tools_changed": "tools changed",
        "tools_removed": "tools removed",
    }
    changes = [(words, done[key]) for key, words in rows.items() if done[key]]
    if not changes:
        yield "No changes."
    for words, names in changes:
        yield f"{words}: {', '.join(map(visible, names))}"
    for problem in done["problems"]:
        name, where = visible(problem["name"]), visible(problem["at"] or problem["where"])
        yield f"not loaded: {name} ({where}): {visible(problem['error'])}"
