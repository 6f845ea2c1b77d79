"""`tollgate network …`: allowed hosts of the projects of a running service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from app.cli.options import print_json
from app.cli.target import RemoteService, tell_change
from app.core.allowed_hosts import canonical_host
from app.core.errors import InvalidInput
from app.core.escaping import visible

_PROJECTS = ("admin", "projects")
_PRESETS = ("admin", "network", "presets")
_CONNECTIONS = ("admin", "audit", "connections")
_SHOWN = ("id", "name", "allowed_hosts", "tcp_ports")


async def list_hosts(service: RemoteService, project: str | None, *, as_json: bool) -> int:
    """Print the allowed hosts of one project, or of all."""
    if project is None:
        rows = await service.pages("projects", *_PROJECTS, limit=500)
    else:
        rows = [await service.get(*_PROJECTS, project)]
    if as_json:
        print_json({"projects": [{name: row[name] for name in _SHOWN} for row in rows]})
        return 0
    for row in rows:
        _show(row)
    return 0


async def allow_hosts(service: RemoteService, project: str, hosts: Sequence[str]) -> int:
    """Add hosts to the list of a project.

    Raises:
        CommandRefused: A host is invalid, or the project comes from the settings.
    """
    row = await service.get(*_PROJECTS, project)
    return await _change(service, row, [*row["allowed_hosts"], *hosts])


async def remove_hosts(service: RemoteService, project: str, hosts: Sequence[str]) -> int:
    """Remove hosts from the list of a project.

    Raises:
        InvalidInput: A host is not in the list.
        CommandRefused: The project comes from the settings.
    """
    row = await service.get(*_PROJECTS, project)
    removed = {_as_listed(host) for host in hosts}
    if missing := sorted(removed - set(row["allowed_hosts"])):
        listed = ", ".join(row["allowed_hosts"]) or "none"
        raise InvalidInput(f"Not in the list: {', '.join(missing)}; allowed hosts are: {listed}")
    return await _change(
        service, row, [host for host in row["allowed_hosts"] if host not in removed]
    )


async def list_presets(service: RemoteService, *, as_json: bool) -> int:
    """Print every preset with its hosts."""
    found = await service.get(*_PRESETS)
    if as_json:
        print_json(found)
        return 0
    for preset in found["presets"]:
        typer.echo(f"preset:{visible(preset['name'])}")
        _show_lines(preset["hosts"])
    return 0


async def list_connections(
    service: RemoteService, filters: Mapping[str, str | None], limit: int, *, as_json: bool
) -> int:
    """Print the newest connections of programs, the last one at the end."""
    wanted = {name: value for name, value in filters.items() if value is not None}
    found = await service.get(*_CONNECTIONS, limit=limit, **wanted)
    if as_json:
        print_json(found)
        return 0
    for row in reversed(found["rows"]):
        typer.echo(_connection(row))
    return 0


def _connection(row: Mapping[str, Any]) -> str:
    host = f"[{row['host']}]" if ":" in row["host"] else row["host"]
    place = f"{host}:{row['port']}" if row["port"] else host
    if row["verdict"] == "refused":
        said = f"refused ({row['code']})"
    else:
        said = f"{row['verdict']}  {row['bytes_up']} up  {row['bytes_down']} down"
    return f"{row['ts']}  {visible(place)}  {said}  {row['operation_id'] or '-'}"


async def _change(service: RemoteService, row: Mapping[str, Any], hosts: list[str]) -> int:
    after = await service.send(
        "PATCH",
        *(*_PROJECTS, row["id"]),
        body={"allowed_hosts": list(dict.fromkeys(hosts))},
        version=row["version"],
    )
    _show(after)
    tell_change(service)
    return 0


def _as_listed(host: str) -> str:
    """Return a host as the service lists it; a text that is no host stays, and is not found."""
    try:
        return canonical_host(host)
    except ValueError:
        return host


def _show(row: Mapping[str, Any]) -> None:
    typer.echo(f"{row['id']}  {visible(row['name'])}  {_summary(row)}")
    _show_lines(row["allowed_hosts"])


def _summary(row: Mapping[str, Any]) -> str:
    if row["tcp_ports"]:
        return f"every host on ports {', '.join(map(str, row['tcp_ports']))}"
    return "these hosts:" if row["allowed_hosts"] else "no hosts"


def _show_lines(hosts: Sequence[str]) -> None:
    for host in hosts:
        typer.echo(f"  {visible(host)}")
