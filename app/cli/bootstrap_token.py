"""First token of a new installation: created by `serve`, stored for commands on this machine.

It is stored in the data folder, readable only by its owner, so `tollgate chat` needs no setup. It
is printed once, and only on a terminal: elsewhere the output becomes a log that others read. If
tools could read the file (data folder inside the workspace), the token is not stored but always
printed.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.cli.installation import open_tokens
from app.cli.terminal import is_terminal
from app.config.settings import Settings
from app.governance.identity.tokens import Tokens

FILE_NAME = "bootstrap.token"
MAX_CHARS = 1024


@dataclass(frozen=True, slots=True)
class LocalAccess:
    """Result of setting up access: `made` is a new token, `kept` the file that stores it."""

    is_open: bool = False
    made: str | None = None
    kept: Path | None = None

    def facts(self) -> dict[str, str]:
        """Return the text of the start banner."""
        if self.is_open:
            return {"access": "open: every user of this machine is an administrator"}
        said = "token required"
        if self.kept is not None:
            said += f"; commands on this machine use the one in {self.kept.absolute()}"
        if self.made is None or (self.kept is not None and not is_terminal(sys.stdout)):
            return {"access": said}
        return {"access": said, "token": f"{self.made} (all scopes; not shown again)"}


async def prepare_access(settings: Settings) -> LocalAccess:
    """Create the first token if there is none and anonymous access is off.

    Raises:
        StorageUnavailable: The data folder is not writable.
    """
    if settings.token is not None:
        return LocalAccess()
    async with open_tokens(settings) as tokens:
        if settings.allow_anonymous and not await tokens.any_issued():
            return LocalAccess(is_open=True)
        made = await tokens.bootstrap()
        if made is not None:
            return LocalAccess(made=made, kept=_keep(settings, made))
        return LocalAccess(kept=await still_kept(settings, tokens))


def kept_token(data_dir: Path) -> str | None:
    """Return the token in the file, or None if it cannot be read."""
    try:
        with (data_dir / FILE_NAME).open(encoding="ascii") as file:
            return file.read(MAX_CHARS).strip() or None
    except (OSError, UnicodeDecodeError):
        return None


async def still_kept(settings: Settings, tokens: Tokens) -> Path | None:
    """Return the file; remove it if its token is no longer valid."""
    kept = kept_token(settings.data_dir)
    if kept is None:
        return None
    if await tokens.find(kept) is not None:
        return _path(settings)
    forget_revoked(settings.data_dir)
    return None


def forget_revoked(data_dir: Path) -> None:
    """Remove the file of a token that is no longer valid."""
    with suppress(OSError):
        (data_dir / FILE_NAME).unlink()


def _keep(settings: Settings, secret: str) -> Path | None:
    """Write the file; return None if it must not or cannot be stored."""
    path = _path(settings)
    if path.absolute().resolve().is_relative_to(settings.workspace_dir.resolve()):
        return None
    fresh = path.with_name(f".{FILE_NAME}.{os.getpid()}")
    try:
        # Never through a link, and never readable by others, not even briefly.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(fresh, flags, 0o600), "w", encoding="ascii") as file:
            file.write(secret + "\n")
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        return None
    return path


def _path(settings: Settings) -> Path:
    return settings.data_dir / FILE_NAME
