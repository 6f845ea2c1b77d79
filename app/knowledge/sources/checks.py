"""Validation of data sources; each refusal names the field and the fix."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NoReturn

from app.core.errors import InvalidInput
from app.knowledge.sources.model import EVERYBODY, DatabaseAddress, Source

MAX_TABLES = 1000
# No comma and no slash: PostgreSQL's library would take a list of hosts, or a folder.
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:\-]{0,252})")
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:\-]{0,127}")
_SIGNING_IN = ("host", "port", "unix_socket", "user", "tls", "tls_ca_file")


def check_source(source: Source) -> None:
    """Refuse settings that cannot work, or have another meaning than intended.

    Raises:
        InvalidInput: `details["field"]` names the field.
    """
    if not source.name.strip():
        _refuse("name", "must not be blank")
    if source.kind == "sqlite":
        _check_file(source)
    else:
        _check_server(source)
    _check_tables(source)
    for agent_id in source.agents:
        if agent_id != EVERYBODY and _AGENT.fullmatch(agent_id) is None:
            _refuse("agents", f"{agent_id!r} is neither an agent ID nor '*'")


def check_move(before: Source, after: Source, *, has_new_password: bool) -> None:
    """Refuse to send a stored password to another address.

    Otherwise a user who may change a source could learn its password with a server of their own.

    Raises:
        InvalidInput: the address changes without a new password.
    """
    moved = [
        name
        for name in _SIGNING_IN
        if getattr(before.address, name) != getattr(after.address, name)
    ]
    if moved and before.sealed is not None and not has_new_password:
        _refuse("password", f"must be sent again if {', '.join(moved)} changes")


def _check_server(source: Source) -> None:
    address = source.address
    if address.file is not None:
        _refuse("file", f"is only valid for sqlite, not for {source.kind}")
    if (address.host is None) == (address.unix_socket is None):
        _refuse("host", "requires either a host or a unix_socket")
    if address.host is not None and _HOST.fullmatch(address.host) is None:
        _refuse("host", "must be one host name or address")
    if address.unix_socket is not None and not address.unix_socket.startswith("/"):
        _refuse("unix_socket", "must be an absolute path")
    if not address.user:
        _refuse("user", "is missing")
    if source.kind == "postgres" and not address.database:
        _refuse("database", "is missing: PostgreSQL requires a database")
    if address.tls_ca_file is not None and not Path(address.tls_ca_file).is_absolute():
        _refuse("tls_ca_file", "must be an absolute path")


def _check_file(source: Source) -> None:
    address = source.address
    if not address.file or not Path(address.file).is_absolute():
        _refuse("file", "must be an absolute path of a SQLite file")
    given = [
        name
        for name in ("host", "port", "unix_socket", "database", "user", "tls_ca_file")
        if getattr(address, name) is not None
    ]
    if given:
        _refuse(given[0], "is not for sqlite, which is a file")
    if address.tls != DatabaseAddress().tls:
        _refuse("tls", "is not for sqlite, which is a file")
    if source.sealed is not None:
        _refuse("password", "is not valid for sqlite, which is a file")


def _check_tables(source: Source) -> None:
    if len(source.tables) > MAX_TABLES:
        _refuse("tables", f"must be at most {MAX_TABLES}")
    for table, count in Counter(item.table for item in source.tables).items():
        if count > 1:
            _refuse("tables", f"lists {str(table)!r} twice")
        if source.kind == "sqlite" and table.schema != "main":
            _refuse("tables", f"{str(table)!r}: the schema must be main for SQLite")
    for item in source.tables:
        folded = Counter(column.lower() for column in item.masked)
        if twice := [column for column, count in folded.items() if count > 1]:
            _refuse("tables", f"masks {twice[0]!r} of {str(item.table)!r} twice")


def _refuse(field: str, why: str) -> NoReturn:
    raise InvalidInput(f"{field} {why}", field=field)
