"""`tollgate checkpoints …`: lists and restores file changes through a running service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import typer

from app.cli.options import print_json
from app.cli.rest import request
from app.cli.target import find_service
from app.core.escaping import visible

_STATES = {
    "restorable": "can be restored",
    "as_before": "is the same as before the run",
    "changed_since": "changed after the run: use --force to restore it",
    "unkept": "cannot be restored: its previous content was not saved",
}


@dataclass(frozen=True, slots=True)
class CheckpointClient:
    """Address and token of the service."""

    url: str
    token: str | None

    @classmethod
    def found(cls, url: str | None, token: str | None) -> CheckpointClient:
        """Use the command line options, or else the service that commands find.

        Raises:
            ConfigurationError: A setting is invalid.
        """
        service = find_service(url, token)
        return cls(service.url, service.token)

    async def ask(
        self, *parts: str, query: dict[str, str] | None = None, body: dict[str, Any] | None = None
    ) -> Any:
        """Return the path below the checkpoints of a session."""
        session, *rest = (quote(part, safe="") for part in parts)
        path = "/".join(["", "sessions", session, "checkpoints", *rest])
        if query:
            path = f"{path}?{urlencode(query)}"
        return await request(self.url, path, token=self.token, body=body)


async def list_checkpoints(server: CheckpointClient, session_id: str, *, as_json: bool) -> int:
    """Print the runs that changed files, newest first."""
    runs = (await server.ask(session_id))["checkpoints"]
    if as_json:
        print_json({"checkpoints": runs})
        return 0
    for run in runs:
        took_back = f"  undid {visible(run['restores'])}" if run["restores"] else ""
        typer.echo(f"{visible(run['run_id'])}  {run['changed_at']}{took_back}")
        for file in run["files"]:
            note = f"  ({file['unkept']}: not saved)" if file["unkept"] else ""
            typer.echo(f"    {file['change']:8}  {visible(file['path'])}{note}")
    if not runs:
        typer.echo("No run of this session changed files with file tools.", err=True)
    return 0


async def show_checkpoint(
    server: CheckpointClient, session_id: str, run_id: str, *, as_json: bool
) -> int:
    """Print the difference between the files before a run and now."""
    files: list[dict[str, Any]] = []
    after: str | None = ""
    while after is not None:
        page = await server.ask(session_id, run_id, query={"after": after})
        files += page["files"]
        after = page["next_after"]
    if as_json:
        print_json({"files": files})
        return 0
    for file in files:
        typer.echo(f"{visible(file['path'])}: {file['change']}, {_STATES[file['state']]}")
        for line in (file["diff"] or "").splitlines():
            typer.echo(visible(line))
    return 0


async def restore_checkpoint(
    server: CheckpointClient,
    session_id: str,
    run_id: str,
    *,
    paths: list[str],
    force: bool,
    as_json: bool,
) -> int:
    """Undo a run, and print how to undo that."""
    body: dict[str, Any] = {"force": force}
    if paths:
        body["paths"] = paths
    done = await server.ask(session_id, run_id, "restore", body=body)
    if as_json:
        print_json(done)
        return 0
    for path in done["restored"]:
        typer.echo(f"restored  {visible(path)}")
    for path in done["unchanged"]:
        typer.echo(f"restored  {visible(path)}")
    for path, why in done["left"].items():
        typer.echo(f"skipped   {visible(path)} ({why}: not saved)")
    if done["restored"]:
        again = f"tollgate checkpoints restore {visible(session_id)} {visible(done['run_id'])}"
        typer.echo(f"To undo this: {again}", err=True)
    return 0
