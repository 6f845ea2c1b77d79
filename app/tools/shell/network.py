"""What a command reached through the egress proxy, for models, people and programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from app.operations.protocols.processes import NetworkConnection

_MAX_NAMED = 8
_MAX_ROWS = 50


def network_data(made: Sequence[NetworkConnection]) -> list[dict[str, Any]]:
    """Return one row for each host, port and verdict, in the order of first use."""
    rows: dict[tuple[str, int, str, str | None], dict[str, Any]] = {}
    for one in made:
        key = one.host, one.port, one.verdict, one.code
        row = rows.setdefault(
            key,
            {
                "host": one.host,
                "port": one.port or None,
                "verdict": one.verdict,
                "code": one.code,
                "reason": one.reason,
                "connections": 0,
                "bytes_up": 0,
                "bytes_down": 0,
                "duration_s": 0.0,
            },
        )
        row["connections"] += 1
        row["bytes_up"] += one.bytes_up
        row["bytes_down"] += one.bytes_down
        row["duration_s"] = round(row["duration_s"] + one.duration_s, 6)
    kept = [{k: v for k, v in row.items() if v is not None} for row in rows.values()]
    return kept[:_MAX_ROWS]


def network_notes(made: Sequence[NetworkConnection]) -> str:
    """Return one line for each kind of refusal; empty if everything was reached."""
    refused = [one for one in made if one.verdict == "refused"]
    lines = []
    wanted = _distinct(_place(one) for one in refused if one.code == "not_allowed")
    if wanted:
        allow = " ".join(wanted[:_MAX_NAMED])
        lines.append(
            f"Network: not an allowed host of this project: {_named(wanted)}. Name it in "
            "`allow_hosts` of the call to ask for it once; an operator can allow it for all "
            f"calls: tollgate network allow {allow}"
        )
    others = [one for one in refused if one.code != "not_allowed" and one.reason]
    lines += [f"Network: {reason}" for reason in _distinct(one.reason or "" for one in others)]
    return "\n".join(lines[: _MAX_NAMED + 1])


def _place(one: NetworkConnection) -> str:
    host = f"[{one.host}]" if ":" in one.host else one.host
    return host if one.port in (0, 443) else f"{host}:{one.port}"


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _named(places: Sequence[str]) -> str:
    more = len(places) - _MAX_NAMED
    return ", ".join(places[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
