"""`tollgate approvals …`: pending requests of a running service, and the answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import typer

from app.cli.client import Event, State, WsClient
from app.cli.confirmation_text import confirmation_lines, option_lines, option_of
from app.cli.options import print_json
from app.cli.target import RemoteService
from app.core.errors import InvalidInput
from app.core.escaping import visible

_PAGE = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer from the command line.

    Attributes:
        number: number of the offered option; None for the one that allows once, or that declines.
    """

    kind: Literal["allow", "deny"]
    number: int | None = None
    note: str | None = None


async def list_waiting(service: RemoteService, *, as_json: bool) -> int:
    """Print the confirmations that wait for the user, oldest first."""
    page = await service.get("confirmations", state="pending", limit=_PAGE)
    waiting = page["confirmations"][::-1]
    if as_json:
        print_json({"confirmations": waiting, "complete": page.get("next_before") is None})
        return 0
    for row in waiting:
        request = row["request"]
        typer.echo(_line(row["confirmation_id"], request["risk"]["level"], request["title"], row))
    if page.get("next_before") is not None:
        typer.echo(f"These are the newest {_PAGE}; there are more.", err=True)
    if not waiting:
        typer.echo("Nothing is waiting for you.", err=True)
    return 0


async def watch(service: RemoteService, *, as_json: bool) -> int:
    """Print pending requests, then each change."""

    def tell(state: State, detail: str) -> None:
        if state != "connected":
            typer.echo(f"connection {state}: {detail}", err=True)

    client = WsClient(service.url, service.token, "tollgate-approvals", tell)
    async with client:
        _show_all(await client.watch_inbox(), as_json=as_json)
        async for event in client.events():
            if event["type"] == "inbox":
                _show_all(event, as_json=as_json)
            elif event["type"] == "inbox_changed":
                _show_change(event, as_json=as_json)
    return 0


async def show(service: RemoteService, confirmation_id: str, *, as_json: bool) -> int:
    """Print a confirmation with everything that its page shows."""
    found = await service.get("confirmations", confirmation_id)
    if as_json:
        print_json(found)
        return 0
    request = {**found["request"], "expires_at": found.get("expires_at")}
    lines = [*confirmation_lines(request), *option_lines(request)]
    if found["state"] != "pending":
        by = f" by {visible(found['by'])}" if found.get("by") else ""
        lines.append(f"  {found['state']}{by}")
    typer.echo("\n".join(lines))
    return 0


async def answer(service: RemoteService, confirmation_id: str, wanted: Answer) -> int:
    """Answer a confirmation; the answer holds for exactly the call that is shown now.

    Raises:
        InvalidInput: there is no such option, or it does the opposite.
        CommandRefused: the confirmation has ended, or is not the user's to answer.
    """
    found = await service.get("confirmations", confirmation_id)
    request = found["request"]
    body: dict[str, Any] = {
        "option_id": _option(request, wanted),
        "digest": request["digest"],
        "message": wanted.note,
    }
    done = await service.send("POST", "confirmations", confirmation_id, body=body)
    typer.echo(f"{done['outcome']}: {visible(str(request['title']))}")
    if done["outcome"] == "recorded":
        typer.echo("Further people must approve before the call runs.", err=True)
    return 0


def _option(request: Mapping[str, Any], wanted: Answer) -> str:
    if wanted.number is None:
        return option_of(request, wanted.kind)
    options = request["options"]
    if wanted.number > len(options):
        raise InvalidInput(f"--option must be between 1 and {len(options)}")
    option = options[wanted.number - 1]
    if option["kind"] != wanted.kind:
        raise InvalidInput(f"Option {wanted.number} does not approve: {option['label']}")
    return str(option["option_id"])


def _show_all(message: Event, *, as_json: bool) -> None:
    for entry in message["entries"]:
        _show(entry, "waiting", as_json=as_json)


def _show_change(event: Event, *, as_json: bool) -> None:
    if event["state"] == "opened":
        _show(event["entry"], "waiting", as_json=as_json)
        return
    if event["state"] == "changed":
        _show(event["entry"], event["reason"], as_json=as_json)
        return
    by = f" by {visible(event['by'])}" if event.get("by") else ""
    _show(event["entry"], f"{event['outcome']}{by}", as_json=as_json)


def _show(entry: Event, what: str, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**entry, "state": what}, ensure_ascii=False))
        return
    line = _line(entry["id"], entry.get("risk") or entry["kind"], entry["title"], entry)
    typer.echo(f"{what:<10} {line}")


def _line(item_id: str, risk: str, title: str, fields: Mapping[str, Any]) -> str:
    agent = f"  agent {visible(fields['agent_id'])}" if fields.get("agent_id") else ""
    until = f"  until {fields['expires_at']}" if fields.get("expires_at") else ""
    return f"{item_id}  {risk:<8} {' '.join(visible(title).split())}{agent}{until}"
