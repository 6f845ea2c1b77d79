"""Which installation a command works on: a service, or the data folder of one.

The first of these that there is, wherever the command starts (decision 0031):

1. `--data-dir`: that folder;
2. `TOLLGATE_URL`: that service;
3. `TOLLGATE_DATA_DIR`: that folder;
4. `tollgate login`: that service;
5. the one service of this user that runs on this machine;
6. the data folder of this user.

A folder must hold a database: only `serve`, `init` and `db upgrade` make one.
A token goes to the address that it was given for, or to the service that holds the data folder it
is kept in; never to whatever answers somewhere.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import typer

from app.cli.answered import (
    THIS_MACHINE,
    CommandRefused,
    ConnectionFailed,
    checked_url,
    is_here,
)
from app.cli.login import kept_login
from app.cli.rest import Method, lines_of, request
from app.cli.running import Running, running_on, running_services
from app.core.errors import ConfigurationError, InvalidInput
from app.core.homes import FORMER_DATA, holds_database
from app.core.settings import Settings, load_settings
from app.db.schema import require_current

URL = "TOLLGATE_URL"
TOKEN = "TOLLGATE_TOKEN"  # noqa: S105 - the name of a variable
_NEEDED = (
    "it needs a token that is valid: `tollgate login`, or set TOLLGATE_TOKEN. Whoever owns its"
    " data folder may name it with --data-dir"
)


@dataclass(frozen=True, slots=True)
class Folder:
    """The data folder of an installation, whose database is of this version."""

    settings: Settings

    @property
    def name(self) -> str:
        """For a sentence."""
        return f"in {self.settings.data_dir.absolute()}"


@dataclass(frozen=True, slots=True)
class Service:
    """A running service.

    Attributes:
        data_dir: where its data are, when it runs as this user on this machine.
    """

    url: str
    token: str | None = None
    data_dir: Path | None = None

    @property
    def name(self) -> str:
        """For a sentence."""
        return f"on {self.url}" + (f" (data in {self.data_dir})" if self.data_dir else "")

    async def get(self, *parts: str, **query: Any) -> Any:
        """The JSON of a path below `/api/v1`; what is None in the query is left out.

        Raises:
            CommandRefused: the service answered with an error.
            ConnectionFailed: it does not answer.
        """
        return await self.send("GET", *parts, query=query)

    async def send(
        self,
        method: Method,
        *parts: str,
        query: dict[str, Any] | None = None,
        body: dict[str, Any] | None = None,
        version: int | None = None,
    ) -> Any:
        """As `get`, with another method; `version` is the one that a change was made from."""
        path = _path(parts, query)
        headers = {} if version is None else {"If-Match": f'"{version}"'}
        try:
            return await request(
                self.url, path, token=self.token, body=body, method=method, headers=headers
            )
        except CommandRefused as error:
            if error.error.get("code") == "unauthenticated":
                raise CommandRefused(f"{self.url}: {_NEEDED}", **error.error) from None
            raise

    async def pages(self, key: str, *parts: str, **query: Any) -> list[dict[str, Any]]:
        """Every row of a list that is answered in pages."""
        rows: list[dict[str, Any]] = []
        while True:
            page = await self.get(*parts, **query)
            rows += page[key]
            if page.get("next_after") is None:
                return rows
            query["after"] = page["next_after"]

    def lines(self, *parts: str, **query: Any) -> Iterator[bytes]:
        """What a path answers, piece by piece. Blocks."""
        return lines_of(self.url, _path(parts, query), token=self.token)


Place = Folder | Service


def find_place(data_dir: Path | None = None) -> Place:
    """The installation that a command works on.

    Raises:
        ConfigurationError: there is none, or more than one, or its database is of another version.
        InvalidInput: TOLLGATE_URL is no address.
    """
    found = find_running_or_settings(data_dir)
    return found if isinstance(found, Service) else _folder(found)


def find_running_or_settings(data_dir: Path | None) -> Service | Settings:
    """The service that a command works on, or the settings of the folder, which may be missing.

    Raises:
        ConfigurationError: more than one runs here, or a setting does not fit.
        InvalidInput: TOLLGATE_URL is no address.
    """
    if data_dir is not None:
        return load_settings(data_dir=data_dir)
    if url := os.environ.get(URL):
        return _named(url)
    settings = load_settings()
    if settings.origin(("data_dir",)) != "default":
        return settings
    return _service_of_user() or settings


def find_service(url: str | None = None, token: str | None = None) -> Service:
    """The service that a command talks to, when it can talk to nothing else.

    Raises:
        ConfigurationError: none or more than one runs here, or a setting does not fit.
        InvalidInput: the address is none.
    """
    if token is not None:
        typer.echo(
            "warning: other users of this machine can read --token in the list of processes: set"
            f" {TOKEN}, or use `tollgate login`",
            err=True,
        )
    if url := url or os.environ.get(URL):
        return _named(url, token)
    settings = load_settings()
    if settings.origin(("data_dir",)) == "default":
        found = _service_of_user()
    else:
        one = running_on(settings.data_dir)
        found = _of_this_machine(one) if one else None
    if found is None:
        raise ConfigurationError(
            f"No service of this user runs here{_somebody_at(settings)}: start one with `tollgate"
            f" serve`, or name one with {URL} or `tollgate login URL`"
        )
    return found if token is None else replace(found, token=token)


def with_workspace(place: Place, workspace: Path) -> Folder:
    """The folder of an installation, with another folder for its tools.

    Raises:
        InvalidInput: the installation is a service whose folder is not here.
    """
    if isinstance(place, Folder):
        return Folder(load_settings(data_dir=place.settings.data_dir, workspace=workspace))
    if place.data_dir is None:
        raise InvalidInput(
            f"--workspace is a folder of this machine, and commands work {place.name}"
        )
    return _folder(load_settings(data_dir=place.data_dir, workspace=workspace))


def service_running_here() -> str:
    """The address of the service that runs on this machine.

    Raises:
        ConfigurationError: there is none, or more than one.
    """
    running = _running_here()
    if running is None:
        raise ConfigurationError(
            "No service of this user runs here: name one, as in `tollgate login"
            " http://127.0.0.1:8420`"
        )
    return running.url


def settled(settings: Settings) -> Settings:
    """`settings`, when it is clear which data folder is meant.

    Raises:
        ConfigurationError: there is a database in the current folder, where an earlier version
            kept it. It may be anybody's, and its plugins are programs.
    """
    is_usual = settings.origin(("data_dir",)) == "default"
    here = FORMER_DATA.absolute()
    if is_usual and holds_database(here) and here.resolve() != settings.data_dir.resolve():
        raise ConfigurationError(
            f"An earlier version kept its data in the current folder, and there is a database in"
            f" {str(here)!r}: name that folder with --data-dir or TOLLGATE_DATA_DIR, or the usual"
            f" one, {str(settings.data_dir)!r}"
        )
    return settings


def tell_change(place: Place) -> None:
    """Say where something was changed."""
    typer.echo(f"Changed {place.name}.", err=True)


def _folder(settings: Settings) -> Folder:
    settings = settled(settings)
    if not holds_database(settings.data_dir):
        where = str(settings.data_dir.absolute())
        if settings.origin(("data_dir",)) != "default":
            raise ConfigurationError(
                f"There is no installation in {where!r}: `tollgate init` makes one there, or name"
                " another folder with --data-dir or TOLLGATE_DATA_DIR"
            )
        raise ConfigurationError(
            f"No installation was found: no service of this user runs here"
            f"{_somebody_at(settings)}, and {where!r} holds no database. Start one with `tollgate"
            " serve`, name a data folder with --data-dir or TOLLGATE_DATA_DIR, or a service with"
            " TOLLGATE_URL or `tollgate login URL`"
        )
    require_current(settings.database_path)
    return Folder(settings)


def _service_of_user() -> Service | None:
    """Where this user is signed in, or what runs on this machine."""
    login = kept_login()
    if login is not None:
        # TOLLGATE_TOKEN may be the secret of a service on this machine: it stays here.
        return Service(login.url, login.token)
    here = _running_here()
    return None if here is None else _of_this_machine(here)


def _named(url: str, token: str | None = None) -> Service:
    """The service at an address that somebody gave."""
    url = checked_url(url)
    given = token or _variable_for(url)
    login = kept_login()
    if given is None and login is not None and login.url == url:
        given = login.token
    one = next((one for one in running_services() if _is_same(one.url, url)), None)
    if one is None:
        return Service(url, given)
    return Service(one.url, given or _token_of(one), one.data_dir)


def _running_here() -> Running | None:
    running = running_services()
    if len(running) > 1:
        reported = ", ".join(f"{one.url} (data in {one.data_dir})" for one in running)
        raise ConfigurationError(
            f"{len(running)} services run here: {reported}. Name one with TOLLGATE_URL, or its"
            " folder with --data-dir"
        )
    return running[0] if running else None


def _somebody_at(settings: Settings) -> str:
    """Half a sentence about a Tollgate at the configured address; nothing is sent to it."""
    if not settings.port:
        return ""
    try:
        health = asyncio.run(request(settings.client_url, "/health"))
    except (CommandRefused, ConnectionFailed):
        return ""
    if not (isinstance(health, dict) and "sandbox" in health):
        return ""
    return f" (a Tollgate answers at {settings.client_url}, and nothing says that it is yours)"


def _of_this_machine(one: Running) -> Service:
    return Service(one.url, _variable_for(one.url) or _token_of(one), one.data_dir)


def _variable_for(url: str) -> str | None:
    """TOLLGATE_TOKEN, where it is meant: at TOLLGATE_URL, and without that on this machine."""
    named = os.environ.get(URL)
    is_meant = named.rstrip("/") == url if named else is_here(url)
    return os.environ.get(TOKEN) or None if is_meant else None


def _token_of(one: Running) -> str | None:
    """The token that the folder of a running service holds."""
    from app.cli.first_token import kept_token

    settings = load_settings(data_dir=one.data_dir)
    if settings.token and settings.origin(("token",)) in ("env_file", "config_file"):
        return settings.token.get_secret_value()
    return kept_token(one.data_dir)


def _is_same(noted: str, given: str) -> bool:
    """Whether an address is that of a noted service; `localhost` is every loopback address."""
    if given == noted:
        return True
    one, other = urlsplit(noted), urlsplit(given)
    if other.hostname != "localhost" or one.hostname not in THIS_MACHINE:
        return False
    return (one.scheme, one.port, one.path) == (other.scheme, other.port, other.path)


def _path(parts: tuple[str, ...], query: dict[str, Any] | None) -> str:
    path = "".join(f"/{quote(part, safe='')}" for part in parts)
    given = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in (query or {}).items()
        if value is not None
    }
    return f"{path}?{urlencode(given)}" if given else path
