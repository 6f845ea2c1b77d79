"""`tollgate login` and `logout`: the service that this user's commands use."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from getpass import getpass
from pathlib import Path
from urllib.parse import urlsplit

import typer

from app.cli.rest import request
from app.cli.service_errors import CommandRefused, checked_token, checked_url, is_here
from app.cli.terminal import is_terminal
from app.config.user_folders import config_home
from app.core.errors import ConfigurationError, InvalidInput
from app.core.escaping import visible

FILE_NAME = "login.json"
MAX_CHARS = 8192


@dataclass(frozen=True, slots=True)
class ServiceLogin:
    """Service and token of a sign-in."""

    url: str
    token: str


async def sign_in(url: str, *, insecure: bool) -> int:
    """Prompt for a token, test it, and save service and token for later commands.

    Raises:
        InvalidInput: The address is invalid or would expose the token, or no token was given.
        CommandRefused, ConnectionFailed: The service refuses the token, or does not answer.
        ConfigurationError: The sign-in cannot be saved.
    """
    url = checked_url(url)
    if urlsplit(url).scheme == "http" and not is_here(url) and not insecure:
        raise InvalidInput(
            "Without TLS, others on the network can read the token: use https://, or --insecure",
            field="url",
        )
    token = _read_token(url)
    try:
        me = await request(url, "/me", token=token)
    except CommandRefused as error:
        raise CommandRefused(f"{url} refused this token: {error.message}") from None
    _keep(ServiceLogin(url, token))
    rights = ", ".join(str(scope) for scope in me.get("scopes", ()))
    typer.echo(f"Commands now use {url}, as {visible(str(me.get('user_id')))} ({rights}).")
    return 0


def sign_out() -> int:
    """Remove the service and token; the token itself stays valid."""
    try:
        _path().unlink()
    except FileNotFoundError:
        typer.echo("You are not signed in.", err=True)
        return 0
    typer.echo(
        "Signed out. The token stays valid: use `tollgate token revoke` to revoke it.", err=True
    )
    return 0


def kept_login() -> ServiceLogin | None:
    """Return the sign-in that commands use, or None.

    Raises:
        ConfigurationError: The saved sign-in cannot be read.
    """
    try:
        path = _path()
        with path.open(encoding="utf-8") as file:
            said = json.loads(file.read(MAX_CHARS))
        return ServiceLogin(checked_url(str(said["url"])), str(said["token"]))
    except FileNotFoundError:
        return None
    except ConfigurationError:
        return None  # A user without a home folder has not signed in.
    except (OSError, ValueError, KeyError, TypeError, InvalidInput):
        raise ConfigurationError(
            f"Cannot read {str(path)!r}: run `tollgate logout`, then `tollgate login`"
        ) from None


def _read_token(url: str) -> str:
    token = getpass(f"Token for {url}: ") if is_terminal(sys.stdin) else sys.stdin.readline()
    if not token.strip():
        raise InvalidInput("No token was given: type it, or pass it on standard input")
    return checked_token(token.strip())


def _keep(login: ServiceLogin) -> None:
    path = _path()
    fresh = path.with_name(f".{FILE_NAME}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Never readable by others, not even briefly.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(fresh, flags, 0o600), "w", encoding="utf-8") as file:
            json.dump({"url": login.url, "token": login.token}, file)
        fresh.replace(path)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise ConfigurationError(
            f"Cannot save the sign-in in {str(path)!r} ({error.strerror}): use "
            "TOLLGATE_URL and TOLLGATE_TOKEN"
        ) from None


def _path() -> Path:
    return config_home() / FILE_NAME
