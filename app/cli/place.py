"""Which installation a command works on: a service, or the data folder of one.

The first of these that there is, wherever the command starts (decision 0031):

1. `--data-dir`: that folder;
2. `TOLLGATE_URL`: that service;
3. `TOLLGATE_DATA_DIR`, or `data_dir` in `.env` or `config.yml`: that folder;
4. `tollgate login`: that service;
5. the one service of this user that runs on this machine, or whatever answers at the configured
   address;
6. the data folder of this user.

A folder must hold a database: only `serve`, `init` and `db upgrade` make one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import typer

from app.cli.answered import CommandRefused, ConnectionFailed, checked_url, is_here
from app.cli.login import kept_login
from app.cli.rest import Method, lines_of, request
from app.cli.running import Running, running_services
from app.core.errors import ConfigurationError, InvalidInput
from app.core.homes import FORMER_DATA, data_home, holds_database
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


def find_running_or_settings(data_dir: Path | None = None) -> Service | Settings:
    """The service that a command works on, or the settings of the folder, which may be missing.

    Raises:
        ConfigurationError: more than one runs here, or a setting does not fit.
        InvalidInput: TOLLGATE_URL is no address.
    """
    if data_dir is not None:
        return load_settings(data_dir=data_dir)
    if url := os.environ.get(URL):
        return find_service(url)
    settings = load_settings()
    if settings.origin(("data_dir",)) != "default":
        return settings
    return _service_here(settings) or settings


def find_service(url: str | None = None, token: str | None = None) -> Service:
    """The service that a command talks to, when it can talk to nothing else.

    Raises:
        ConfigurationError: more than one runs here, or a setting does not fit.
        InvalidInput: the address is none.
    """
    url = url or os.environ.get(URL)
    settings = load_settings()
    if url is not None:
        url = checked_url(url)
        known = next((one for one in running_services() if one.url == url), None)
        folder = known.data_dir if known else settings.data_dir
        given = token or os.environ.get(TOKEN) or _token_for(url, settings, folder)
        return Service(url, given, known.data_dir if known else None)
    if settings.origin(("data_dir",)) == "default":
        found = _service_here(settings)
    else:
        place = settings.data_dir.resolve()
        here = next((one for one in running_services() if one.data_dir == place), None)
        found = _of_this_machine(here, settings) if here else None
    found = found or Service(settings.client_url, _token(settings))
    return found if token is None else Service(found.url, token, found.data_dir)


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
    """The address of the service that runs on this machine, or the configured one.

    Raises:
        ConfigurationError: more than one runs here, or a setting does not fit.
    """
    running = _running_here()
    return running.url if running else load_settings().client_url


def settled(settings: Settings) -> Settings:
    """`settings`, when it is clear which data folder is meant.

    Raises:
        ConfigurationError: an earlier version left a database in the current folder, and this
            user has a data folder too.
    """
    if settings.origin(("data_dir",)) == "default" and settings.data_dir == FORMER_DATA:
        here = FORMER_DATA.absolute()
        if holds_database(data_home()):
            raise ConfigurationError(
                f"There are two installations, {str(here)!r} and {str(data_home())!r}: name one"
                " with --data-dir or TOLLGATE_DATA_DIR"
            )
        typer.echo(
            f"Using {str(here)!r}, which an earlier version made in this folder. Set"
            f" TOLLGATE_DATA_DIR={here} to have it found from everywhere.",
            err=True,
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
            f"No installation was found: no service of this user runs here, nothing answers at"
            f" {settings.client_url}, and {where!r} holds no database. Start one with"
            " `tollgate serve`, name a data folder with --data-dir or TOLLGATE_DATA_DIR, or a"
            " service with TOLLGATE_URL or `tollgate login URL`"
        )
    require_current(settings.database_path)
    return Folder(settings)


def _service_here(settings: Settings) -> Service | None:
    """Where this user is signed in, or what runs on this machine."""
    login = kept_login()
    if login is not None:
        # TOLLGATE_TOKEN may be the secret of a service on this machine: it stays here.
        return Service(login.url, login.token)
    here = _running_here()
    if here is not None:
        return _of_this_machine(here, settings)
    if settings.port and _answers(settings.client_url):
        return Service(settings.client_url, _token(settings))
    return None


def _running_here() -> Running | None:
    running = running_services()
    if len(running) > 1:
        reported = ", ".join(f"{one.url} (data in {one.data_dir})" for one in running)
        raise ConfigurationError(
            f"{len(running)} services run here: {reported}. Name one with TOLLGATE_URL, or its"
            " folder with --data-dir"
        )
    return running[0] if running else None


def _answers(url: str) -> bool:
    """Whether a Tollgate answers there."""
    try:
        health = asyncio.run(request(url, "/health"))
    except (CommandRefused, ConnectionFailed):
        return False
    return isinstance(health, dict) and "sandbox" in health


def _of_this_machine(one: Running, settings: Settings) -> Service:
    return Service(one.url, _token_for(one.url, settings, one.data_dir), one.data_dir)


def _token(settings: Settings) -> str | None:
    return _token_for(settings.client_url, settings, settings.data_dir)


def _token_for(url: str, settings: Settings, data_dir: Path) -> str | None:
    """What to show a service. A token of a file is for this machine only."""
    from app.cli.first_token import kept_token

    login = kept_login()
    if login is not None and login.url == url:
        return login.token
    if not is_here(url):
        return None
    if given := os.environ.get(TOKEN):
        return given
    return settings.token.get_secret_value() if settings.token else kept_token(data_dir)


def _path(parts: tuple[str, ...], query: dict[str, Any] | None) -> str:
    path = "".join(f"/{quote(part, safe='')}" for part in parts)
    given = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in (query or {}).items()
        if value is not None
    }
    return f"{path}?{urlencode(given)}" if given else path
