"""Selection of the installation that a command uses: a service, or its data folder.

The first of these that exists (decision 0031):

1. `--data-dir`: that folder;
2. `TOLLGATE_URL`: that service;
3. `TOLLGATE_DATA_DIR`: that folder;
4. `tollgate login`: that service;
5. the one service of this user that runs on this machine;
6. the data folder of this user.

A folder must hold a database: only `serve`, `init` and `db upgrade` create one. A token is sent
only to the address it was given for, or to the service that owns its data folder.
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

from app.cli.login import kept_login
from app.cli.rest import Method, lines_of, request
from app.cli.service_discovery import RunningService, running_on, running_services
from app.cli.service_errors import (
    THIS_MACHINE,
    CommandRefused,
    ConnectionFailed,
    checked_url,
    is_here,
)
from app.config.settings import Settings, load_settings
from app.config.user_folders import FORMER_DATA, holds_database
from app.core.errors import ConfigurationError, InvalidInput
from app.db.schema import require_current

URL = "TOLLGATE_URL"
TOKEN = "TOLLGATE_TOKEN"  # noqa: S105 - the name of a variable
_NEEDED = (
    "it requires a valid token: run `tollgate login`, or set TOLLGATE_TOKEN. The "
    "owner of its data folder can use --data-dir instead"
)


@dataclass(frozen=True, slots=True)
class InstallationFolder:
    """Data folder of an installation, with a database of this version."""

    settings: Settings

    @property
    def name(self) -> str:
        """Return the name as part of a sentence."""
        return f"in {self.settings.data_dir.absolute()}"


@dataclass(frozen=True, slots=True)
class RemoteService:
    """A running service.

    Attributes:
        data_dir: Its data folder, if it runs as this user on this machine.
    """

    url: str
    token: str | None = None
    data_dir: Path | None = None

    @property
    def name(self) -> str:
        """Return the name as part of a sentence."""
        return f"on {self.url}" + (f" (data in {self.data_dir})" if self.data_dir else "")

    async def get(self, *parts: str, **query: Any) -> Any:
        """GET a path below `/api/v1` and return its JSON; None values of the query are omitted.

        Raises:
            CommandRefused: The service answered with an error.
            ConnectionFailed: The service does not answer.
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
        """Send another method as `get` does; `version` is the version that was changed."""
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
        """Yield every row of a paged list."""
        rows: list[dict[str, Any]] = []
        while True:
            page = await self.get(*parts, **query)
            rows += page[key]
            if page.get("next_after") is None:
                return rows
            query["after"] = page["next_after"]

    def lines(self, *parts: str, **query: Any) -> Iterator[bytes]:
        """Yield a response piece by piece. Blocks."""
        return lines_of(self.url, _path(parts, query), token=self.token)


Place = InstallationFolder | RemoteService


def find_place(data_dir: Path | None = None) -> Place:
    """Return the installation that a command uses.

    Raises:
        ConfigurationError: There is none or more than one, or its database has another version.
        InvalidInput: TOLLGATE_URL is not a valid address.
    """
    found = find_running_or_settings(data_dir)
    return found if isinstance(found, RemoteService) else _folder(found)


def find_running_or_settings(data_dir: Path | None) -> RemoteService | Settings:
    """Return the service that a command uses, or the settings of the folder, which may not exist.

    Raises:
        ConfigurationError: More than one service runs here, or a setting is invalid.
        InvalidInput: TOLLGATE_URL is not a valid address.
    """
    if data_dir is not None:
        return load_settings(data_dir=data_dir)
    if url := os.environ.get(URL):
        return _named(url)
    settings = load_settings()
    if settings.origin(("data_dir",)) != "default":
        return settings
    return _service_of_user() or settings


def find_service(url: str | None = None, token: str | None = None) -> RemoteService:
    """Return the service for a command that needs one.

    Raises:
        ConfigurationError: No service or more than one runs here, or a setting is invalid.
        InvalidInput: The address is invalid.
    """
    if token is not None:
        typer.echo(
            "warning: other users of this machine can see --token in the process "
            f"list: set {TOKEN}, or use `tollgate login`",
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
            "No service of this user is running on this "
            f"machine{_somebody_at(settings)}: start one with `tollgate serve`, or "
            f"select one with {URL} or `tollgate login URL`"
        )
    return found if token is None else replace(found, token=token)


def with_workspace(place: Place, workspace: Path) -> InstallationFolder:
    """Return the folder of an installation with another workspace.

    Raises:
        InvalidInput: The installation is a service on another machine.
    """
    if isinstance(place, InstallationFolder):
        return InstallationFolder(
            load_settings(data_dir=place.settings.data_dir, workspace=workspace)
        )
    if place.data_dir is None:
        raise InvalidInput(
            "--workspace is a folder of this machine, but commands are sent to a "
            f"service {place.name}"
        )
    return _folder(load_settings(data_dir=place.data_dir, workspace=workspace))


def service_running_here() -> str:
    """Return the address of the service that runs on this machine.

    Raises:
        ConfigurationError: There is none, or more than one.
    """
    running = _running_here()
    if running is None:
        raise ConfigurationError(
            "No service of this user is running on this machine: give an address, "
            "such as `tollgate login http://127.0.0.1:8420`"
        )
    return running.url


def settled(settings: Settings) -> Settings:
    """Return `settings` if the data folder is unambiguous.

    Raises:
        ConfigurationError: The current folder has a database, as in an earlier version. It may
            belong to another user, and its plugins are programs.
    """
    is_usual = settings.origin(("data_dir",)) == "default"
    here = FORMER_DATA.absolute()
    if is_usual and holds_database(here) and here.resolve() != settings.data_dir.resolve():
        raise ConfigurationError(
            "An earlier version stored its data in the current folder, and there is a "
            f"database in {str(here)!r}: select that folder with --data-dir or "
            "TOLLGATE_DATA_DIR, or select the standard folder, "
            f"{str(settings.data_dir)!r}"
        )
    return settings


def tell_change(place: Place) -> None:
    """Print where something was changed."""
    typer.echo(f"Changed {place.name}.", err=True)


def _folder(settings: Settings) -> InstallationFolder:
    settings = settled(settings)
    if not holds_database(settings.data_dir):
        where = str(settings.data_dir.absolute())
        if settings.origin(("data_dir",)) != "default":
            raise ConfigurationError(
                f"No installation in {where!r}: run `tollgate init` to create one, or "
                "select another folder with --data-dir or TOLLGATE_DATA_DIR"
            )
        raise ConfigurationError(
            "No installation found: no service of this user is running on this "
            f"machine{_somebody_at(settings)}, and {where!r} holds no database. Start "
            "one with `tollgate serve`, select a data folder with --data-dir or "
            "TOLLGATE_DATA_DIR, or select a service with TOLLGATE_URL or `tollgate "
            "login URL`"
        )
    require_current(settings.database_path)
    return InstallationFolder(settings)


def _service_of_user() -> RemoteService | None:
    """Return the service of the sign-in, or the one running on this machine."""
    login = kept_login()
    if login is not None:
        # TOLLGATE_TOKEN may be the secret of a service on this machine, so it is not sent
        # elsewhere.
        return RemoteService(login.url, login.token)
    here = _running_here()
    return None if here is None else _of_this_machine(here)


def _named(url: str, token: str | None = None) -> RemoteService:
    """Return the service at a given address."""
    url = checked_url(url)
    given = token or _variable_for(url)
    login = kept_login()
    if given is None and login is not None and login.url == url:
        given = login.token
    one = next((one for one in running_services() if _is_same(one.url, url)), None)
    if one is None:
        return RemoteService(url, given)
    return RemoteService(one.url, given or _token_of(one), one.data_dir)


def _running_here() -> RunningService | None:
    running = running_services()
    if len(running) > 1:
        services = ", ".join(f"{one.url} (data in {one.data_dir})" for one in running)
        raise ConfigurationError(
            f"{len(running)} services are running on this machine: {services}. Select "
            "one with TOLLGATE_URL, or its folder with --data-dir"
        )
    return running[0] if running else None


def _somebody_at(settings: Settings) -> str:
    """Return a clause about a Tollgate at the configured address; sends nothing to it."""
    if not settings.port:
        return ""
    try:
        health = asyncio.run(request(settings.client_url, "/health"))
    except (CommandRefused, ConnectionFailed):
        return ""
    if not (isinstance(health, dict) and "sandbox" in health):
        return ""
    return f" (a Tollgate answers at {settings.client_url}, but it is not known to be yours)"


def _of_this_machine(one: RunningService) -> RemoteService:
    return RemoteService(one.url, _variable_for(one.url) or _token_of(one), one.data_dir)


def _variable_for(url: str) -> str | None:
    """Return TOLLGATE_TOKEN where it applies: at TOLLGATE_URL, or else on this machine."""
    named = os.environ.get(URL)
    is_meant = named.rstrip("/") == url if named else is_here(url)
    return os.environ.get(TOKEN) or None if is_meant else None


def _token_of(one: RunningService) -> str | None:
    """Return the token stored in the data folder of a running service."""
    from app.cli.bootstrap_token import kept_token

    settings = load_settings(data_dir=one.data_dir)
    if settings.token and settings.origin(("token",)) in ("env_file", "config_file"):
        return settings.token.get_secret_value()
    return kept_token(one.data_dir)


def _is_same(noted: str, given: str) -> bool:
    """Return whether an address belongs to a recorded service; `localhost` is every loopback
    address.
    """
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
